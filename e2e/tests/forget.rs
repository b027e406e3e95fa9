//! `forget`: a visitor or an item goes from every store, while the service runs.

use rankwright_e2e::events::{at, click, item, ranking};
use rankwright_e2e::many::{FEATURES, launch, with_texts};
use rankwright_e2e::program::{command, named};
use rankwright_e2e::proxy::{Mode, Proxy};
use rankwright_e2e::redis::Redis;
use rankwright_e2e::server::Server;
use rankwright_e2e::{Ended, Service, http};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const VISITOR: &str = "visitor-to-forget";
const VISIT: &str = "visit-to-forget";
const ITEM: &str = "item-to-forget";

fn of_visit(mut event: Value) -> Value {
    event["session"] = json!(VISIT);
    event
}

/// A catalogue, lists for two visitors of which some are closed at the end and some open, and clicks, of which one waits.
fn events() -> Vec<Value> {
    let mut events: Vec<Value> = ["a", "b", "c", ITEM].map(|id| item(id, 0, &[("brand", json!("x"))])).to_vec();
    events.iter_mut().enumerate().for_each(|(number, item)| item["id"] = json!(format!("i{number}")));
    for number in 0..20 {
        let (second, id) = (10 + number, number.to_string());
        let user = if number % 2 == 0 { VISITOR } else { "another" };
        let shown = if number % 4 < 2 { ["a", ITEM, "b"] } else { ["a", "b", "c"] };
        events.push(of_visit(ranking(&id, second, user, &shown)));
        events.push(of_visit(click(&format!("c{id}"), second, &id, user, shown[1])));
    }
    events.push(json!({"event": "user", "id": "later", "timestamp": at(5000), "user": "another", "fields": []}));
    for (id, user, shown) in
        [("o1", VISITOR, ["a", "b"]), ("o2", "another", [ITEM, "a"]), ("o3", "another", ["a", "b"])]
    {
        events.push(ranking(id, 5000, user, &shown));
        events.push(click(&format!("c{id}"), 5000, id, user, shown[0]));
    }
    events.push(click("w1", 5000, "of nobody", VISITOR, "a"));
    events
}

fn config(state: &str, parts: &Path) -> String {
    keeping(state, &format!("{{type: file, path: '{}', format: json}}", parts.display()))
}

/// A configuration with a store of click-throughs.
fn keeping(state: &str, parts: &str) -> String {
    let features = FEATURES.replace("{type: file, path: ./parts, format: json}", parts);
    let features = features.replace("maxSessionLength: 10s", "maxSessionLength: 10m");
    format!(
        "state: {state}\n{features}  popular: {{type: trending, weights: [{{interaction: click}}], excludeSeen: true}}\n"
    )
}

fn forget(config: &str, service: &str, folder: &Path, who: &[&str]) -> String {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    std::fs::write(folder.join("forget.yml"), config).expect("can be written");
    let mut command = command(&[&["forget", "--config", "forget.yml"], who].concat());
    Ended::of(command.current_dir(folder).env("RANKWRIGHT_SERVICE", service)).ok().stdout
}

/// Everything in the files of a folder.
fn texts(folder: &Path) -> String {
    let files = std::fs::read_dir(folder).expect("is there").map(|file| file.expect("can be listed").path());
    files.map(|path| if path.is_dir() { texts(&path) } else { read(&path) }).collect()
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

#[test]
fn nothing_of_a_visitor_or_an_item_is_left_in_any_store() {
    Redis::for_tests().iter().for_each(none_is_left_in_any_store);
}

#[test]
fn nothing_of_a_visitor_or_an_item_is_left_in_any_node_of_a_cluster() {
    Redis::in_a_cluster().iter().for_each(none_is_left_in_any_store);
}

fn none_is_left_in_any_store(redis: &Redis) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (service, parts) = (redis.own_service("forget"), folder.path().join("parts"));
    let config = config(&format!("{{type: redis, {}}}", redis.patient()), &parts);
    let config = with_texts(&config);
    let worker = launch("ingest-worker", &config, &service, &folder.path().join("worker"));
    let server = launch("rank-server", &config, &service, &folder.path().join("server"));
    server.feedback(&events());
    let closed = |text: &str| texts(&parts).matches(text).count();
    worker.until("some are closed", || closed("\"kind\":\"ranking\"") == 20);
    for text in [VISITOR, ITEM] {
        assert!(redis.with(&service, text).len() > 2, "{text}: {:?}", redis.with(&service, text));
    }

    let told = forget(&config, &service, &folder.path().join("cli"), &["--user", VISITOR]);
    assert_eq!(redis.with(&service, VISITOR), [""; 0]);
    assert_eq!(redis.with(&service, VISIT), [""; 0], "a visit is the visitor's");
    assert_eq!(closed(VISITOR), 0, "{}", texts(&parts));
    assert!(told.contains("removed 1 entities of the state"), "{told}");
    assert!(told.contains("removed 1 open rankings, 1 waiting interactions, 0 click-throughs on their way"), "{told}");
    assert!(told.contains("removed 10 click-throughs in "), "{told}");
    assert_eq!(closed("\"kind\":\"ranking\""), 10, "those of others stay");

    let told = forget(&config, &service, &folder.path().join("cli"), &["--item", ITEM]);
    assert_eq!(redis.with(&service, ITEM), [""; 0]);
    assert_eq!(closed(ITEM), 0, "{}", texts(&parts));
    assert!(told.contains("removed 1 open rankings, 0 waiting"), "{told}");
    assert_eq!(closed("\"kind\":\"ranking\""), 10, "they are shorter now");

    let end = json!({"event": "user", "id": "end", "timestamp": at(9000), "user": "another", "fields": []});
    server.feedback(&[end]);
    worker.until("the rest is closed", || closed("\"kind\":\"ranking\"") == 11 && redis.is_settled(&service));
    assert_eq!(closed("\"id\":\"o3\""), 1);
}

#[test]
fn a_process_that_reaches_all_stores_forgets_over_http() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (service, parts) = (redis.own_service("forget-http"), folder.path().join("parts"));
    let config = config(&format!("{{type: redis, {}}}", redis.patient()), &parts);
    let without = launch("rank-server", &config, &service, &folder.path().join("without"));
    let server = launch("serve", &config, &service, &folder.path().join("server"));
    let config = format!("{config}api: {{host: 127.0.0.1, port: 0, page: {{enabled: true}}}}\n");
    let ranks = launch("rank-server", &config, &service, &folder.path().join("ranks"));
    server.feedback(&events());
    let closed = |text: &str| texts(&parts).matches(text).count();
    server.until("some are closed", || closed("\"kind\":\"ranking\"") == 20);
    server.get(&format!("/users/{VISITOR}")).ok();

    let delete = |server: &Service, path: &str| {
        http::send(server.address(), &http::request("DELETE", path, b"")).expect("it answers")
    };
    assert_eq!(delete(&without, &format!("/users/{VISITOR}")).refusal().0, "not_found", "a rank-server has no page");
    let refused = delete(&ranks, &format!("/users/{VISITOR}")).refusal();
    assert_eq!(refused.0, "not_available", "it does not reach click-throughs: {}", refused.1);
    let told = delete(&server, &format!("/users/{VISITOR}")).ok().json();
    assert_eq!(told["left"], json!([]), "{told}");
    assert!(told["removed"].to_string().contains("10 click-throughs in "), "{told}");
    assert_eq!(redis.with(&service, VISITOR), [""; 0]);
    assert_eq!(closed(VISITOR), 0, "{}", texts(&parts));
    assert_eq!(server.get(&format!("/users/{VISITOR}")).status, 404);
}

#[test]
fn several_that_are_forgotten_at_once_disturb_each_other_not() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (service, parts) = (redis.own_service("forget-together"), folder.path().join("parts"));
    let config = config(&format!("{{type: redis, {}}}", redis.patient()), &parts);
    let server = launch("rank-server", &config, &service, &folder.path().join("server"));
    let visitors: Vec<_> = (0..200).map(|number| format!("visitor-{number:03}")).collect();
    for round in 0..3 {
        // what is open is looked through by each of them
        let open = |(number, user): (usize, &String)| ranking(&format!("r{round}-{number}"), 5000, user, &["a", "b"]);
        server.feedback(&visitors.iter().enumerate().map(open).collect::<Vec<_>>());
        std::thread::scope(|scope| {
            for visitor in &visitors[..3] {
                let home = folder.path().join(visitor);
                let (config, service) = (&config, &service);
                scope.spawn(move || {
                    let told = forget(config, service, &home, &["--user", visitor]);
                    assert!(told.contains("removed 1 open rankings"), "{told}");
                });
            }
        });
    }
    for visitor in &visitors[..3] {
        assert_eq!(redis.with(&service, visitor), [""; 0], "{visitor}");
    }
}

/// Lets bytes pass from its end on, be that a failed assertion: others wait for them.
struct Passes<'a>(&'a Proxy);

impl Drop for Passes<'_> {
    fn drop(&mut self) {
        self.0.set(Mode::Pass);
    }
}

#[test]
fn nothing_of_them_comes_later_from_a_bucket_that_did_not_answer_meanwhile() {
    let (Some(redis), Some(s3)) = (Redis::for_tests(), Server::s3("bucket")) else { return };
    let (folder, proxy) = (tempfile::tempdir().expect("there is room for temporary files"), Proxy::to(s3.port()));
    let state = format!("{{type: redis, {}}}", redis.patient());
    let through = |port: u16| {
        let endpoint = format!("endpoint: 'http://127.0.0.1:{port}', cloudKey: test, cloudKeySecret: testsecret");
        let bucket = format!("type: s3, bucket: bucket, prefix: parts, region: us-east-1, {endpoint}");
        keeping(&state, &format!("{{{bucket}, compress: none, format: json, partSizeEvents: 5, partInterval: 1s}}"))
    };
    let (config, service) = (through(proxy.port()), redis.own_service("forget-late"));
    let worker = launch("ingest-worker", &config, &service, &folder.path().join("worker"));
    let server = launch("rank-server", &config, &service, &folder.path().join("server"));
    proxy.set(Mode::BlackHole);
    let before = proxy.carried();
    server.feedback(&events());
    worker.until("a part is on its way", || proxy.carried() > before);
    let epoch = redis.epoch(&service, "closer");
    let told = std::thread::scope(|scope| {
        let passes = Passes(&proxy);
        let forgetting =
            scope.spawn(|| forget(&through(s3.port()), &service, &folder.path().join("cli"), &["--user", VISITOR]));
        // or it is alone already, as the worker has given up for a while
        worker.until("it wants to be alone", || redis.epoch(&service, "closer") > epoch || forgetting.is_finished());
        drop(passes);
        forgetting.join().expect("it comes to its end")
    });
    worker.terminate();
    assert_eq!(worker.wait(), Some(0));
    let kept = texts(&s3.folder().join("versitygw/bucket"));
    assert!(kept.contains("\"user\":\"another\"") && !kept.contains(VISITOR), "{told}: {kept}");
    assert_eq!(redis.with(&service, VISITOR), [""; 0], "{told}");
}

/// It held their click-throughs when it was stopped, and others have put these since.
#[test]
fn nothing_of_them_comes_later_from_a_worker_that_stood_still_meanwhile() {
    let (Some(redis), Some(s3)) = (Redis::for_tests(), Server::s3("bucket")) else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let endpoint = format!("endpoint: 'http://{}', cloudKey: test, cloudKeySecret: testsecret", s3.address());
    let bucket = format!("type: s3, bucket: bucket, prefix: parts, region: us-east-1, {endpoint}");
    let parts = format!("{{{bucket}, compress: none, format: json, partSizeEvents: 1000000, partInterval: 1h}}");
    let config = keeping(&format!("{{type: redis, {}}}", redis.patient()), &parts);
    let service = redis.own_service("forget-stopped");
    let first = launch("ingest-worker", &config, &service, &folder.path().join("first"));
    let server = launch("rank-server", &config, &service, &folder.path().join("server"));
    server.feedback(&events());
    first.until("some are closed, and held", || first.status()["ingest"]["outbox"].as_u64() == Some(20));
    first.pause();
    // once the first one has let the task lapse
    let told = forget(&config, &service, &folder.path().join("cli"), &["--user", VISITOR]);
    assert!(told.contains("10 click-throughs on their way"), "{told}");
    assert_eq!(redis.with(&service, VISITOR), [""; 0], "{told}");
    first.resume();
    first.until("it goes on with those of others", || first.status()["ingest"]["outbox"].as_u64() == Some(10));
    first.terminate();
    assert_eq!(first.wait(), Some(0));
    let kept = texts(&s3.folder().join("versitygw/bucket"));
    assert!(kept.contains("\"user\":\"another\"") && !kept.contains(VISITOR), "{told}: {kept}");
    assert_eq!(redis.with(&service, VISITOR), [""; 0], "{told}");
}

#[test]
fn nothing_of_a_visitor_is_left_in_a_redis_that_holds_everything() {
    Redis::for_tests().iter().for_each(none_is_left_where_everything_lies);
}

#[test]
fn nothing_of_a_visitor_is_left_in_a_cluster_that_holds_everything() {
    Redis::in_a_cluster().iter().for_each(none_is_left_where_everything_lies);
}

/// Click-throughs lie in Redis, and a model that has learned from the visitor, with requests to warm it up.
fn none_is_left_where_everything_lies(redis: &Redis) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let service = redis.own_service("forget-all");
    let learned = "learned: {type: lambdamart, weights: {click: 1}, features: [clicks, ctr, brand_ctr], \
                   warmup: {sampledRequests: 20, duration: 1s}, backend: {type: lightgbm, iterations: 5}}";
    let kept = format!("train: {{type: redis, format: json, {}}}", redis.patient());
    let features = FEATURES.replace("train: {type: file, path: ./parts, format: json}", &kept);
    let features = features.replace("same: {type: noop}", learned);
    let config = format!("state: {{type: redis, format: json, {}}}\n{features}", redis.patient());
    let worker = launch("ingest-worker", &config, &service, &folder.path().join("worker"));
    let server = launch("rank-server", &config, &service, &folder.path().join("server"));
    server.feedback(&events());
    worker.until("all is closed", || redis.has_closed(&service));
    worker.terminate(); // what it holds becomes durable
    assert_eq!(worker.wait(), Some(0));
    let mut job = Command::new(named("training-job"));
    std::fs::write(folder.path().join("forget.yml"), &config).expect("can be written");
    job.args(["--config", "forget.yml"]).current_dir(folder.path()).env("RANKWRIGHT_SERVICE", &service);
    Ended::of(&mut job).ok();
    let places = |text: &str| {
        let names = redis.with(&service, text);
        let of = |part: &str| names.iter().any(|name| name.contains(part));
        (of(":models:"), of(":parts:"), !names.is_empty())
    };
    assert_eq!(places(ITEM), (true, true, true));
    assert_eq!(places(VISITOR), (false, true, true), "a version outlives what has to be forgotten");
    forget(&config, &service, folder.path(), &["--user", VISITOR]);
    assert_eq!(places(VISITOR), (false, false, false));
    let visits = redis.with(&service, VISIT);
    assert!(visits.iter().all(|name| name.contains(":parts:")), "others have records of such a visit: {visits:?}");
}

#[test]
fn nothing_of_them_is_left_in_a_folder_either() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (home, parts) = (folder.path().join("home"), folder.path().join("parts"));
    let config = config("{type: file, path: ./state, format: json}", &parts);
    std::fs::create_dir_all(&home).expect("the folder can be made");
    let service = Service::serve(&config, &home);
    service.feedback(&events());
    service.until("some are closed", || service.status()["ingest"]["clickthroughs"].as_u64() == Some(20));
    let held = forget_refused(&config, &home);
    assert!(held.contains("another process holds it"), "{held}");
    service.terminate();
    assert_eq!(service.wait(), Some(0));
    for kept in [&parts, &home.join("state")] {
        assert!(texts(kept).contains(VISITOR) && texts(kept).contains(ITEM), "{kept:?}");
    }
    // as a rebuild leaves it that was killed
    let unfinished = home.join("state/rebuilt-0123456789abcdef");
    std::fs::create_dir_all(&unfinished).expect("the folder can be made");
    std::fs::write(unfinished.join("values"), VISITOR).expect("can be written");
    // as a process leaves it that was killed while it rewrote a part
    let of_another = parts.join(format!("00000001-3-{:032x}.json.new", 7));
    std::fs::write(&of_another, VISITOR).expect("can be written");
    let told = forget(&config, "default", &home, &["--user", VISITOR]);
    assert!(told.contains("a rebuild that was not completed") && !unfinished.exists(), "{told}");
    assert!(
        told.contains("parts that were not completely written, or removed, with all that is in them: 1")
            && !of_another.exists(),
        "{told}"
    );
    forget(&config, "default", &home, &["--item", ITEM]);
    for kept in [&parts, &home.join("state")] {
        assert!(!texts(kept).contains(VISITOR) && !texts(kept).contains(ITEM), "{kept:?}: {}", texts(kept));
    }
    assert_eq!(texts(&parts).matches("\"kind\":\"ranking\"").count(), 10);
    for who in [["--user", VISITOR], ["--item", ITEM]] {
        let told = forget(&config, "default", &home, &who);
        assert!(told.contains("removed 0 entities"), "nothing was left: {told}");
        assert!(told.contains("removed 0 open rankings, 0 waiting interactions, 0 click"), "nothing was left: {told}");
    }
}

fn forget_refused(config: &str, folder: &Path) -> String {
    std::fs::write(folder.join("forget.yml"), config).expect("can be written");
    let mut command = command(&["forget", "--config", "forget.yml", "--user", VISITOR]);
    Ended::of(command.current_dir(folder)).refused().stderr
}

#[test]
fn what_is_left_of_somebody_makes_it_no_success() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (home, parts) = (folder.path().join("home"), folder.path().join("parts"));
    let config = config("{type: file, path: ./state}", &parts);
    std::fs::create_dir_all(&home).expect("the folder can be made");
    std::fs::write(home.join("import.yml"), &config).expect("can be written");
    std::fs::write(home.join("events.jsonl"), rankwright_e2e::events::lines(&events())).expect("can be written");
    let mut import = command(&["import", "--config", "import.yml", "--data", "events.jsonl"]);
    Ended::of(import.current_dir(&home)).ok();
    let part = std::fs::read_dir(&parts).expect("is there").find_map(|file| {
        let path = file.expect("can be listed").path();
        read(&path).contains(VISITOR).then_some(path)
    });
    let part = part.expect("a part with the visitor");
    // one of the visitor's records, and whose it is can no longer be told
    let damaged: String = read(&part).lines().map(|line| line.replace(VISITOR, "another") + "\n").collect();
    std::fs::write(&part, damaged).expect("can be written");
    let told = forget_refused(&config, &home);
    let name = part.file_name().expect("it has a name").to_string_lossy().into_owned();
    assert!(told.contains("not all is forgotten; removed nothing of") && told.contains(&name), "{told}");
}

/// The state cannot be rewritten there.
#[test]
fn what_is_left_in_the_files_of_a_state_makes_it_no_success() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let home = folder.path();
    let config = config("{type: file, path: ./state, format: json}", &home.join("parts"));
    std::fs::write(home.join("import.yml"), &config).expect("can be written");
    std::fs::write(home.join("events.jsonl"), rankwright_e2e::events::lines(&events())).expect("can be written");
    let mut import = command(&["import", "--config", "import.yml", "--data", "events.jsonl"]);
    Ended::of(import.current_dir(home)).ok();
    let in_the_way = home.join("state/state.anew");
    std::fs::write(&in_the_way, "").expect("can be written");
    let told = forget_refused(&config, home);
    assert!(texts(&home.join("state")).contains(VISITOR), "there is something left");
    assert!(told.contains("not all is forgotten") && told.contains("failed to clear ./state/state.anew"), "{told}");
    std::fs::remove_file(in_the_way).expect("can be removed");
    let told = forget(&config, "default", home, &["--user", VISITOR]);
    assert!(told.contains("removed 0 entities") && told.contains("rewritten"), "{told}");
    assert!(!texts(&home.join("state")).contains(VISITOR));
}

#[test]
fn forgetting_wants_one_visitor_or_item() {
    for who in [&[][..], &["--user", "u", "--item", "i"]] {
        let ended = Ended::of(&mut command(&[&["forget", "--config", "x"], who].concat()));
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    }
}
