//! Events that go on while a store is away: what lies unread then is not taken for late when it is back.

use rankwright_e2e::crew::source;
use rankwright_e2e::events::{click, ranking};
use rankwright_e2e::kafka::{broker, make_topic, produce};
use rankwright_e2e::many::{click_throughs, config, launch};
use rankwright_e2e::redis::Redis;
use rankwright_e2e::wait;
use serde_json::{Value, json};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How many lists later a click on a list comes.
const AFTER: usize = 5;

/// Lists that are shown at this moment, and clicks on them, which go to the other partition.
struct Visits<'a> {
    broker: &'a str,
    topic: &'a str,
    shown: usize,
}

fn at_present(mut event: Value) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis();
    event["timestamp"] = json!(now.to_string());
    event.to_string()
}

impl Visits<'_> {
    fn go_on_for(&mut self, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            let number = self.shown;
            let mut partitions = vec![Vec::new(), Vec::new()];
            partitions[number % 2].push(at_present(ranking(&format!("r{number}"), 0, "u1", &["i1", "i2"])));
            if let Some(earlier) = number.checked_sub(AFTER) {
                partitions[(earlier + 1) % 2].push(Self::clicked(earlier));
            }
            produce(self.broker, self.topic, &partitions);
            self.shown += 1;
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn clicked(number: usize) -> String {
        at_present(click(&format!("c{number}"), 0, &format!("r{number}"), "u1", "i1"))
    }

    /// Clicks on the last ones.
    fn end(&self) {
        for number in self.shown - AFTER..self.shown {
            let mut partitions = vec![Vec::new(), Vec::new()];
            partitions[(number + 1) % 2].push(Self::clicked(number));
            produce(self.broker, self.topic, &partitions);
        }
    }
}

#[test]
fn clicks_that_lie_unread_while_redis_is_away_find_their_rankings() {
    // longer than a session, and than an interaction waits for its ranking
    let away = wait::scaled(Duration::from_secs(25), Duration::from_mins(2));
    let (Some(broker), Some(redis)) = (broker(), Redis::of_its_own()) else { return };
    let (folder, service) =
        (tempfile::tempdir().expect("there is room for temporary files"), redis.own_service("live"));
    make_topic(&broker, &service, 2);
    let config = config(&redis) + &source(&broker, &service);
    let worker = launch("ingest-worker", &config, &service, &folder.path().join("worker"));
    let mut visits = Visits { broker: &broker, topic: &service, shown: 0 };
    visits.go_on_for(Duration::from_secs(3));
    let killed = redis.killed();
    visits.go_on_for(away);
    let redis = killed.started();
    visits.go_on_for(Duration::from_secs(3));
    visits.end();
    worker.until("all is closed", || {
        let position = |number| redis.position(&service, &format!("kafka:{service}/{number}"));
        let line = |text: String| {
            let value: Value = serde_json::from_str(&text).unwrap_or_default();
            value["line"].as_u64().unwrap_or(0)
        };
        let read = line(position(0)) + line(position(1));
        read == 2 * visits.shown as u64 && redis.is_settled(&service)
    });
    let records = click_throughs(&[folder.path().join("worker")]);
    let lone: Vec<_> = records.keys().filter(|key| !key.starts_with("\"ranking\"")).collect();
    assert!(lone.is_empty(), "{lone:?}");
    assert_eq!(records.len(), visits.shown, "{:?}", records.keys());
}
