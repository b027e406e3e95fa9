//! Ingest workers on a topic of Kafka: whatever is killed, nothing is lost and nothing counts twice.

use rankwright_e2e::asking::Asking;
use rankwright_e2e::kafka::{broker, make_topic, produce, spread};
use rankwright_e2e::many::{ITEMS, click_throughs, config, day_of_changes, import, launch};
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Service, wait};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PARTITIONS: usize = 4;
const KILLS: usize = 6;

fn worker(config: &str, service: &str, folder: &Path, number: usize, folders: &mut Vec<PathBuf>) -> Service {
    let folder = folder.join(format!("worker {number}"));
    folders.push(folder.clone());
    launch("ingest-worker", config, service, &folder)
}

/// A topic with these events, which a service follows; its configuration, and the messages of each partition.
fn topic(
    (redis, broker): (&Redis, &str),
    name: &str,
    folder: &Path,
    events: &[Value],
    random: &mut Random,
) -> (String, Vec<Vec<String>>) {
    let plain = config(redis);
    let (catalogue, rest) = events.split_at(ITEMS);
    import(&plain, name, catalogue, &folder.join("catalogue"));
    make_topic(broker, name, PARTITIONS);
    let mut partitions = spread(rest, PARTITIONS, random);
    partitions[0].insert(7, "no event".to_owned());
    produce(broker, name, &partitions);
    let config = format!(
        "{plain}\nsource: {{type: kafka, brokers: ['{broker}'], topic: {name}, groupId: {name}, offset: earliest, \
         options: {{session.timeout.ms: '2000', heartbeat.interval.ms: '500'}}}}\n"
    );
    (config, partitions)
}

/// Whether all messages were read, and all that follows from them is done.
fn is_over(redis: &Redis, service: &str, partitions: &[Vec<String>]) -> bool {
    let at_end = |number: usize| {
        let position = redis.position(service, &format!("kafka:{service}/{number}"));
        position.contains(&format!("\"line\":{}", partitions[number].len()))
    };
    (0..partitions.len()).all(at_end) && redis.is_settled(service)
}

#[test]
fn workers_on_a_topic_that_are_killed_lose_and_double_nothing() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut random = Random::seeded();
    let events = day_of_changes(&mut random, wait::scaled(4000, 40_000));
    let (alone, many) = (redis.own_service("alone"), redis.own_service("stream"));
    let plain = config(&redis);
    import(&plain, &alone, &events, &folder.path().join("alone"));
    let expected = click_throughs(&[folder.path().join("alone")]);
    assert!(expected.len() > 2000, "{}", expected.len());

    let (config, partitions) = topic((&redis, &broker), &many, folder.path(), &events, &mut random);
    let asking = Asking::of(&plain, &many, &folder.path().join("alone/parts"), folder.path(), false);
    let mut folders = Vec::new();
    let mut workers: Vec<Service> =
        (0..2).map(|number| worker(&config, &many, folder.path(), number, &mut folders)).collect();
    for number in 0..wait::scaled(KILLS, 50) {
        // when, makes no difference to what has to come out
        std::thread::sleep(Duration::from_millis(random.below(700) as u64));
        workers.remove(random.below(workers.len())).kill();
        workers.push(worker(&config, &many, folder.path(), 2 + number, &mut folders));
    }
    workers[0].until("all read and closed", || is_over(&redis, &many, &partitions));
    asking.end();
    let records = click_throughs(&folders);
    assert_eq!(records.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (id, record) in &expected {
        assert_eq!(records.get(id), Some(record));
    }
    assert!(redis.values(&many) == redis.values(&alone), "another state, see redis-cli for {many} and {alone}");
    let log: String = workers.iter().map(Service::log).collect();
    assert!(!log.contains("panicked"), "{log}");
    for worker in &workers {
        worker.terminate();
    }
    let ended: Vec<_> = workers.into_iter().map(Service::wait).collect();
    assert_eq!(ended, [Some(0); 2], "a worker that is told to ends well");
}
