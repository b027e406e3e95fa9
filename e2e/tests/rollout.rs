//! Rank servers that replace each other, or take up a new version: none gets ready that would answer with less than those that
//! are there, and one tries what comes before the others do.

use rankwright_e2e::events::ranking;
use rankwright_e2e::many::{config, day, import, launch};
use rankwright_e2e::program::command;
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, Launch, Service};
use rankwright_event::Timestamp;
use rankwright_model::{Metadata, Version};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

const MODEL: &str = "learned: {type: lambdamart, weights: {click: 1}, features: [clicks, ctr, weighed], backend: {type: lightgbm, iterations: 5}}";

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

/// As the operator gives a model its warm-up.
const WARMED: &str = "learned: {type: lambdamart, weights: {click: 1}, features: [clicks, ctr, weighed], backend: {type: lightgbm, iterations: 5}, warmup: {sampledRequests: 100, duration: 10s}}";

/// What a verdict may take to reach all servers.
const SOON: Duration = Duration::from_secs(30);

/// Servers of a service over one Redis.
struct Shop {
    redis: Redis,
    service: String,
    servers: Vec<Service>,
}

impl Shop {
    /// Waits until all servers tell so of the model.
    fn until_all(&self, what: &str, so: impl Fn(&Value) -> bool) {
        let began = Instant::now();
        self.servers.iter().for_each(|server| server.until(what, || so(&server.status()["models"]["learned"])));
        assert!(began.elapsed() < SOON, "{what} after {:?}", began.elapsed());
    }

    fn until_served(&self, version: &str) {
        self.until_all("served", |told| told["version"] == version && told["refused"].is_null());
    }

    fn current(&self) -> String {
        String::from_utf8(self.redis.of_models(&self.service, "current")["learned"].clone()).expect("an id")
    }

    fn publish(&self, version: &Version) {
        let id = version.id().to_string();
        let bytes = version.encode().expect("it is small");
        self.redis.set_of_models(&self.service, "versions:learned", &id, &bytes);
        self.redis.set_of_models(&self.service, "current", "learned", id.as_bytes());
    }

    /// What the servers know of a version's trial: how many tried it, and what was found.
    fn trial(&self, version: &str) -> BTreeMap<String, String> {
        let start = format!("rw:{}:models:", self.service);
        let names = self.redis.names(&self.service);
        let named = names.iter().filter_map(|name| name.split_once(' ')?.1.strip_prefix(&start));
        let found: BTreeSet<_> = named.filter(|name| name.starts_with(&format!("trial:learned:{version}:"))).collect();
        let [name] = found.iter().copied().collect::<Vec<_>>()[..] else {
            panic!("one trial, not {found:?} of {names:?}")
        };
        let fields = self.redis.of_models(&self.service, name).into_iter();
        fields.map(|(field, text)| (field, String::from_utf8(text).expect("text"))).collect()
    }
}

/// The same version a second later, whose trees add up to no number.
fn broken(good: &Version) -> Version {
    let text = String::from_utf8(good.body().to_vec()).expect("LightGBM writes text");
    let overflows = |line: &str| match line.split_once('=') {
        Some(("leaf_value", leaves)) => {
            format!("leaf_value={}", leaves.split(' ').map(|_| "1.7e308").collect::<Vec<_>>().join(" "))
        }
        Some(("tree_sizes", sizes)) => format!("tree_sizes={sizes} {sizes}"),
        _ => line.to_owned(),
    };
    let text = text.lines().map(overflows).collect::<Vec<_>>().join("\n") + "\n";
    // twice all trees, as one alone overflows nothing
    let (header, trees) = text.split_once("Tree=").expect("it has a tree");
    let (trees, end) = trees.split_once("end of trees").expect("they end");
    let text = format!("{header}Tree={trees}Tree={trees}end of trees{end}");
    let created_at = Timestamp::from_millis(good.metadata().created_at.millis() + 1000);
    let metadata = Metadata { created_at, ..good.metadata().clone() };
    Version::new(metadata, good.warmup().to_vec(), text.into_bytes()).expect("it is small")
}

#[test]
fn one_of_three_servers_tries_a_new_version_and_the_others_take_it_up_or_leave_it_as_that_one_found() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    let (service, config) = (redis.own_service("tried"), config(&redis).replace("same: {type: noop}", WARMED));
    import(&config, &service, &day(&mut Random(3), 300), folder);
    let train = || {
        let mut command = command(&["train", "--config", "config.yml"]);
        Ended::of(command.current_dir(folder).env("RANKWRIGHT_SERVICE", &service)).ok();
    };
    train();
    let server = |number: usize| launch("rank-server", &config, &service, &folder.join(format!("server {number}")));
    let mut shop = Shop { servers: (0..3).map(server).collect(), service: service.clone(), redis };
    let first = shop.current();
    shop.until_served(&first);

    train();
    let good = shop.current();
    assert_ne!(good, first);
    shop.until_served(&good);
    let trial = shop.trial(&good);
    assert_eq!((trial["tries"].as_str(), trial["verdict"].as_str()), ("1", "fit"), "{trial:?}");

    let stored = Version::decode(&shop.redis.of_models(&service, "versions:learned")[&good]).expect("a version");
    assert!(!stored.warmup().is_empty());
    let broken = broken(&stored);
    shop.publish(&broken);
    let id = broken.id().to_string();
    shop.until_all("left", |told| told["version"] == good.as_str() && told["refused"]["version"] == id.as_str());
    let trial = shop.trial(&id);
    assert_eq!((trial["tries"].as_str(), trial["verdict"].as_str()), ("1", "unfit"), "{trial:?}");
    assert!(trial["reason"].ends_with("scores that are no numbers"), "{trial:?}");
    shop.servers.push(server(3));
    shop.until_all("left by one that begins as well", |told| told["version"] == good.as_str());
    for server in &shop.servers {
        let answer = server.rank("learned", &ranking("q", 700, "u1", &["i1", "i2", "i3"]));
        assert!(answer.get("fallback").is_none(), "{answer}");
    }
}
