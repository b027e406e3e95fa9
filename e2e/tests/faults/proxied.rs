//! A bad network between the programs and Redis.

use crate::servers::in_bucket;
use crate::trial::Trial;
use rankwright_e2e::asking::Asking;
use rankwright_e2e::kafka::broker;
use rankwright_e2e::many::{config, day, features, launch};
use rankwright_e2e::outcome::Outcome;
use rankwright_e2e::proxy::{Mode, Proxy};
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::server::Server;
use rankwright_e2e::{Service, http, wait};
use serde_json::{Value, json};
use std::time::Duration;

const PARTITIONS: usize = 4;
const BATCH: usize = 20;

/// A service behind the proxy, with the time limits of every day. Rankings stay open while requests are repeated.
fn through(proxy: &Proxy) -> String {
    format!("state: {{type: redis, host: 127.0.0.1, port: {}}}\n{}", proxy.port(), features())
}

/// Something happens, for a while.
fn disturb(proxy: &Proxy, random: &mut Random) {
    proxy.set(Mode::random(random));
    std::thread::sleep(Duration::from_millis(100 + random.below(2500) as u64));
    proxy.set(Mode::Pass);
}

#[test]
fn workers_on_a_bad_network_lose_and_double_nothing() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    let (rankings, times) = wait::scaled((3_000, 5), (60_000, 60));
    let mut trial = Trial::new(&redis, "network", rankings, PARTITIONS);
    let proxy = Proxy::to(redis.port());
    let mut crew = trial.crew(&through(&proxy), &broker);
    trial.ranks(&mut crew, true);
    (0..2).for_each(|_| crew.join());
    for moment in trial.moments(times) {
        crew.until_read(&redis, moment);
        disturb(&proxy, &mut trial.random);
    }
    crew.until_done(&redis);
    trial.assert_came_to(&redis, &crew.dismissed());
}

#[test]
fn workers_whose_broker_and_bucket_are_on_a_bad_network_lose_and_double_nothing() {
    let (Some(redis), Some((kafka, before_kafka)), Some(s3)) =
        (Redis::for_tests(), Server::kafka_behind_a_proxy(), Server::s3("bucket"))
    else {
        return;
    };
    let (rankings, times) = wait::scaled((3_000, 5), (60_000, 60));
    let mut trial = Trial::new(&redis, "network-beyond", rankings, PARTITIONS);
    let before_s3 = Proxy::to(s3.port());
    let address = |proxy: &Proxy| format!("127.0.0.1:{}", proxy.port());
    let config = config(&redis).replace("type: file, path: ./parts", &in_bucket(&address(&before_s3)));
    let mut crew = trial.crew_behind(&config, &kafka.address(), &address(&before_kafka));
    trial.ranks(&mut crew, false);
    (0..2).for_each(|_| crew.join());
    for (number, moment) in trial.moments(times).into_iter().enumerate() {
        crew.until_read(&redis, moment);
        disturb(if number % 2 == 0 { &before_kafka } else { &before_s3 }, &mut trial.random);
    }
    crew.until_done(&redis);
    crew.dismissed();
    // more than to ask where the brokers are
    assert!(before_kafka.carried() > 2 && before_s3.carried() > 0, "somebody knows another way");
    trial.assert_came_to(&redis, &[s3.folder().join("versitygw/bucket")]);
}

/// Sends a batch until a server says that it was taken.
fn send(servers: &[Service], batch: &[Value], random: &mut Random) {
    let body = json!(batch).to_string();
    let logs = || servers.iter().map(Service::log).collect::<String>();
    wait::until("taken", logs, || {
        let server = random.one_of(servers);
        let answer = http::post(server.address(), "/feedback", body.as_bytes()).expect("it lives");
        assert!([200, 503].contains(&answer.status), "{}", answer.text);
        answer.status == 200
    });
}

#[test]
fn rank_servers_on_a_bad_network_lose_and_double_nothing() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut random = Random::seeded();
    let (rankings, times) = wait::scaled((300, 5), (5_000, 60));
    let events = day(&mut random, rankings);
    // none closes while a request is repeated
    let patient = |config: String| config.replace("maxSessionLength: 10s", "maxSessionLength: 15m");
    let expected = Outcome::undisturbed(&redis, &patient(config(&redis)), &events, folder.path());
    let (proxy, service) = (Proxy::to(redis.port()), redis.own_service("network"));
    let config = patient(through(&proxy));
    let start = |program: &str, name: &str| launch(program, &config, &service, &folder.path().join(name));
    let worker = start("ingest-worker", "worker");
    let servers = [start("rank-server", "one"), start("rank-server", "another")];
    let asking = Asking::of(&config, &service, &folder.path().join("alone/parts"), folder.path(), true);
    let batches: Vec<&[Value]> = events.chunks(BATCH).collect();
    let mut disturbing = random.clone();
    std::thread::scope(|scope| {
        let disturbing = scope.spawn(|| (0..times).for_each(|_| disturb(&proxy, &mut disturbing)));
        for batch in batches {
            send(&servers, batch, &mut random);
        }
        disturbing.join().expect("a proxy can be told");
    });
    asking.end();
    // every replica comes to the end of the day
    for server in &servers {
        send(std::slice::from_ref(server), &events[events.len() - 1..], &mut random);
    }
    wait::until("all closed", || worker.log(), || redis.is_settled(&service));
    Outcome::of(&redis, &service, &[folder.path().join("worker")]).assert_is(&expected);
}
