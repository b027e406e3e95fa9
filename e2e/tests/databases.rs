//! Databases of one Redis: each kind of data lies in the one that the configuration names.

use rankwright_e2e::events::{DURABLE, at, cheap_wins, click, lines, ranking};
use rankwright_e2e::many::{FEATURES, day, import, launch};
use rankwright_e2e::program::command;
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, Launch};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

const LEARNED: &str = "learned: {type: lambdamart, weights: {click: 1}, features: [clicks, ctr], \
                       backend: {type: lightgbm, iterations: 5}}";

fn run(arguments: &[&str], service: &str, folder: &Path) -> Ended {
    Ended::of(command(arguments).current_dir(folder).env("RANKWRIGHT_SERVICE", service)).ok()
}

/// What docs/security.md calls enough: it reaches no key of another service.
#[test]
fn all_programs_work_as_a_user_with_the_least_rights() {
    let Some(redis) = Redis::of_its_own() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (service, home) = (redis.own_service("least"), folder.path());
    let client = redis::Client::open((redis.host(), redis.port())).expect("an address");
    let mut connection = client.get_connection().expect("the server answers");
    let rights = ["on", ">secret", &format!("~rw:{service}:*"), "+@all", "-@dangerous", "+info"];
    redis::cmd("ACL").arg("SETUSER").arg("limited").arg(&rights).exec(&mut connection).expect("is done");
    let config = format!(
        "state: {{type: redis, {}, auth: {{user: limited, password: secret}}}}\n{}",
        redis.keys(),
        FEATURES.replace("train: {type: file, path: ./parts, format: json}", "").replace("same: {type: noop}", LEARNED)
    );
    import(&config, &service, &day(&mut Random(7), 60), &home.join("import"));
    let worker = launch("ingest-worker", &config, &service, &home.join("worker"));
    let server = launch("rank-server", &config, &service, &home.join("server"));
    let later = [ranking("later", 5000, "u1", &["i1", "i2"]), click("click", 5001, "later", "u1", "i1")];
    server.feedback(&later);
    server.feedback(&[json!({"event": "user", "id": "end", "timestamp": at(9000), "user": "u1", "fields": []})]);
    worker.until("it is closed", || redis.has_closed(&service));
    let told = |arguments: &[&str]| {
        let mut command = command(&[arguments, &["--config", "import/config.yml"]].concat());
        Ended::of(command.current_dir(home).env("RANKWRIGHT_SERVICE", &service)).ok()
    };
    told(&["train"]);
    assert_eq!(server.rank("learned", &later[0])["items"].as_array().map(Vec::len), Some(2));
    for arguments in [
        &["models", "list"][..],
        &["status"],
        &["import", "--data", "import/events.jsonl", "--rebuild"],
        &["forget", "--user", "u1"],
    ] {
        let told = told(arguments);
        assert!(!told.stderr.contains("NOPERM"), "{arguments:?}: {}", told.stderr);
    }
    for program in [server, worker] {
        let log = program.log();
        assert!(!log.contains("NOPERM") && !log.contains(" ERROR "), "a rebuild is no error either: {log}");
        program.terminate();
        assert_eq!(program.wait(), Some(0));
    }
    told(&["purge", "--yes"]);
    assert_eq!(redis.names(&service), [""; 0]);
}

/// What a service has in a database: the word behind its name; numbers are generations of its state.
fn kinds(redis: &Redis, database: u8, service: &str) -> BTreeSet<String> {
    let client = redis::Client::open(format!("redis://{}:{}/{database}", redis.host(), redis.port()));
    let mut connection = client.and_then(|client| client.get_connection()).expect("the server answers");
    let names: Vec<String> = redis::cmd("KEYS").arg(format!("rw:{service}:*")).query(&mut connection).expect("lists");
    let kind = |name: &String| name.split(':').nth(2).unwrap_or_default().to_owned();
    names.iter().map(kind).collect()
}

#[test]
fn state_click_throughs_and_models_lie_in_the_databases_that_are_configured() {
    Redis::for_tests().iter().for_each(lie_where_they_are_configured);
}

#[test]
fn the_oldest_version_that_is_promised_does_all_of_it_as_well() {
    Redis::older().iter().for_each(lie_where_they_are_configured);
}

fn lie_where_they_are_configured(redis: &Redis) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (folder, service) = (folder.path(), redis.own_service("databases"));
    let state = format!("state: {{type: redis, {}, db: {{state: 9, rankings: 10, models: 11}}}}", redis.keys());
    let config = DURABLE.replace("state: {type: file, path: ./data}", &state);
    assert!(config.contains(&state));
    std::fs::write(folder.join("config.yml"), &config).expect("can be written");
    std::fs::write(folder.join("events.jsonl"), lines(&cheap_wins(200))).expect("can be written");
    run(&["import", "--config", "config.yml", "--data", "events.jsonl"], &service, folder);
    run(&["train", "--config", "config.yml"], &service, folder);
    let environment = [("RANKWRIGHT_SERVICE", &*service)];
    let launch = Launch { subcommand: "rank-server", config: &config, data: None, folder, environment: &environment };
    let server = launch.start();
    let answer = server.rank("m", &ranking("q", 500, "u1", &["i9", "i1", "i5"]));
    assert_eq!(
        (&answer["fallback"], &answer["items"][0]["item"]),
        (&serde_json::Value::Null, &"i1".into()),
        "{answer}"
    );
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    let found = |database| kinds(redis, database, &service);
    let these = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect::<BTreeSet<_>>();
    let of_state = found(9);
    let generations = of_state.iter().filter(|kind| kind.parse::<u32>().is_ok()).count();
    assert!(of_state.contains("meta") && of_state.len() == generations + 1 && generations > 0, "{of_state:?}");
    assert_eq!((found(10), found(11)), (these(&["parts"]), these(&["models"])));
    run(&["purge", "--config", "config.yml", "--yes"], &service, folder);
    for database in 0..16 {
        assert_eq!(found(database), these(&[]), "database {database}");
    }
}
