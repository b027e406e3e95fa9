//! A subscription that readers share: messages are dealt out, and come again unless they are committed.

use crate::broker::moment;
use crate::seen::{LONG, Seen};
use crate::topic::{Topic, broker};
use rankwright_config::{Offset, Subscription};
use rankwright_source::{Pulsar, Step, Stream};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::timeout;

fn open(topic: &Topic) -> Pulsar {
    topic.open_with(Subscription::Shared, Offset::Earliest)
}

/// Everything that was read, by whomever.
fn all(readers: &[&Seen]) -> Vec<u64> {
    let mut all: Vec<u64> = readers.iter().flat_map(|seen| seen.events.values().flatten().copied()).collect();
    all.sort_unstable();
    all
}

/// The same, each once: what was on its way when a reader started again may come twice.
fn different(seen: &Seen) -> BTreeSet<u64> {
    all(&[seen]).into_iter().collect()
}

#[tokio::test]
async fn a_message_is_acknowledged_when_it_is_committed() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill_batched(0..100, 10).await;
    let (mut one, mut seen) = (open(&topic), Seen::default());
    assert!(!one.ordered());
    seen.read(&mut one, |seen| seen.count() == 100).await;
    let acknowledged = async { while topic.backlog().await > 0 {} };
    timeout(LONG, acknowledged).await.expect("the broker hears of it");
    Box::new(one).close().await;
    topic.fill(None, 100..110).await;
    let (mut other, mut others) = (open(&topic), Seen::default());
    others.read(&mut other, |others| others.count() >= 10).await;
    assert_eq!(all(&[&others]), (100..110).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_is_not_committed_comes_again_to_another_reader() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(2).await;
    for part in 0..2 {
        topic.fill(Some(part), 0..20).await;
    }
    let mut lost = open(&topic);
    let mut seen = Seen::default();
    loop {
        match timeout(LONG, lost.next()).await.expect("something comes").expect("reads on") {
            Step::Batch { .. } => break, // read, and never committed
            other => seen.take(&mut lost, other).await,
        }
    }
    drop(lost);
    let (mut other, mut others) = (open(&topic), Seen::default());
    others.read(&mut other, |others| others.count() >= 40).await;
    let expected: Vec<u64> = (0..20).flat_map(|number| [number, number]).collect();
    assert_eq!(all(&[&others]), expected);
}

#[tokio::test]
async fn what_is_not_committed_comes_again_to_a_reader_that_starts_again() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill(None, 0..20).await;
    let (mut one, mut seen) = (open(&topic), Seen::default());
    let partition = loop {
        match timeout(LONG, one.next()).await.expect("something comes").expect("reads on") {
            Step::Batch { partition, .. } => break partition, // read, and never committed
            other => seen.take(&mut one, other).await,
        }
    };
    one.start(&partition, None).await.expect("starts");
    seen.read(&mut one, |seen| different(seen).len() >= 20).await;
    assert_eq!(different(&seen), (0..20).collect());
}

/// The broker sends no more than it was asked for, and what comes again is asked for again.
#[tokio::test]
async fn a_reader_that_starts_again_is_dealt_more_messages_than_it_asked_for_at_first() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill_batched(0..3000, 10).await;
    let (mut one, mut seen) = (open(&topic), Seen::default());
    for _ in 0..3 {
        let partition = loop {
            match timeout(LONG, one.next()).await.expect("something comes").expect("reads on") {
                Step::Batch { partition, .. } => break partition, // read, and never committed
                other => seen.take(&mut one, other).await,
            }
        };
        one.start(&partition, None).await.expect("starts");
    }
    seen.read(&mut one, |seen| seen.count() >= 3000 && different(seen).len() >= 3000).await;
    assert_eq!(different(&seen), (0..3000).collect());
}

#[tokio::test]
async fn two_readers_are_dealt_all_messages() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    let (mut one, mut seen) = (open(&topic), Seen::default());
    let (mut other, mut others) = (open(&topic), Seen::default());
    seen.read_up(&mut one, 1).await;
    others.read_up(&mut other, 1).await;
    topic.fill(None, 0..100).await;
    let end = tokio::time::Instant::now() + LONG;
    while seen.count() + others.count() < 100 {
        tokio::select! {
            step = one.next() => seen.take(&mut one, step.expect("reads on")).await,
            step = other.next() => others.take(&mut other, step.expect("reads on")).await,
            () = tokio::time::sleep_until(end) => panic!("nothing more came after {seen:?} and {others:?}"),
        }
    }
    assert!(seen.count() > 0 && others.count() > 0);
    assert_eq!(all(&[&seen, &others]), (0..100).collect::<Vec<_>>());
}

/// It is quiet as well when it has sent all that it was asked for, as while we wait for a store.
#[tokio::test]
async fn a_broker_that_was_not_asked_for_more_is_not_taken_for_one_that_has_no_more() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill_batched(0..3000, 10).await;
    let (mut one, mut seen) = (open(&topic), Seen::default());
    let assigned = timeout(LONG, one.next()).await.expect("something comes").expect("reads on");
    seen.take(&mut one, assigned).await;
    tokio::time::sleep(Duration::from_secs(3)).await; // three times as long as it takes to take it for one
    seen.read(&mut one, |seen| seen.count() > 0 || !seen.caught_up.is_empty()).await;
    while seen.count() < 3000 {
        assert!(seen.caught_up.is_empty(), "read to its end after {} of 3000", seen.count());
        seen.read(&mut one, |seen| seen.count() >= 3000 || !seen.caught_up.is_empty()).await;
    }
    seen.read_up(&mut one, 1).await;
}

#[tokio::test]
async fn messages_of_before_the_configured_time_are_left_out_now_and_later() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill(None, 0..10).await;
    let since = moment().await;
    topic.fill(None, 10..20).await;
    let mut one = topic.open_with(Subscription::Shared, Offset::At(since));
    let mut seen = Seen::default();
    let Step::Assigned(partitions) = timeout(LONG, one.next()).await.expect("something comes").expect("reads on")
    else {
        panic!("it is not assigned first")
    };
    let at = one.start(&partitions[0], None).await.expect("starts");
    assert_eq!(at.at, Some(format!("-1:-1@{} shared", since.millis())), "it is kept for others");
    drop(one); // nothing is committed
    let mut other = open(&topic);
    seen.stored.insert(topic.partition(None), at);
    seen.read(&mut other, |seen| seen.count() >= 10).await;
    seen.read_up(&mut other, 1).await;
    assert_eq!(different(&seen), (10..20).collect());
    let acknowledged = async { while topic.backlog().await > 0 {} };
    timeout(LONG, acknowledged).await.expect("those of before as well");
}
