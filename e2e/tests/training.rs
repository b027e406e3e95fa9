//! `training-job`: what it publishes, what it keeps, and what it tells.

use rankwright_e2e::asking::Asking;
use rankwright_e2e::many::{config, day, import};
use rankwright_e2e::program::{command, named, run, run_on};
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, Launch, Service, encrypted, http, ports, wait};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The configuration of a made-up shop, whose events lie beside it.
fn generated(folder: &Path) -> String {
    run(&["generate", "--out", &folder.to_string_lossy()]).ok();
    std::fs::read_to_string(folder.join("config.yml")).expect("was written")
}

/// The same, with a state that stays.
fn shop(folder: &Path) -> String {
    let state = format!("type: file\n  path: {}/state", folder.to_string_lossy());
    generated(folder).replace("type: memory", &state)
}

fn job(folder: &Path, config: &str, model: &str) -> (Ended, Value) {
    std::fs::write(folder.join("job.yml"), config).expect("can be written");
    let mut job = Command::new(named("training-job"));
    job.args(["--config", "job.yml", "--model", model]).current_dir(folder);
    job.env_clear().env("TERMINATION_LOG", folder.join("termination"));
    let ended = Ended::of(&mut job);
    let report = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    let told = std::fs::read_to_string(folder.join("termination")).expect("was written");
    assert_eq!(serde_json::from_str::<Value>(&told).expect("is JSON"), report, "the termination message is the report");
    (ended, report)
}

fn versions(folder: &Path) -> String {
    let config = folder.join("job.yml");
    run(&["models", "--config", &config.to_string_lossy(), "list"]).ok().stdout
}

/// What a status says to be under way.
fn under_way(status: &Value) -> Vec<String> {
    let told = |task: &Value| {
        assert!(task["began"].as_i64() > Some(1_700_000_000_000), "{task}");
        format!("{} {}", task["kind"].as_str().unwrap_or_default(), task["model"].as_str().unwrap_or("-"))
    };
    status["work"].as_array().unwrap_or_else(|| panic!("{status}")).iter().map(told).collect()
}

#[test]
fn imports_and_trainings_are_told_while_they_last() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (folder, port) = (folder.path(), ports::free(1));
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let config = format!("{}\napi: {{host: 127.0.0.1, port: {port}}}\n", generated(folder));
    let events = folder.join("events.jsonl.gz");
    let launch = Launch { subcommand: "standalone", config: &config, data: Some(&events), folder, environment: &[] };
    let (service, seen) = std::thread::scope(|scope| {
        let (starting, mut seen) = (scope.spawn(|| launch.start()), BTreeSet::new());
        while !starting.is_finished() {
            let status = http::get(address, "/status").ok().filter(|answer| answer.status == 200);
            status.into_iter().for_each(|answer| seen.extend(under_way(&answer.json())));
            std::thread::sleep(Duration::from_millis(2));
        }
        (starting.join().expect("it starts"), seen)
    });
    let expected = ["import -", "training lightgbm", "training popular", "training similar", "training xgboost"];
    for one in [0, 1, 4].map(|at| expected[at]) {
        assert!(seen.contains(one), "{one} in {seen:?}"); // the others take a moment
    }
    assert!(seen.iter().all(|one| expected.contains(&one.as_str())), "{seen:?}");
    assert_eq!(service.status()["work"], json!([]));
    std::thread::scope(|scope| {
        let training = scope.spawn(|| service.train("lightgbm"));
        let mut seen = BTreeSet::new();
        while !training.is_finished() {
            seen.extend(under_way(&service.status()));
        }
        training.join().expect("it trains");
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["training lightgbm"]);
    });
    assert_eq!(service.status()["work"], json!([]));
}

#[test]
fn a_job_publishes_what_is_good_enough_and_says_why() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    let config = format!("{}\napi: {{host: 127.0.0.1, port: 0}}\n", shop(folder));
    let (ended, report) = job(folder, &config, "lightgbm");
    assert_eq!((ended.code, report["outcome"].as_str()), (Some(3), Some("nothing")), "{report}");
    assert!(report["models"][0]["message"].as_str().is_some_and(|text| text.contains("no click-throughs")), "{report}");

    run_on("import", &folder.join("job.yml"), &folder.join("events.jsonl.gz"), &[]).ok();
    let (ended, report) = job(folder, &config, "lightgbm");
    let first = &report["models"][0];
    assert_eq!((ended.code, first["outcome"].as_str()), (Some(0), Some("published")), "{report}");
    let told = |line: &str| line.contains("training model=") && line.contains(" iteration=1 ");
    assert_eq!(ended.stderr.lines().filter(|line| told(line)).count(), 1, "{}", ended.stderr);
    assert_eq!(first["decision"]["reason"], "FirstVersion");
    let running = first["version"].as_str().expect("was published").to_owned();

    // as good as the one that runs
    let (ended, report) = job(folder, &config, "lightgbm");
    let second = &report["models"][0];
    assert_eq!((ended.code, second["decision"]["reason"].as_str()), (Some(0), Some("NotWorse")), "{report}");
    assert_eq!(second["decision"]["candidate"], second["decision"]["running"], "the same data and seed");
    let current = second["version"].as_str().expect("was published").to_owned();

    // a model of one tree is worse: the running one stays
    let poor = config.replace("iterations: 100", "iterations: 1");
    let poor = poor.replace("    type: lambdamart", "    type: lambdamart\n    qualityGate: {margin: 0.001}");
    let (ended, report) = job(folder, &poor, "lightgbm");
    let third = &report["models"][0];
    assert_eq!((ended.code, third["outcome"].as_str()), (Some(0), Some("kept")), "{report}");
    assert!(third["decision"]["reason"] == "Worse" && third["version"].is_null(), "{report}");
    let listed = versions(folder);
    assert!(listed.contains(&running) && listed.contains(&format!("{current}\tcurrent")), "{listed}");
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let shown = run(&["models", "--config", &folder.join("job.yml").to_string_lossy(), "show", "--model", "lightgbm"]);
    let shown = shown.ok().stdout;
    let gate = format!("gate          {}", second["decision"]["message"].as_str().expect("is told"));
    assert!(shown.contains(&gate) && shown.contains("rounds        "), "{shown}");

    // what was published is served
    let service = Service::serve(&config, folder);
    service.until("the version served", || service.status()["models"]["lightgbm"]["version"] == current.as_str());
    let models = service.get("/models").ok().json();
    let model = models["models"].as_array().and_then(|models| models.iter().find(|model| model["name"] == "lightgbm"));
    let refused = model.map(|model| model["refused"].clone()).expect("it is listed");
    assert_eq!(
        (&refused["reason"], &refused["message"]),
        (&third["decision"]["reason"], &third["decision"]["message"])
    );
}

/// Every answer is the model's, whichever version that is.
#[test]
fn versions_take_each_others_place_in_a_server_without_a_failed_request() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    let (config, service) = (config(&redis), redis.own_service("swaps"));
    import(&config, &service, &day(&mut Random(3), 200), folder);
    let asking = Asking::of(&config, &service, &folder.join("parts"), folder, false);
    let (train, rollback) = (["train", "--config", "train.yml"], ["models", "--config", "train.yml", "rollback"]);
    for _ in 0..wait::scaled(2, 20) {
        asking.swaps(folder, &service, &train);
        asking.swaps(folder, &service, &rollback);
    }
    asking.end();
}

/// What it has trained is not thrown away.
#[test]
fn a_job_whose_redis_is_away_when_it_has_trained_publishes_when_that_is_back() {
    let Some(redis) = Redis::of_its_own() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    let state = format!("type: redis\n  host: {}\n  port: {}", redis.host(), redis.port());
    // enough rounds for Redis to be away before the last one, whatever else runs beside the test
    let rounds = "type: xgboost\n      iterations: 3000\n      learningRate: 0.000001";
    let config =
        generated(folder).replace("type: memory", &state).replace("type: xgboost\n      iterations: 100", rounds);
    let config = config + "\napi: {host: 127.0.0.1, port: 0}\n";
    assert!(config.contains(&state) && config.contains(rounds), "{config}");
    std::fs::write(folder.join("job.yml"), &config).expect("can be written");
    run_on("import", &folder.join("job.yml"), &folder.join("events.jsonl.gz"), &[]).ok();
    let mut job = Command::new(named("training-job"));
    job.args(["--config", "job.yml", "--model", "xgboost"]).current_dir(folder).env_clear().env("RUST_LOG", "debug");
    let mut running = job.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut log = BufReader::new(running.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    assert!(log.any(|line| line.contains("training model=") && line.contains(" iteration=1 ")), "it ended before");
    let killed = redis.killed();
    assert!(log.any(|line| line.contains("waits for the store to be published")), "it ended before");
    let _redis = killed.started();
    let rest = std::thread::spawn(move || log.for_each(drop));
    let ended = Ended::of_running(running);
    rest.join().expect("the log can be read");
    let report: Value = serde_json::from_str(&ended.stdout).expect("a report");
    assert_eq!((ended.code, report["outcome"].as_str()), (Some(0), Some("published")), "{report}");
}

#[test]
fn a_job_tells_how_it_is_while_it_trains() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    slow(folder);
    let config = std::fs::read_to_string(folder.join("job.yml")).expect("was written");
    let launch = Launch { subcommand: "training-job", config: &config, data: None, folder, environment: &[] };
    let job = launch.start_unasked();
    job.until("one of two models done", || {
        job.status()["training"]["models"].as_array().is_some_and(|one| one.len() == 1)
    });
    assert_eq!(job.get("/health").status, 200);
    assert_eq!(job.get("/ready").status, 200);
    assert_eq!(job.status()["training"]["models"][0]["outcome"], "published");
    assert!(job.metrics().contains("\nservice_"), "{}", job.metrics());
    let refused = job.post("/feedback", &serde_json::json!([]));
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (409, &"not_available".into()), "{}", refused.text);
    job.kill();
}

#[test]
fn the_port_of_a_job_is_encrypted_where_the_configuration_says_so() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    encrypted::make_certificate(folder);
    slow(folder);
    let config = std::fs::read_to_string(folder.join("job.yml")).expect("was written");
    let config = config.replace("port: 0}", "port: 0, tls: {cert: cert.pem, key: key.pem}}");
    let launch = Launch { subcommand: "training-job", config: &config, data: None, folder, environment: &[] };
    let job = launch.start_unasked();
    encrypted::assert_encrypted(job.address(), folder);
    job.kill();
}

/// A shop that is imported into `folder`, whose model of XGBoost takes longer to train than anybody waits.
fn slow(folder: &Path) {
    let (quick, slow) = ("type: lightgbm", "type: xgboost\n      iterations: 1000000\n      learningRate: 0.000001");
    let shop = shop(folder);
    let config =
        format!("{}\napi: {{host: 127.0.0.1, port: 0}}\n", shop.replace("type: xgboost\n      iterations: 100", slow));
    assert!(config.contains(quick) && config.contains(slow), "{config}");
    std::fs::write(folder.join("job.yml"), &config).expect("can be written");
    run_on("import", &folder.join("job.yml"), &folder.join("events.jsonl.gz"), &[]).ok();
}

/// Runs a job, and tells it to stop so long after it has said this.
fn stopped(folder: &Path, more: &[&str], says: impl Fn(&str) -> bool, after: Duration) -> Ended {
    let mut job = Command::new(named("training-job"));
    job.args(["--config", "job.yml"])
        .args(more)
        .current_dir(folder)
        .env_clear()
        .env("TERMINATION_LOG", folder.join("termination"));
    let mut running = job
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let mut log = BufReader::new(running.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    assert!(log.any(|line| says(&line)), "it ended before");
    std::thread::sleep(after);
    let told = Command::new("kill").args(["-TERM", &running.id().to_string()]).status();
    assert!(told.is_ok_and(|status| status.success()), "the process could not be told");
    let rest = std::thread::spawn(move || log.for_each(drop));
    let ended = Ended::of_running(running);
    rest.join().expect("the log can be read");
    ended
}

/// Whatever the threads of the boosters do in that moment.
#[test]
fn a_job_that_is_told_to_stop_at_any_moment_ends_well() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    slow(folder);
    let mut random = Random(7);
    for _ in 0..wait::scaled(20, 200) {
        let after = Duration::from_millis(random.below(800) as u64);
        let ended = stopped(folder, &["--model", "xgboost"], |line| line.contains("serving address="), after);
        let report: Value = serde_json::from_str(&ended.stdout).expect("a report");
        assert_eq!((ended.code, report["outcome"].as_str()), (Some(143), Some("failed")), "{after:?}: {report}");
    }
}

#[test]
fn a_job_that_is_told_to_stop_reports_what_it_has_done() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    slow(folder);
    let published = |line: &str| line.contains("model=\"lightgbm\"") && line.contains("no version runs yet");
    let both = ["--model", "lightgbm", "--model", "xgboost"];
    let ended = stopped(folder, &both, published, Duration::ZERO);
    let report: Value = serde_json::from_str(&ended.stdout).expect("a report");
    assert_eq!((ended.code, report["outcome"].as_str()), (Some(143), Some("failed")), "{report}");
    assert_eq!(report["message"], "stopped before it finished xgboost");
    let models = report["models"].as_array().expect("a list");
    assert!(models.len() == 1 && models[0]["outcome"] == "published", "{report}");
    let left = std::fs::read_to_string(folder.join("termination")).expect("was written");
    assert_eq!(serde_json::from_str::<Value>(&left).expect("is JSON"), report);
    assert!(versions(folder).contains("lightgbm"), "what it has published stays");
}

#[test]
fn a_job_that_cannot_begin_reports_it_as_well() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = "models: {m: {type: lambdamart, weights: {click: 1}, features: [p]}}\n\
                  features: [{name: p, type: position, position: 1}]\n";
    let (ended, report) = job(folder.path(), config, "m");
    assert_eq!((ended.code, report["outcome"].as_str()), (Some(1), Some("failed")));
    assert!(report["message"].as_str().is_some_and(|text| text.starts_with("state: ")), "{report}");
    let (ended, report) = job(folder.path(), &format!("{config}state: {{type: file, path: ./s}}\n"), "other");
    assert_eq!(ended.code, Some(1));
    assert!(report["message"].as_str().is_some_and(|text| text.contains("no model 'other'")), "{report}");
    let unknown = command(&["train", "--nonsense"]).output().expect("the program can be started");
    assert_eq!(unknown.status.code(), Some(2), "wrong arguments");
}
