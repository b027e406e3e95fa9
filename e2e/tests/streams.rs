//! Ingest workers on topics of Pulsar and streams of Kinesis: whatever is killed, nothing is lost and nothing counts twice.
#![allow(clippy::large_futures, reason = "those of the client that writes to topics are")]

use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::config::timeout::TimeoutConfig;
use aws_sdk_kinesis::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::{PutRecordsRequestEntry, Shard};
use pulsar::{Pulsar, TokioExecutor};
use rankwright_e2e::asking::Asking;
use rankwright_e2e::events::{click, ranking};
use rankwright_e2e::many::{ITEMS, click_throughs, config, day, halves, import, launch};
use rankwright_e2e::proxy::{Mode, Proxy};
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, Launch, Service, program, wait};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const PARTITIONS: usize = 3;
const RANKINGS: i64 = 1000;

/// The value of a variable that names a server; `None`, after a line that says so, without one.
fn server(variable: &str) -> Option<String> {
    let address = std::env::var(variable).ok();
    if address.is_none() {
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{variable} is not set");
        println!("SKIPPED: {variable} names no server");
    }
    address
}

/// Two workers read what `produce` sends, and are killed now and then; what comes out is what an import gives.
///
/// Where there is no `order`, an interaction may come when its ranking has closed: it counts, and has a record of its own
/// in place of one in the click-through. So what comes of closing is not compared, but that each interaction is there.
fn as_if_nothing_had_happened(
    source: impl Fn(&str) -> String,
    produce: impl Fn(&str, &[Value]),
    kills: usize,
    order: bool,
    network: Option<&Proxy>,
) {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut random = Random::seeded();
    let events = day(&mut random, wait::scaled(RANKINGS, 10 * RANKINGS));
    let (alone, many) = (redis.own_service("alone"), redis.own_service("streams"));
    let plain = config(&redis);
    let of_closing = |line: &&str| line.contains("type: rate");
    let plain = plain.lines().filter(|line| order || !of_closing(line)).collect::<Vec<_>>().join("\n");
    import(&plain, &alone, &events, &folder.path().join("alone"));
    let expected = click_throughs(&[folder.path().join("alone")]);
    assert!(expected.len() > 500, "{}", expected.len());

    let (catalogue, rest) = events.split_at(ITEMS);
    import(&plain, &many, catalogue, &folder.path().join("catalogue"));
    produce(&many, rest);
    let config = format!("{plain}\nsource: {{{}, offset: earliest}}\n", source(&many));
    let asking = Asking::of(&plain, &many, &folder.path().join("alone/parts"), folder.path(), false);
    let environment =
        [("RANKWRIGHT_SERVICE", &*many), ("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")];
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut worker = |number: usize| {
        let folder = folder.path().join(format!("worker {number}"));
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        folders.push(folder.clone());
        Launch { subcommand: "ingest-worker", config: &config, data: None, folder: &folder, environment: &environment }
            .start()
    };
    let mut workers: Vec<Service> = (0..2).map(&mut worker).collect();
    for number in 0..wait::scaled(kills, 10 * kills) {
        // when, makes no difference to what has to come out
        std::thread::sleep(Duration::from_millis(random.below(1500) as u64));
        if let Some(network) = network {
            network.set(Mode::random(&mut random));
            std::thread::sleep(Duration::from_millis(random.below(1500) as u64));
            network.set(Mode::Pass);
        }
        workers.remove(random.below(workers.len())).kill();
        workers.push(worker(2 + number));
    }
    let all_there = |records: &Records| match order {
        true => records.len() >= expected.len(),
        false => interactions(records).len() >= interactions(&expected).len(),
    };
    let done = || all_there(&click_throughs(&folders)) && redis.is_settled(&many);
    workers[0].until("all read and closed", done);
    asking.end();
    let records = click_throughs(&folders);
    assert!(!order || records == expected, "other click-throughs than those of an import");
    assert_eq!(interactions(&records), interactions(&expected), "other interactions");
    assert!(redis.values(&many) == redis.values(&alone), "another state, see redis-cli for {many} and {alone}");
    let log: String = workers.iter().map(Service::log).collect();
    assert!(!log.contains("panicked"), "{log}");
    for worker in &workers {
        worker.terminate();
    }
    let ended: Vec<_> = workers.into_iter().map(Service::wait).collect();
    assert_eq!(ended, [Some(0); 2], "a worker that is told to ends well");
}

/// `import` reads what `produce` sends up to its end, with what comes out as of a file, and nothing of it a second time.
fn imported_as_from_a_file(source: impl Fn(&str) -> String, produce: impl Fn(&str, &[Value])) {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut random = Random(11);
    let events = day(&mut random, 400);
    let (alone, streamed) = (redis.own_service("alone"), redis.own_service("imported"));
    let (plain, place) = (config(&redis), |name: &str| folder.path().join(name));
    import(&plain, &alone, &events, &place("alone"));
    produce(&streamed, &events);
    let config = format!("{plain}\nsource: {{{}, offset: earliest}}\n", source(&streamed));
    let home = place("streamed");
    std::fs::create_dir_all(&home).expect("the folder can be made");
    std::fs::write(home.join("config.yml"), config).expect("can be written");
    let read = || {
        let mut import = program::command(&["import", "--config", "config.yml"]);
        import.current_dir(&home).env("RANKWRIGHT_SERVICE", &streamed);
        Ended::of(import.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test")).ok()
    };
    let first = read();
    assert!(first.stderr.contains(&format!("events={}", events.len())), "{}", first.stderr);
    assert!(redis.values(&streamed) == redis.values(&alone), "another state, see redis-cli for {streamed} and {alone}");
    assert_eq!(click_throughs(std::slice::from_ref(&home)), click_throughs(&[place("alone")]));
    let second = read();
    assert!(second.stderr.contains("events=0"), "{}", second.stderr);
    assert!(redis.values(&streamed) == redis.values(&alone), "another state, see redis-cli for {streamed} and {alone}");
}

/// Click-throughs by kind and id.
type Records = BTreeMap<String, Value>;

/// Interactions in all records, sorted.
fn interactions(records: &Records) -> Vec<&str> {
    let lists = records.values().filter_map(|record| record["interactions"].as_array());
    let mut ids: Vec<&str> = lists.flatten().filter_map(|interaction| interaction["id"].as_str()).collect();
    ids.sort_unstable();
    ids
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("starts")
}

/// Makes a topic with partitions.
fn make_topic(admin: &str, topic: &str) {
    let host = admin.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("connects");
    stream.set_read_timeout(Some(wait::PATIENCE)).expect("can be set");
    let path = format!("/admin/v2/persistent/public/default/{topic}/partitions");
    let head = "Connection: close\r\nContent-Type: application/json\r\nContent-Length: 1";
    write!(stream, "PUT {path} HTTP/1.1\r\nHost: {host}\r\n{head}\r\n\r\n{PARTITIONS}").expect("asks");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answers");
    assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
}

/// Sends events to a topic, each to any partition.
async fn send(service: &str, topic: &str, events: &[Value]) {
    let client = Pulsar::builder(service, TokioExecutor).build().await.expect("connects");
    let mut random = Random(events.len() as u64);
    let mut partitions = vec![Vec::new(); PARTITIONS];
    events.iter().for_each(|event| partitions[random.below(PARTITIONS)].push(event.to_string()));
    partitions[0].insert(7, "no event".to_owned());
    for (number, messages) in partitions.iter().enumerate() {
        let name = format!("persistent://public/default/{topic}-partition-{number}");
        let options = pulsar::ProducerOptions { batch_size: Some(20), ..pulsar::ProducerOptions::default() };
        let producer = client.producer().with_topic(name).with_options(options).build().await;
        let mut producer = producer.expect("makes a producer");
        let mut sent = Vec::new();
        for message in messages {
            sent.push(producer.send_non_blocking(message.as_str()).await.expect("sends"));
        }
        producer.send_batch().await.expect("sends");
        for sent in sent {
            sent.await.expect("is stored");
        }
    }
}

/// The part of a configuration that names a topic.
type Source = Box<dyn Fn(&str) -> String>;
/// How a topic is filled.
type Produce = Box<dyn Fn(&str, &[Value])>;

/// Topics of Pulsar with a subscription of this kind.
fn pulsar_of(kind: &str) -> Option<(Source, Produce)> {
    let addresses = server("RANKWRIGHT_TEST_PULSAR")?;
    let (service, admin) = addresses.split_once(',').expect("service URL and admin URL");
    let (service, admin, kind) = (service.to_owned(), admin.to_owned(), kind.to_owned());
    let named = format!("type: pulsar, serviceUrl: '{service}', adminUrl: '{admin}', subscriptionType: {kind}");
    let source = move |topic: &str| format!("{named}, topic: {topic}, subscriptionName: workers");
    let produce = move |topic: &str, events: &[Value]| {
        make_topic(&admin, topic);
        runtime().block_on(send(&service, topic, events));
    };
    Some((Box::new(source), Box::new(produce)))
}

/// Workers on a topic of Pulsar with a subscription of this kind.
fn on_pulsar(kind: &str) {
    let Some((source, produce)) = pulsar_of(kind) else { return };
    as_if_nothing_had_happened(source, produce, 4, kind != "shared", None);
}

#[test]
fn an_import_reads_a_topic_of_pulsar_up_to_its_end() {
    let Some((source, produce)) = pulsar_of("failover") else { return };
    imported_as_from_a_file(source, produce);
}

/// Positions tell what was read by an import, acknowledgements what was by workers.
#[test]
fn what_an_import_has_read_is_not_dealt_out_once_more_nor_the_reverse() {
    let Some(redis) = Redis::for_tests() else { return };
    let Some((source, produce)) = pulsar_of("shared") else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let place = |name: &str| folder.path().join(name);
    let (first, second) = halves(&mut Random(12));
    let (alone, dealt) = (redis.own_service("alone"), redis.own_service("dealt"));
    // what comes in no order may come when its ranking has closed
    let plain = config(&redis);
    let plain = plain.lines().filter(|line| !line.contains("type: rate")).collect::<Vec<_>>().join("\n");
    import(&plain, &alone, &first, &place("alone"));
    let half = redis.values(&alone);
    import(&plain, &alone, &second, &place("alone later"));
    produce(&dealt, &first);
    let config = format!("{plain}\nsource: {{{}, offset: earliest}}\n", source(&dealt));
    let home = place("dealt");
    std::fs::create_dir_all(&home).expect("the folder can be made");
    std::fs::write(home.join("config.yml"), &config).expect("can be written");
    let imported = |more: &[&str]| {
        let mut import = program::command(&[&["import", "--config", "config.yml"], more].concat());
        Ended::of(import.current_dir(&home).env("RANKWRIGHT_SERVICE", &dealt))
    };
    let same = |values: &BTreeMap<Vec<u8>, Vec<u8>>, what: &str| {
        assert!(redis.values(&dealt) == *values, "{what}: another state, see redis-cli for {dealt} and {alone}");
    };
    imported(&[]).ok();
    same(&half, "an import");
    let work = || launch("ingest-worker", &config, &dealt, &place("worker"));
    let is_through = |worker: &Service| {
        let status = worker.status();
        let partitions = status["stream"]["partitions"].as_object().cloned().unwrap_or_default();
        partitions.len() == PARTITIONS && partitions.values().all(|of| of["lagEvents"] == 0) && redis.is_settled(&dealt)
    };
    let worker = work();
    worker.until("nothing left of what the import has read", || is_through(&worker));
    same(&half, "a worker behind an import");
    let refused = || {
        let again = imported(&[]).refused();
        assert!(again.stderr.contains("was read with source.subscriptionType: shared"), "{}", again.stderr);
    };
    refused();
    let addresses = server("RANKWRIGHT_TEST_PULSAR").expect("there is one");
    let (service, _) = addresses.split_once(',').expect("service URL and admin URL");
    runtime().block_on(send(service, &dealt, &second));
    let whole = redis.values(&alone);
    worker.until("all read and closed", || is_through(&worker) && redis.values(&dealt) == whole);
    worker.terminate();
    assert_eq!(worker.wait(), Some(0));

    refused();
    same(&whole, "an import that was refused");
    imported(&["--rebuild"]).ok();
    same(&whole, "a state built anew");
    let worker = work();
    worker.until("nothing left", || is_through(&worker));
    same(&whole, "a worker behind a state built anew");
}

/// How many lists later a click on a list comes.
const AFTER: usize = 5;

/// Lists that are shown at this moment, and clicks on them, which go to another partition.
struct Visits {
    to: Vec<pulsar::Producer<TokioExecutor>>,
    shown: usize,
}

impl Visits {
    async fn of(service: &str, topic: &str) -> Self {
        let client = Pulsar::builder(service, TokioExecutor).build().await.expect("connects");
        let mut to = Vec::new();
        for number in 0..2 {
            let name = format!("persistent://public/default/{topic}-partition-{number}");
            to.push(client.producer().with_topic(name).build().await.expect("makes a producer"));
        }
        Self { to, shown: 0 }
    }

    async fn send(&mut self, partition: usize, mut event: Value) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis();
        event["timestamp"] = json!(now.to_string());
        let sent = self.to[partition % 2].send_non_blocking(event.to_string()).await.expect("sends");
        sent.await.expect("is stored");
    }

    async fn click(&mut self, number: usize) {
        self.send(number + 1, click(&format!("c{number}"), 0, &format!("r{number}"), "u1", "i1")).await;
    }

    async fn go_on_for(&mut self, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            let number = self.shown;
            self.send(number, ranking(&format!("r{number}"), 0, "u1", &["i1", "i2"])).await;
            if let Some(earlier) = number.checked_sub(AFTER) {
                self.click(earlier).await;
            }
            self.shown += 1;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The broker holds most of it then, as readers ask for few messages at a time.
#[test]
fn clicks_that_are_not_dealt_out_while_redis_is_away_find_their_rankings() {
    // longer than a session, and than an interaction waits for its ranking
    let away = wait::scaled(Duration::from_secs(25), Duration::from_mins(2));
    let (Some(redis), Some(addresses)) = (Redis::of_its_own(), server("RANKWRIGHT_TEST_PULSAR")) else { return };
    let (service, admin) = addresses.split_once(',').expect("service URL and admin URL");
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let topic = redis.own_service("dealt-live");
    make_topic(admin, &topic);
    let at = format!("serviceUrl: '{service}', adminUrl: '{admin}', topic: {topic}, subscriptionName: workers");
    let few = "options: {receiverQueueSize: '10'}";
    let source = format!("source: {{type: pulsar, {at}, subscriptionType: shared, offset: earliest, {few}}}");
    let config = format!("{}\n{source}\n", config(&redis));
    let places = ["one", "other"].map(|name| folder.path().join(name));
    let workers = places.each_ref().map(|place| launch("ingest-worker", &config, &topic, place));
    let runtime = runtime();
    let _entered = runtime.enter(); // producers end in it
    let mut visits = runtime.block_on(Visits::of(service, &topic));
    runtime.block_on(visits.go_on_for(Duration::from_secs(3)));
    let killed = redis.killed();
    runtime.block_on(visits.go_on_for(away));
    let redis = killed.started();
    runtime.block_on(async {
        visits.go_on_for(Duration::from_secs(3)).await;
        for number in visits.shown - AFTER..visits.shown {
            visits.click(number).await;
        }
    });
    let records = || click_throughs(&places);
    workers[0].until("all is closed", || records().len() >= visits.shown && redis.is_settled(&topic));
    let records = records();
    let lone: Vec<_> = records.keys().filter(|key| !key.starts_with("\"ranking\"")).collect();
    assert!(lone.is_empty(), "{lone:?}");
    assert_eq!(records.len(), visits.shown, "{:?}", records.keys());
}

#[test]
fn workers_on_an_exclusive_subscription_that_are_killed_lose_and_double_nothing() {
    on_pulsar("exclusive");
}

#[test]
fn workers_on_a_failover_subscription_that_are_killed_lose_and_double_nothing() {
    on_pulsar("failover");
}

#[test]
fn workers_on_a_shared_subscription_that_are_killed_lose_and_double_nothing() {
    on_pulsar("shared");
}

async fn shards(client: &Client, stream: &str) -> Vec<Shard> {
    for _ in 0..10_000 {
        let found = client.describe_stream_summary().stream_name(stream).send().await.expect("describes");
        let status = found.stream_description_summary.map(|found| found.stream_status.as_str().to_owned());
        if status.as_deref() == Some("ACTIVE") {
            let listed = client.list_shards().stream_name(stream).send().await.expect("lists shards");
            return listed.shards.unwrap_or_default();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the stream {stream} does not become active");
}

/// Puts events into a stream, each into any of these shards.
async fn put(client: &Client, stream: &str, shards: &[Shard], events: &[Value]) {
    let mut random = Random(events.len() as u64);
    for events in events.chunks(400) {
        let entries = events.iter().map(|event| {
            let range = shards[random.below(shards.len())].hash_key_range.as_ref().expect("a range");
            let data = Blob::new(event.to_string());
            let entry = PutRecordsRequestEntry::builder().data(data).partition_key("key");
            entry.explicit_hash_key(&range.starting_hash_key).build().expect("an entry")
        });
        let put = client.put_records().stream_name(stream).set_records(Some(entries.collect())).send().await;
        assert_eq!(put.expect("puts records").failed_record_count.unwrap_or(0), 0);
    }
}

/// Puts events into a stream of which one shard is split on the way.
async fn put_and_split(endpoint: &str, stream: &str, events: &[Value]) {
    let config = aws_sdk_kinesis::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .timeout_config(TimeoutConfig::builder().operation_timeout(wait::PATIENCE).build())
        .endpoint_url(endpoint);
    let client = Client::from_conf(config.build());
    client.create_stream().stream_name(stream).shard_count(2).send().await.expect("makes a stream");
    let before = shards(&client, stream).await;
    let (first, second) = events.split_at(events.len() / 2);
    put(&client, stream, &before, first).await;
    let middle = (u128::MAX / 4).to_string();
    let split = client.split_shard().stream_name(stream).shard_to_split(&before[0].shard_id);
    split.new_starting_hash_key(middle).send().await.expect("splits");
    let after = shards(&client, stream).await;
    put(&client, stream, &after[1..], second).await;
}

#[test]
fn an_import_reads_a_stream_that_was_split_up_to_its_end() {
    let Some(endpoint) = server("RANKWRIGHT_TEST_KINESIS") else { return };
    let source = |stream: &str| format!("type: kinesis, region: us-east-1, endpoint: '{endpoint}', topic: {stream}");
    let produce = |stream: &str, events: &[Value]| runtime().block_on(put_and_split(&endpoint, stream, events));
    imported_as_from_a_file(source, produce);
}

#[test]
fn workers_on_a_stream_that_is_split_lose_and_double_nothing_when_they_are_killed_and_cut_off() {
    let Some(endpoint) = server("RANKWRIGHT_TEST_KINESIS") else { return };
    let port = endpoint.rsplit(':').next().and_then(|port| port.trim_end_matches('/').parse().ok()).expect("a port");
    let network = Proxy::to(port);
    let theirs = format!("http://127.0.0.1:{}", network.port());
    let source = |stream: &str| format!("type: kinesis, region: us-east-1, endpoint: '{theirs}', topic: {stream}");
    let produce = |stream: &str, events: &[Value]| runtime().block_on(put_and_split(&endpoint, stream, events));
    as_if_nothing_had_happened(source, produce, 2, true, Some(&network));
    assert!(network.carried() > 0, "somebody knows another way");
}
