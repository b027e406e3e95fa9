//! What is wrong with data and models without being an error is told.

use rankwright_e2e::events::{BEGIN, DURABLE, at, cheap_wins, click, feature, item, lines, ranking};
use rankwright_e2e::folder::folder;
use rankwright_e2e::program::{run, run_on};
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, Launch, Service, http};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

struct Shop(tempfile::TempDir);

impl Shop {
    fn new() -> Self {
        let shop = Self(tempfile::tempdir().expect("there is room for temporary files"));
        shop.write("config.yml", &shop.config());
        shop
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The configuration over file state in this folder.
    fn config(&self) -> String {
        DURABLE.replace("./data", &self.path().join("data").to_string_lossy())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).expect("the folder can be written to");
        path
    }

    fn import_file(&self, path: &Path, more: &[&str]) -> Ended {
        run_on("import", &self.path().join("config.yml"), path, more)
    }

    fn import(&self, events: &[Value]) -> Ended {
        self.import_file(&self.write("events.jsonl", &lines(events)), &[])
    }

    fn train(&self) -> Ended {
        run(&["train", "--config", &self.path().join("config.yml").to_string_lossy()])
    }
}

/// Lists, each with a click that names another one.
fn misnamed(lists: i64) -> Vec<Value> {
    let of = |list: i64| {
        let (shown, clicked) = (format!("r{list}"), format!("list-{list}"));
        [ranking(&shown, list, "u", &["a", "b"]), click(&format!("c{list}"), list, &clicked, "u", "a")]
    };
    (0..lists).flat_map(of).collect()
}

#[test]
fn the_log_of_a_rank_server_is_json_with_a_level_that_a_request_sets() {
    let Some(redis) = Redis::of_its_own() else { return };
    let folder = folder();
    let config = format!(
        "state: {{type: redis, host: {}, port: {}}}\nmodels: {{m: {{type: noop}}}}\napi: {{host: 127.0.0.1, port: 0, token: s3cret}}",
        redis.host(),
        redis.port()
    );
    let environment = [("LOG_FORMAT", "json")];
    let (subcommand, data, folder) = ("rank-server", None, folder.path());
    let server = Launch { subcommand, config: &config, data, folder, environment: &environment }.start();
    let lines = || -> Vec<Value> {
        let log = server.log();
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    };
    let is_request = |line: &Value| line["message"] == "request" && line["path"] == "/rank/m";
    let rank = || server.post("/rank/m", &ranking("q", 1, "u", &["a"])).ok();
    let set = |filter: &str| {
        let body = json!({ "filter": filter }).to_string();
        let request = String::from_utf8(http::request("PUT", "/log-level", body.as_bytes())).expect("is text");
        let request = request.replacen("host: ", "authorization: Bearer s3cret\r\nhost: ", 1);
        http::send(server.address(), request.as_bytes()).expect("answers").ok();
    };
    rank();
    set("debug");
    rank();
    server.until("a line about the request", || lines().iter().any(is_request));
    let line = lines().into_iter().find(is_request).expect("is there");
    assert_eq!((&line["level"], &line["method"], &line["status"]), (&json!("DEBUG"), &json!("POST"), &json!(200)));
    set("info");
    rank();
    assert_eq!(lines().iter().filter(|line| is_request(line)).count(), 1, "the level is as before");
}

#[test]
fn clicks_that_name_rankings_that_did_not_come_are_told_by_import_status_and_training() {
    let shop = Shop::new();
    let import = shop.import(&[misnamed(50), vec![item("a", 0, &[])]].concat()).ok();
    let told = r#"50 of 50 interactions (100.0 %) name a ranking that did not come, or had closed, such as "list-0" and "list-1""#;
    assert!(import.stderr.contains(told), "{}", import.stderr);
    let train = shop.train().refused();
    let told =
        r#"but 50 interactions; all of them (100 %) belong to no ranking, such as those with the ids "c0" and "c1""#;
    assert!(train.stderr.contains(told), "{}", train.stderr);

    let (shop, memory) = (Shop::new(), DURABLE.replace("state: {type: file, path: ./data}", "state: {type: memory}"));
    let service = Service::standalone(&memory, &shop.write("events.jsonl", &lines(&misnamed(50))), shop.path());
    let told = json!({"interactions": 50, "share": 1.0, "examples": ["list-0", "list-1"]});
    assert_eq!(service.status()["ingest"]["unknownRankings"], told, "what its import saw");

    let shop = Shop::new();
    assert!(!shop.import(&cheap_wins(5)).ok().stderr.contains("did not come"));
    let service = Service::serve(&shop.config(), shop.path());
    service.feedback(&[click("lost", 100, "nowhere", "u", "i1"), click("here", 100, "r4", "u", "i2")]);
    service.feedback(&[json!({"event": "user", "id": "later", "timestamp": at(500), "user": "u", "fields": []})]);
    let status = service.status();
    let unknown = &status["ingest"]["unknownRankings"];
    assert_eq!((&unknown["interactions"], &unknown["share"]), (&json!(2), &json!(1.0)), "{status}");
    assert_eq!(unknown["examples"], json!(["nowhere", "r4"]), "r4 had closed: {status}");
}

#[test]
fn a_ranking_with_more_interactions_than_are_kept_is_told_once() {
    let shop = Shop::new();
    let of = |list: &str, clicks: i64| {
        let clicks = (0..clicks).map(|number| click(&format!("{list} c{number}"), 2, list, "u", "a"));
        std::iter::once(ranking(list, 1, "u", &["a", "b"])).chain(clicks).collect::<Vec<_>>()
    };
    let told = "a ranking has as many interactions as are kept";
    assert!(!shop.import(&of("r1", 999)).ok().stderr.contains(told));
    let shop = Shop::new();
    let log = shop.import(&[of("r1", 1001), of("r2", 1001)].concat()).ok().stderr;
    assert_eq!(log.matches(told).count(), 1, "{log}");
}

#[test]
fn seconds_in_place_of_milliseconds_are_told_once() {
    let in_seconds = |mut event: Value| {
        let millis = event["timestamp"].as_str().and_then(|text| text.parse::<i64>().ok()).expect("a time");
        event["timestamp"] = json!((millis / 1000).to_string());
        event
    };
    let events: Vec<Value> = cheap_wins(5).into_iter().map(in_seconds).collect();
    let told = format!("all 30 events so far are from before March 1970, such as one of {}", BEGIN / 1000);
    let shop = Shop::new();
    let import = shop.import(&events).ok();
    assert!(
        import.stderr.contains(&told) && import.stderr.contains("seconds instead of milliseconds?"),
        "{}",
        import.stderr
    );
    assert!(!Shop::new().import(&cheap_wins(5)).ok().stderr.contains("March 1970"));

    let shop = Shop::new();
    let service = Service::serve(&shop.config(), shop.path());
    service.feedback(&events);
    service.feedback(&[in_seconds(item("late", 100, &[]))]);
    service.until("told", || service.log().contains("March 1970"));
    let log = service.log();
    assert_eq!(log.matches("March 1970").count(), 1, "{log}");
    assert!(log.contains(&told), "{log}");
}

#[test]
fn events_that_an_import_ended_with_count_once_when_they_come_again_as_feedback() {
    let clicks = |service: &Service| {
        let answer = service.rank("m", &ranking("q", 3000, "u", &["a"]));
        feature(&answer, "a", "clicks").as_f64()
    };
    let lone = |id: &str, seconds| json!({"event": "interaction", "id": id, "timestamp": at(seconds), "type": "click", "item": "a", "user": "u"});
    let events = [lone("long ago", 0), lone("c1", 1000), lone("c2", 1100)];
    let again = |service: Service| {
        assert_eq!(clicks(&service), Some(3.0));
        service.feedback(&[lone("c1", 1000), lone("c2", 1100), lone("c3", 1200)]);
        assert_eq!(clicks(&service), Some(4.0), "the third is new");
        service.feedback(&[lone("long ago", 0)]);
        assert_eq!(clicks(&service), Some(5.0), "it is not among the last ones");
    };
    let shop = Shop::new();
    shop.import(&events).ok();
    again(Service::serve(&shop.config(), shop.path()));

    let shop = Shop::new();
    let memory = DURABLE.replace("state: {type: file, path: ./data}", "state: {type: memory}");
    again(Service::standalone(&memory, &shop.write("events.jsonl", &lines(&events)), shop.path()));
}

fn compressed(events: &[Value]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(lines(events).as_bytes()).expect("memory takes it");
    gzip.finish().expect("memory takes it")
}

#[test]
fn a_compressed_file_that_was_cut_short_ends_the_import_with_an_error_after_what_can_be_read() {
    let shop = Shop::new();
    let whole = compressed(&cheap_wins(2000));
    let path = shop.path().join("events.jsonl.gz");
    fs::write(&path, &whole[..whole.len() / 2]).expect("the folder can be written to");
    let cut = shop.import_file(&path, &[]).refused();
    assert!(cut.stderr.contains("error: events.jsonl.gz is damaged or was cut short"), "{}", cut.stderr);
    let count = |ended: &Ended| {
        let count = ended.stderr.split("rankings=").nth(1).and_then(|rest| rest.split(' ').next());
        count.and_then(|count| count.parse::<u64>().ok()).unwrap_or_else(|| panic!("no count in\n{}", ended.stderr))
    };
    assert!((500..1500).contains(&count(&cut)), "{}", cut.stderr);
    let rebuild = shop.import_file(&path, &["--rebuild"]).refused();
    assert!(
        rebuild.stderr.contains("error: the state stays as it was: events.jsonl.gz is damaged"),
        "{}",
        rebuild.stderr
    );
    fs::write(&path, &whole).expect("the folder can be written to");
    assert_eq!(count(&cut) + count(&shop.import_file(&path, &[]).ok()), 2000, "reading goes on behind what was read");
}

#[test]
fn an_import_of_nothing_but_lines_that_are_no_events_ends_with_an_error() {
    let shop = Shop::new();
    let refused = shop.import_file(&shop.write("events.jsonl", "{}\nno event\n\n"), &[]).refused();
    assert!(refused.stderr.contains("error: nothing was imported: none of 2 lines is an event"), "{}", refused.stderr);
    shop.import_file(&shop.write("some.jsonl", &format!("no event\n{}\n", item("a", 0, &[]))), &[]).ok();
    shop.import_file(&shop.write("none.jsonl", ""), &[]).ok();
    let grown = shop.write("some.jsonl", &format!("no event\n{}\n{{}}\n", item("a", 0, &[])));
    let refused = shop.import_file(&grown, &[]).refused();
    assert!(refused.stderr.contains("error: nothing was imported: none of 1 lines is an event"), "{}", refused.stderr);
    shop.import_file(&grown, &[]).ok();
    let old = shop.write("old.jsonl", &format!("no event\n{}\n", item("a", 0, &[])));
    shop.import_file(&old, &["--offset", "ts=2022-01-01T00:00:00Z"]).ok();
}

#[test]
fn a_file_that_became_shorter_since_it_was_imported_is_told() {
    let shop = Shop::new();
    let path = shop.write("events.jsonl", &lines(&cheap_wins(50)));
    shop.import_file(&path, &[]).ok();
    assert!(!shop.import_file(&path, &[]).ok().stderr.contains("shorter"));
    let text = fs::read_to_string(&path).expect("was written");
    let kept: Vec<&str> = text.lines().take(60).collect();
    File::create(&path).and_then(|mut file| writeln!(file, "{}", kept.join("\n"))).expect("can be written");
    let shorter = shop.import_file(&path, &[]).ok();
    assert!(shorter.stderr.contains("became shorter since it was imported"), "{}", shorter.stderr);
    assert!(shorter.stderr.contains("found=60 before=120"), "{}", shorter.stderr);

    let path = shop.path().join("some.jsonl.gz");
    fs::write(&path, compressed(&cheap_wins(50))).expect("the folder can be written to");
    shop.import_file(&path, &[]).ok();
    fs::write(&path, compressed(&cheap_wins(20))).expect("the folder can be written to");
    let shorter = shop.import_file(&path, &[]).ok();
    let told = "became shorter since it was imported, and begins differently: reading it from its start; events that it had then count again";
    assert!(shorter.stderr.contains(told), "{}", shorter.stderr);
}

#[test]
fn a_model_that_has_learned_nothing_says_so_in_the_log_the_answer_and_its_rankings() {
    let shop = Shop::new();
    let alike = |mut event: Value| {
        if event["event"] == "item" {
            event["fields"] = json!([{"name": "price", "value": 1}]);
        }
        event
    };
    let events: Vec<Value> = cheap_wins(20).into_iter().map(alike).collect();
    let config = shop.config().replace("features: [price, clicks]", "features: [price]");
    shop.write("config.yml", &config);
    shop.import(&events).ok();
    let told = "model m has learned nothing: no feature tells items apart in the 16 rankings with 80 items that it was trained on";
    let train = shop.train().ok();
    assert!(train.stderr.contains(told), "{}", train.stderr);
    let service = Service::serve(&config, shop.path());
    let warnings = &service.train("m")["warnings"];
    assert!(warnings[0].as_str().is_some_and(|text| text.starts_with(told)), "{warnings}");
    let answer = service.rank("m", &ranking("q", 3000, "u", &["i3", "i1"]));
    assert!(answer["fallback"].as_str().is_some_and(|text| text.starts_with(told)), "{answer}");
    assert_eq!((&answer["items"][0]["item"], &answer["items"][0]["score"]), (&json!("i3"), &json!(2.0)), "{answer}");
}

#[test]
fn a_few_rankings_are_enough_to_learn_what_wins() {
    let shop = Shop::new();
    shop.import(&cheap_wins(20)).ok();
    let train = shop.train().ok();
    assert!(
        !train.stderr.contains("learned nothing") && !train.stderr.contains("random=\"1.0000\""),
        "{}",
        train.stderr
    );
    let service = Service::serve(&shop.config(), shop.path());
    let answer = service.rank("m", &ranking("q", 3000, "u", &["i19", "i0"]));
    assert_eq!(answer["items"][0]["item"], "i0", "{answer}");
    assert_eq!(answer.get("fallback"), None, "{answer}");
}
