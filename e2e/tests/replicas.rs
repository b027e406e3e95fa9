//! Rank servers and ingest workers over one Redis: whatever is killed, nothing is lost and nothing counts twice.

use rankwright_e2e::asking::Asking;
use rankwright_e2e::events::{click, item, ranking};
use rankwright_e2e::many::{FEATURES, ITEMS, click_throughs, config, day, import, launch};
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Service, http, wait};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const REPLICAS: usize = 3;
/// No ranking takes longer, however busy the machine is: each of its two reads of the state waits thirty seconds at most.
const LIMIT: Duration = Duration::from_secs(70);
const BATCH: usize = 20;
/// Who asks without a pause leaves the servers no processor: one that could run was seen to wait for half a minute.
const BETWEEN_REQUESTS: Duration = Duration::from_millis(5);

/// Values of features, and click-throughs.
type Outcome = (BTreeMap<Vec<u8>, Vec<u8>>, BTreeMap<String, Value>);

/// Sends a batch until a replica says that it was taken; now and then once more, to another one.
fn send(replicas: &Mutex<Vec<SocketAddr>>, batch: &[Value], random: &mut Random) {
    let body = json!(batch).to_string();
    let mut left = 1 + usize::from(random.below(3) == 0);
    let last = RefCell::new(String::new());
    wait::until(
        "taken",
        || last.borrow().clone(),
        || {
            let address = {
                let replicas = replicas.lock().expect("nobody panics with it");
                replicas[random.below(replicas.len())]
            };
            match http::post(address, "/feedback", body.as_bytes()) {
                Ok(answer) if answer.status == 200 => left -= 1,
                Ok(answer) => {
                    assert_eq!(answer.status, 503, "{}", answer.text);
                    last.replace(answer.text);
                }
                Err(error) => drop(last.replace(error.to_string())), // it is gone; another one comes
            }
            left == 0
        },
    );
}

/// Ranks until told to stop; every answer that comes must be one.
fn rank_all_the_while(replicas: Arc<Mutex<Vec<SocketAddr>>>, over: Arc<AtomicBool>) -> std::thread::JoinHandle<u32> {
    std::thread::spawn(move || {
        let request = ranking("q", 500, "u1", &["i1", "i2", "i3"]).to_string();
        let mut answers = 0;
        for turn in 0.. {
            if over.load(Ordering::Relaxed) {
                break;
            }
            let address = {
                let replicas = replicas.lock().expect("nobody panics with it");
                replicas[turn % replicas.len()]
            };
            let began = Instant::now();
            if let Ok(answer) = http::post(address, "/rank/same", request.as_bytes()) {
                assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
                assert_eq!(answer.status, 200, "{}", answer.text);
                assert_eq!(answer.json()["items"].as_array().map(Vec::len), Some(3));
                answers += 1;
            }
            std::thread::sleep(BETWEEN_REQUESTS);
        }
        answers
    })
}

/// What one process makes of the events.
fn undisturbed(redis: &Redis, events: &[Value], folder: &Path) -> Outcome {
    let service = redis.own_service("alone");
    let path = folder.join("alone");
    let alone = launch("serve", &config(redis), &service, &path);
    for batch in events.chunks(BATCH) {
        alone.feedback(batch);
    }
    alone.until("all closed", || redis.is_settled(&service));
    (redis.values(&service), click_throughs(&[path]))
}

#[test]
fn replicas_and_workers_that_are_killed_lose_and_double_nothing() {
    let Some(redis) = Redis::for_tests() else { return };
    killed_over(&redis, |events, folder| undisturbed(&redis, events, folder));
}

#[test]
fn replicas_and_workers_over_a_cluster_lose_and_double_nothing_either() {
    let Some(redis) = Redis::in_a_cluster() else { return };
    let Some(one) = Redis::for_tests() else { return };
    // the values are those of a single server
    killed_over(&redis, |events, folder| undisturbed(&one, events, folder));
}

/// Kills processes of a service all the while, and compares what comes of it.
fn killed_over(redis: &Redis, undisturbed: impl FnOnce(&[Value], &Path) -> Outcome) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut random = Random::seeded();
    let events = day(&mut random, wait::scaled(150, 3000));
    let (expected_values, expected_records) = undisturbed(&events, folder.path());
    assert!(expected_records.len() > 50, "{}", expected_records.len());

    let (config, service) = (config(redis), redis.own_service("many"));
    let place = |name: &str| folder.path().join(name);
    let mut replicas: Vec<Service> = (0..REPLICAS)
        .map(|number| launch("rank-server", &config, &service, &place(&format!("replica {number}"))))
        .collect();
    let addresses = |replicas: &[Service]| replicas.iter().map(Service::address).collect::<Vec<_>>();
    let live = Arc::new(Mutex::new(addresses(&replicas)));
    let mut workers: Vec<Service> =
        (0..2).map(|number| launch("ingest-worker", &config, &service, &place(&format!("worker {number}")))).collect();
    // by values of the state; the others keep the order as it comes, and read nothing
    let asking = Asking::of(&config, &service, &place("alone/parts"), folder.path(), false);
    let over = Arc::new(AtomicBool::new(false));
    let ranking = rank_all_the_while(live.clone(), over.clone());
    let mut folders: BTreeSet<_> = (0..2).map(|number| place(&format!("worker {number}"))).collect();

    let (catalogue, rest) = events.split_at(ITEMS);
    send(&live, catalogue, &mut random);
    let batches: Vec<&[Value]> = rest.chunks(BATCH).collect();
    for (number, batch) in batches.iter().enumerate() {
        let doomed = (number % 5 == 2).then(|| random.below(REPLICAS));
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| send(&live, batch, &mut random));
            if let Some(doomed) = doomed {
                replicas.remove(doomed).kill();
                replicas.push(launch("rank-server", &config, &service, &place(&format!("replica of {number}"))));
                *live.lock().expect("nobody panics with it") = addresses(&replicas);
            }
            sending.join().expect("a batch is taken in the end");
        });
        if number == batches.len() / 2 {
            workers.remove(0).kill();
            let another = place("another worker");
            workers.push(launch("ingest-worker", &config, &service, &another));
            folders.insert(another);
        }
    }
    // every replica comes to the end of the day
    for replica in &replicas {
        replica.feedback(&[events.last().expect("there are events").clone()]);
    }
    workers[0].until("all closed", || redis.is_settled(&service));
    over.store(true, Ordering::Relaxed);
    assert!(ranking.join().expect("every answer was one") > 0);
    asking.end();

    let folders: Vec<_> = folders.into_iter().collect();
    let records = click_throughs(&folders);
    assert_eq!(records.keys().collect::<Vec<_>>(), expected_records.keys().collect::<Vec<_>>(), "another outcome");
    assert_eq!(records, expected_records, "another outcome");
    assert_eq!(redis.values(&service), expected_values, "another outcome");
}

/// How often each command was sent to a server.
fn calls(redis: &Redis) -> BTreeMap<String, u64> {
    let client = redis::Client::open(format!("redis://{}:{}", redis.host(), redis.port()));
    let mut connection = client.and_then(|client| client.get_connection()).expect("the server answers");
    let told: String = redis::cmd("INFO").arg("commandstats").query(&mut connection).expect("answers");
    let call = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
    };
    told.lines().filter_map(call).collect()
}

/// Which entities an item's values come from is in values of the item itself: one after the other.
#[test]
fn a_rank_request_takes_two_round_trips_to_redis_where_nothing_is_kept_and_none_where_all_is() {
    let Some(redis) = Redis::of_its_own() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let model = "m: {type: lambdamart, backend: {type: xgboost}, weights: {click: 1}, features: [clicks, recent, ctr, brand_ctr, words, weighed]}";
    let config = config(&redis).replace("same: {type: noop}", model);
    import(&config, "shop", &day(&mut Random(1), 100), &folder.path().join("import"));
    let items: Vec<String> = (0..ITEMS).map(|number| format!("i{number}")).collect();
    let request = ranking("q", 5000, "u1", &items.iter().map(String::as_str).collect::<Vec<_>>());
    for (cache, trips) in [("maxSize: 0", 2), ("maxSize: 100000", 0)] {
        let config = config.replace("type: redis,", &format!("type: redis, cache: {{{cache}}},"));
        let server = launch("rank-server", &config, "shop", &folder.path().join(cache));
        let values = server.rank("m", &request); // what is kept is known from here on
        let (before, requests) = (calls(&redis), 200);
        for _ in 0..requests {
            assert_eq!(server.rank("m", &request)["items"], values["items"]);
        }
        let after = calls(&redis);
        let sent = |name: &str| after[name] - before.get(name).copied().unwrap_or_default();
        assert_eq!(sent("mget"), trips * requests, "{cache}");
        // beside what the server asks once a second
        let others = after.keys().filter(|name| name.as_str() != "mget" && sent(name) >= requests / 2);
        assert_eq!(others.collect::<Vec<_>>(), [""; 0], "{cache}");
    }
}

#[test]
fn without_its_redis_a_rank_server_keeps_the_order_and_recovers_by_itself() {
    let Some(redis) = Redis::of_its_own() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = config(&redis).replace(
        "same: {type: noop}",
        "m: {type: lambdamart, backend: {type: lightgbm}, features: [clicks], weights: {click: 1}}",
    );
    let server = launch("rank-server", &config, "shop", folder.path());
    server.feedback(&[item("i1", 0, &[]), click("c", 1, "none", "u1", "i1")]);
    let request = ranking("q", 500, "u1", &["i1", "i2"]);
    let redis = redis.killed();
    for _ in 0..20 {
        let answer = server.rank("m", &request);
        assert_eq!(answer["items"][0]["item"], "i1");
        assert_ne!(answer["fallback"], Value::Null);
    }
    assert_eq!(server.post("/feedback", &item("i2", 0, &[])).status, 503);
    let _redis = redis.started();
    server.until("taking events again", || server.post("/feedback", &item("i2", 0, &[])).status == 200);
}

#[test]
fn a_secured_redis_is_reached_with_its_ca_and_password_and_refused_clearly_otherwise() {
    let Some(redis) = Redis::secured() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let ca = redis.ca().display().to_string();
    let good = |host: &str, tls: &str, auth: &str| {
        let timeout = "{connect: 30s, command: 30s}"; // the machine has other things to do
        let port = redis.port();
        format!(
            "state: {{type: redis, host: {host}, port: {port}, tls: {tls}, auth: {auth}, timeout: {timeout}}}\n{FEATURES}"
        )
    };
    let (tls, auth) = (format!("{{enabled: true, ca: '{ca}'}}"), "{user: app, password: secret}");
    let service = redis.own_service("secured");
    let server = launch("rank-server", &good("localhost", &tls, auth), &service, folder.path());
    server.feedback(&[item("i1", 0, &[])]);
    assert!(!server.log().contains("secret"), "the password is in the log");
    let none = folder.path().join("none.jsonl");
    std::fs::write(&none, "").expect("can be written");
    let refused = |config: String, code: i32, words: &str| {
        let path = folder.path().join("refused.yml");
        std::fs::write(&path, config).expect("can be written");
        let ended =
            rankwright_e2e::run(&["import", "--config", &path.to_string_lossy(), "--data", &none.to_string_lossy()]);
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        assert!(ended.stderr.contains(words), "{words} is not in {}", ended.stderr);
        assert!(!ended.stderr.contains("wrong-secret"), "the password is in {}", ended.stderr);
    };
    refused(good("localhost", &tls, "{user: app, password: wrong-secret}"), 1, "user or password refused");
    refused(good("localhost", "{enabled: true}", auth), 1, "check tls.ca");
    refused(good("localhost", "{enabled: false}", auth), 75, "its port is one for TLS");
}
