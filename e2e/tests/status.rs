//! `rankwright status`, and what running programs tell: what is in their state, what it takes, what cannot be reached, and
//! what they were asked.

use rankwright_e2e::events::{item, ranking};
use rankwright_e2e::many::{ITEMS, config, day, features, import, launch};
use rankwright_e2e::program::{command, models};
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, Launch, Service, ports};
use serde_json::Value;
use std::path::Path;
use std::time::SystemTime;

const PASSWORD: &str = "xyzzy-redis-password";

fn status(config: &str, service: &str, folder: &Path, more: &[&str]) -> Ended {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    std::fs::write(folder.join("config.yml"), config).expect("can be written");
    let mut command = command(&[&["status", "--config", "config.yml"], more].concat());
    Ended::of(command.current_dir(folder).env("RANKWRIGHT_SERVICE", service))
}

fn json(config: &str, service: &str, folder: &Path) -> Value {
    serde_json::from_str(&status(config, service, folder, &["--json"]).ok().stdout).expect("is JSON")
}

/// Asserts that the parts of a size come to the whole, and that features and the model have values.
fn assert_adds_up(size: &Value) {
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} in {size:#}"));
    let part = |name: &str| size[name].as_object().expect("an object").values().map(|room| number(&room["bytes"]));
    assert_eq!(part("features").chain(part("other")).sum::<u64>(), number(&size["bytes"]), "{size:#}");
    let of_models = ["meaning"].into_iter().filter(|_| models().is_some());
    let known = ["clicks", "recent", "ctr", "brand_ctr", "words", "grams", "weighed", "models.taken"];
    for feature in known.into_iter().chain(of_models) {
        let room = &size["features"][feature];
        assert!(number(&room["values"]) > 0 && number(&room["bytes"]) > 0, "{feature}: {size:#}");
    }
}

fn servers() -> impl Iterator<Item = Redis> {
    Redis::for_tests().into_iter().chain(Redis::in_a_cluster())
}

#[test]
fn what_is_in_redis_is_told_by_feature() {
    for redis in servers() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let (service, config, home) = (redis.own_service("status"), config(&redis), folder.path());
        let nothing = json(&config, &service, home);
        assert_eq!(nothing["state"]["answers"], true, "{nothing:#}");
        assert_eq!(nothing["state"]["found"], Value::Null, "{nothing:#}");
        assert_eq!(redis.names(&service), [""; 0], "looking makes nothing");

        import(&config, &service, &day(&mut Random(7), 60), home);
        let found = json(&config, &service, home);
        assert_eq!(found["problem"], Value::Null, "{found:#}");
        let state = &found["state"]["found"];
        assert_eq!(found["service"], service.as_str());
        assert!(state["generation"].as_u64() >= Some(1), "{state:#}");
        assert_adds_up(&state["size"]);
        assert!(state["size"]["servers"][0]["usedBytes"].as_u64() > Some(0), "{state:#}");
        assert!(found["clickthroughs"]["found"]["records"].as_u64() > Some(0), "{found:#}");
        assert_eq!(found["models"]["found"][0]["name"], "same");

        let told = status(&config, &service, home, &[]).ok().stdout;
        for words in [
            "state: redis",
            "0 rankings open, 0 interactions waiting",
            "clicks",
            "(indexes)",
            "click-throughs: file ./parts",
        ] {
            assert!(told.contains(words), "{words} in {told}");
        }
    }
}

#[test]
fn a_running_program_tells_what_its_state_takes_and_does_not_invent_a_forecast() {
    for redis in servers() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let (service, config) = (redis.own_service("size"), config(&redis));
        import(&config, &service, &day(&mut Random(7), 60), &folder.path().join("import"));
        for program in ["rank-server", "ingest-worker", "serve"] {
            let running = launch(program, &config, &service, &folder.path().join(program));
            running.until("it has looked", || running.status()["size"]["ageSeconds"].is_u64());
            let size = &running.status()["size"];
            assert_adds_up(size);
            assert_eq!(size["problem"], Value::Null, "{size:#}");
            let forecast = &size["forecast"];
            assert!(forecast["bytesPerDay"].is_null() && forecast["fullInDays"].is_null(), "{size:#}");
            assert_eq!(forecast["reason"], "not known yet: seen for 0 minutes, 30 are needed");
            let metrics = running.metrics();
            for name in ["service_state_bytes{feature=\"clicks\"} ", "service_state_other_bytes{kind=\"indexes\"} "] {
                assert!(metrics.contains(name), "{name} in {metrics}");
            }
            assert!(!metrics.contains("\nservice_state_full_in_seconds "), "{metrics}");
            if program == "ingest-worker" {
                let found = || json(&config, &service, folder.path())["state"]["found"].clone();
                running.until("it closes rankings", || found()["closedBy"].is_string());
                running.feedback(&[item("i1", 100_000, &[])]);
                let writers = found()["writers"].clone();
                let one = writers.as_object().and_then(|writers| writers.values().next()).cloned().unwrap_or_default();
                assert!(one["seen"].is_string() && one["watermark"].is_string(), "{writers:#}");
                // another process tells of it as well
                let server = launch("rank-server", &config, &service, &folder.path().join("beside"));
                let told = || server.status()["writers"].clone();
                let is_one = |one: &Value| one["writer"].as_str().is_some_and(|name| writers[name].is_object());
                let is_told = |one: &Value| is_one(one) && one["watermark"].is_string() && one["seen"].is_string();
                let has_it = || told().as_array().is_some_and(|all| all.iter().any(is_told));
                server.until("it tells of the writer", has_it);
            }
        }
    }
}

/// As one leaves word that has run for long enough, which no test waits for.
#[test]
fn the_forecast_of_who_has_watched_a_state_is_told_by_those_who_look_once() {
    for redis in servers() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let (service, config, home) = (redis.own_service("forecast"), config(&redis), folder.path());
        import(&config, &service, &day(&mut Random(7), 20), home);
        let found = || json(&config, &service, home)["state"]["found"]["forecast"].clone();
        assert_eq!(found(), Value::Null, "nobody has watched it");
        let word = |at: i64| {
            format!(r#"{{"at":{at},"bytesPerDay":3145728.4,"overSeconds":7200,"fullInDays":20.26,"reason":null}}"#)
        };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is later").as_millis() as i64;
        redis.set_meta(&service, "growth", &word(1_700_000_000_000));
        assert_eq!(found(), Value::Null, "nobody has watched it of late");
        redis.set_meta(&service, "growth", &word(now));
        let forecast = found();
        assert_eq!((&forecast["bytesPerDay"], &forecast["fullInDays"]), (&3_145_728.into(), &20.3.into()));
        assert_eq!(forecast["overSeconds"], 7200);
        let told = status(&config, &service, home, &[]).ok().stdout;
        let at = forecast["at"].as_str().expect("a time");
        let line = format!("growth: 3.0 MiB a day, full in 20.3 days, seen over 120 minutes until {at}");
        assert!(told.contains(&line), "{told}");
        redis.set_meta(&service, "growth", "words of another version");
        assert_eq!(found(), Value::Null);
    }
}

#[test]
fn all_keys_have_a_time_to_live_but_those_that_say_what_the_others_mean() {
    for redis in servers() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let service = redis.own_service("ttl");
        let config = config(&redis).replace("train: {type: file, path: ./parts, format: json}\n", "");
        import(&config, &service, &day(&mut Random(7), 60), &folder.path().join("import"));
        let running = launch("serve", &config, &service, &folder.path().join("serve"));
        running.feedback(&[item("i1", 100_000, &[]), ranking("r", 100_000, "u", &["i1", "i2"])]);
        let settled = ["meta", "slots"].map(String::from);
        let kept = redis.kept_for_ever(&service);
        let last = |name: &String| name.rsplit(':').next().unwrap_or_default().to_owned();
        assert_eq!(kept.iter().map(last).collect::<Vec<_>>(), settled, "{kept:?}");
    }
}

#[test]
fn what_cannot_be_reached_is_named_in_one_line_and_no_password_is_told() {
    let Some(redis) = Redis::of_its_own() else { return };
    let client = redis::Client::open((redis.host(), redis.port())).expect("an address");
    let mut connection = client.get_connection().expect("the server answers");
    redis::cmd("CONFIG").arg(&["SET", "requirepass", PASSWORD]).exec(&mut connection).expect("takes a password");
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = |port: u16, password: &str| {
        let state = format!("state: {{type: redis, host: 127.0.0.1, port: {port}, auth: {{password: {password}}}}}");
        format!(
            "{state}\nfeatures: [{{name: clicks, type: interaction_count, interaction: click, scope: item}}]\nmodels: {{m: {{type: noop}}}}\n"
        )
    };
    let (there, away) = (redis.port(), ports::free(1));
    for (config, wanted) in [
        (config(there, PASSWORD), None),
        (config(there, "xyzzy-redis-password-of-another"), Some("user or password refused")),
        (config(away, PASSWORD), Some("no connection")),
    ] {
        for more in [&[][..], &["--json"]] {
            let ended = status(&config, "shop", folder.path(), more);
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!said.contains(PASSWORD), "{said}");
            let Some(wanted) = wanted else {
                ended.ok();
                continue;
            };
            let errors: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
            assert_eq!(errors.len(), 1, "{said}");
            assert!(errors[0].starts_with("error: state: ") && errors[0].contains(wanted), "{said}");
            assert!(errors[0].contains("; click-throughs: ") && errors[0].contains("; models: "), "{said}");
            assert!(ended.refused().stdout.contains("127.0.0.1"), "what there is is told all the same");
        }
    }
}

#[test]
fn a_folder_is_told_of_while_no_process_uses_it() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let home = folder.path();
    let config = format!("state: {{type: file, path: ./state}}\n{}", features());
    let told = status(&config, "default", home, &[]).ok().stdout;
    assert!(told.contains("nothing is there yet"), "{told}");
    assert!(!home.join("state").exists() && !home.join("parts").exists(), "looking makes nothing");
    import(&config, "default", &day(&mut Random(7), 60), home);
    let found = json(&config, "default", home);
    assert_adds_up(&found["state"]["found"]["size"]);
    let size = &found["state"]["found"]["size"];
    assert_eq!(size["wholeState"], true);
    if models().is_some() {
        assert_eq!(size["features"]["meaning"]["values"], ITEMS, "a vector for each item: {size:#}");
    }

    let running = Service::serve(&config, home);
    running.until("it has looked", || running.status()["size"]["ageSeconds"].is_u64());
    assert_adds_up(&running.status()["size"]);
    let held = status(&config, "default", home, &[]).refused();
    assert!(held.stderr.contains("another process holds it") && held.stderr.contains("GET /status"), "{}", held.stderr);
    assert!(held.stdout.contains("records"), "click-throughs are told all the same: {}", held.stdout);
    running.terminate();
    assert_eq!(running.wait(), Some(0));
    assert_eq!(json(&config, "default", home)["problem"], Value::Null);
}

#[test]
fn a_state_in_memory_is_asked_of_its_process() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = format!("state: {{type: memory}}\n{}", rankwright_e2e::many::FEATURES);
    let told = status(&config, "default", folder.path(), &[]).ok().stdout;
    assert!(told.contains("state: memory: in the memory of the process that serves"), "{told}");
}

#[test]
fn each_request_is_one_line_of_the_log_at_debug_level_and_none_above() {
    let config = "state: {type: memory}\nfeatures:\n- {name: price, type: number, field: item.price}\n\
        models:\n  same: {type: noop}\n";
    let lines_at = |level: &str| {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let environment = [("RUST_LOG", level)];
        let launch =
            Launch { subcommand: "serve", config, data: None, folder: folder.path(), environment: &environment };
        let service = launch.start();
        service.get("/health").ok();
        service.post_text("/rank/nobody", "{}");
        service.terminate();
        // what it says last, behind all else
        service.until("the end", || service.log().contains("stopped"));
        let log = service.log();
        let asked = ["path=\"/health\" status=200", "path=\"/rank/nobody\" status=404"];
        log.lines().filter(|line| asked.iter().any(|words| line.contains(words))).count()
    };
    assert_eq!(lines_at("debug"), 2);
    assert_eq!(lines_at("info"), 0);
}
