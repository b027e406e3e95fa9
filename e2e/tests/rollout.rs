//! Rank servers that replace each other: none gets ready that would answer with less than those that are there.

use rankwright_e2e::many::{config, day, import, launch};
use rankwright_e2e::program::command;
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, Launch, Service};

const MODEL: &str = "learned: {type: lambdamart, weights: {click: 1}, features: [clicks, ctr], backend: {type: lightgbm, iterations: 5}}";

fn ready(server: &Service) -> (u16, String) {
    let answer = server.get("/ready");
    (answer.status, answer.text)
}

#[test]
fn a_server_that_no_version_fits_is_not_ready_while_another_one_serves_the_model() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    let (service, config) = (redis.own_service("rollout"), config(&redis).replace("same: {type: noop}", MODEL));
    import(&config, &service, &day(&mut Random(3), 50), folder);
    let run = |arguments: &[&str]| {
        Ended::of(command(arguments).current_dir(folder).env("RANKWRIGHT_SERVICE", &service)).ok();
    };
    run(&["train", "--config", "config.yml"]);
    let former = launch("rank-server", &config, &service, &folder.join("former"));
    let told = former.status()["models"]["learned"].clone();
    assert_eq!(told["versions"], serde_json::json!([told["version"]]), "{told}");

    // no version was trained on this
    let changed = config
        .replace("bottom: impression, bucket: 1d, periods: [7]}", "bottom: impression, bucket: 1d, periods: [14]}");
    assert_ne!(changed, config);
    let place = folder.join("newer");
    std::fs::create_dir_all(&place).expect("the folder can be made");
    let environment = [("RANKWRIGHT_SERVICE", &*service)];
    let newer =
        Launch { subcommand: "rank-server", config: &changed, data: None, folder: &place, environment: &environment };
    let newer = newer.start_unasked();
    newer.until("it says why it is not ready", || ready(&newer).1.contains("is served by 1 other servers"));
    assert_eq!((ready(&newer).0, newer.get("/health").status), (503, 200), "it is alive: no restart");
    assert_eq!(ready(&former).0, 200);

    former.terminate();
    former.wait();
    newer.until("no other server serves more", || ready(&newer).0 == 200);
    let before = newer.status()["store"]["id"].clone();
    assert!(before.is_string() && newer.status()["store"]["emptied"] == false, "{}", newer.status()["store"]);
    run(&["purge", "--config", "config.yml", "--yes"]);
    newer.until("its state is gone", || newer.status()["store"]["emptied"] == true);
    assert_ne!(newer.status()["store"]["id"], before);
    assert!(newer.metrics().contains("service_state_emptied 1"), "{}", newer.metrics());
}
