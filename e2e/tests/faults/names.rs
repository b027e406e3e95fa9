//! Ids with everything in them that means something somewhere, in keys that go to any shard.

use crate::trial::Trial;
use rankwright_e2e::kafka::{broker, spread};
use rankwright_e2e::many::{config, day};
use rankwright_e2e::outcome::Outcome;
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use serde_json::Value;

const PARTITIONS: usize = 3;
const ODD: &str = " {a}:b|{}*?[c]\\\"'%2F../\u{0}\u{1}\u{7f}\n\u{e9}\u{fffd}🦀";

/// The same events with other ids of everything.
fn renamed(mut event: Value) -> Value {
    let rename = |id: &mut Value| {
        if let Some(text) = id.as_str() {
            *id = format!("{text}{ODD}").into();
        }
    };
    for name in ["id", "item", "user", "session", "ranking"] {
        event.get_mut(name).map(rename);
    }
    let items = event.get_mut("items").and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(|item| item.get_mut("id")).for_each(rename);
    event
}

#[test]
fn ids_of_any_characters_are_those_of_one_visitor_and_one_item() {
    let (Some(reference), Some(cluster), Some(broker)) = (Redis::for_tests(), Redis::in_a_cluster(), broker()) else {
        return;
    };
    let mut random = Random::seeded();
    let plain = day(&mut random, 400);
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let usual = Outcome::undisturbed(&reference, &config(&reference), &plain, folder.path());
    let events: Vec<Value> = plain.into_iter().map(renamed).collect();
    let spread = |rest: &[Value], random: &mut _| spread(rest, PARTITIONS, random);
    let mut trial = Trial::of(&reference, "odd", random, &config(&reference), &events, spread);
    let renamed: Vec<&String> = trial.expected.records.keys().collect();
    assert!(renamed.iter().all(|key| key.contains("🦀")), "{:?}", renamed.first());
    assert_eq!((renamed.len(), trial.expected.values.len()), (usual.records.len(), usual.values.len()));
    let mut crew = trial.crew(&config(&cluster), &broker);
    trial.ranks(&mut crew, false);
    (0..2).for_each(|_| crew.join());
    for moment in trial.moments(1) {
        crew.until_read(&cluster, moment);
        crew.kill_one(&mut trial.random);
        crew.join();
    }
    crew.until_done(&cluster);
    trial.assert_came_to(&cluster, &crew.dismissed());
}
