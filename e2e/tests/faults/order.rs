//! Messages that come twice, too late, or before what they belong to.

use crate::trial::Trial;
use rankwright_e2e::events::{click, item, ranking};
use rankwright_e2e::kafka::{broker, spread};
use rankwright_e2e::many::{ITEMS, config, day};
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::wait;
use serde_json::{Value, json};

const PARTITIONS: usize = 8;
/// Messages of a producer that are sent together.
const BATCH: usize = 20;

/// Workers read the topic, and two of them are killed.
fn with_two_killed(trial: &mut Trial, config: &str, redis: &Redis, broker: &str) {
    let mut crew = trial.crew(config, broker);
    (0..2).for_each(|_| crew.join());
    if config.contains("name: clicks") {
        trial.ranks(&mut crew, false); // its model wants that feature
    }
    for moment in trial.moments(2) {
        crew.until_read(redis, moment);
        crew.kill_one(&mut trial.random);
        crew.join();
    }
    crew.until_done(redis);
    trial.assert_came_to(redis, &crew.dismissed());
}

/// Everything is within one session, and it ends. Clicks wait as long for rankings that are read behind them.
fn in_one_session(plain: &str, events: &mut Vec<Value>) -> String {
    events.push(json!({"event": "user", "id": "after", "timestamp": rankwright_e2e::events::at(400_000), "user": "u1", "fields": []}));
    plain.replace("maxSessionLength: 10s", "maxSessionLength: 2d, rankingWait: 2d")
}

/// Each third batch comes once more, as from a producer that did not hear that it was taken.
fn each_third_twice(messages: &[String]) -> Vec<String> {
    let batches = messages.chunks(BATCH).enumerate();
    let sent = batches.flat_map(|(number, batch)| std::iter::repeat_n(batch, 1 + usize::from(number % 3 == 0)));
    sent.flatten().cloned().collect()
}

#[test]
fn messages_that_are_in_the_topic_twice_count_once_in_what_was_shown_and_clicked() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    let mut random = Random::seeded();
    let mut events = day(&mut random, wait::scaled(1_500, 20_000));
    // what no list was shown for counts as often as it is there, and so do plain counters, see docs/protocol.md
    events.retain(|event| event["id"] != "lone");
    let plain: String = config(&redis)
        .lines()
        .filter(|line| !line.contains("interaction_count"))
        .map(|line| format!("{line}\n"))
        .collect();
    let plain = in_one_session(&plain, &mut events);
    let twice = |rest: &[Value], random: &mut Random| {
        spread(rest, PARTITIONS, random).iter().map(|messages| each_third_twice(messages)).collect()
    };
    let mut trial = Trial::of(&redis, "twice", random, &plain, &events, twice);
    with_two_killed(&mut trial, &plain, &redis, &broker);
}

/// Each message trades places with one of those that follow it, as where producers send again what was not taken at first. One that
/// trades again and again comes minutes late; nothing has closed meanwhile.
fn out_of_order(mut messages: Vec<String>, random: &mut Random) -> Vec<String> {
    const FURTHEST: usize = 3;
    let last = messages.len().saturating_sub(1); // the one that tells the end stays
    for place in 0..last.saturating_sub(FURTHEST) {
        messages.swap(place, place + random.below(FURTHEST));
    }
    messages
}

#[test]
fn messages_that_come_out_of_order_come_to_the_same() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    let mut random = Random::seeded();
    let mut events = day(&mut random, wait::scaled(1_500, 20_000));
    let plain = in_one_session(&config(&redis), &mut events);
    let mixed = |rest: &[Value], random: &mut Random| {
        spread(rest, PARTITIONS, random).into_iter().map(|messages| out_of_order(messages, random)).collect()
    };
    let mut trial = Trial::of(&redis, "mixed", random, &plain, &events, mixed);
    with_two_killed(&mut trial, &plain, &redis, &broker);
}

fn millis(event: &Value) -> i64 {
    event["timestamp"].as_str().and_then(|millis| millis.parse().ok()).expect("as tests write it")
}

/// The clock of the client that sends clicks is slow.
fn earlier(event: &mut Value, by: i64) {
    event["timestamp"] = json!((millis(event) - by).to_string());
}

/// Rankings into the first half of the partitions, interactions into the second.
fn apart(rest: &[Value], random: &mut Random) -> Vec<Vec<String>> {
    let mut partitions = vec![Vec::new(); PARTITIONS];
    for event in rest {
        let half = if event["event"] == "interaction" { PARTITIONS / 2 } else { 0 };
        partitions[half + random.below(PARTITIONS / 2)].push(event.to_string());
    }
    partitions
}

#[test]
fn clicks_that_are_read_before_their_rankings_belong_to_them() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    let mut random = Random::seeded();
    let mut events = day(&mut random, wait::scaled(1_500, 20_000));
    events.iter_mut().filter(|event| event["ranking"].is_string()).for_each(|click| earlier(click, 5_000));
    events.sort_by_key(millis);
    let mut trial = Trial::of(&redis, "early", random, &config(&redis), &events, apart);
    with_two_killed(&mut trial, &config(&redis), &redis, &broker);
}

/// Lists with one click each: a millisecond before the session ends, at its end, and one behind it.
fn at_the_edge(count: i64) -> Vec<Value> {
    let mut events: Vec<Value> =
        (0..ITEMS).map(|number| item(&format!("i{number}"), 0, &[("brand", json!("b"))])).collect();
    for number in 0..count {
        let (id, user, second) = (format!("r{number}"), format!("u{number}"), 10 + 20 * number);
        events.push(ranking(&id, second, &user, &["i1", "i2"]));
        let mut late = click(&format!("c{number}"), second, &id, &user, "i2");
        earlier(&mut late, -9_999 - number % 3);
        events.push(late);
    }
    events.push(json!({"event": "user", "id": "end", "timestamp": rankwright_e2e::events::at(1_000 + 20 * count), "user": "u1", "fields": []}));
    events
}

#[test]
fn a_click_belongs_to_its_ranking_up_to_the_last_millisecond_of_the_session() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    let count = wait::scaled(900, 9_000);
    let events = at_the_edge(count);
    let mut trial = Trial::of(&redis, "edge", Random::seeded(), &config(&redis), &events, |rest, random| {
        spread(rest, PARTITIONS, random)
    });
    let joined = |number: i64| trial.expected.records.keys().any(|id| id.contains(&format!("\"r{number}\"")));
    assert_eq!([joined(0), joined(1), joined(2)], [true, true, false], "before, at, behind the end");
    with_two_killed(&mut trial, &config(&redis), &redis, &broker);
}
