//! Several readers of one topic, each partition read by one of them.

use crate::seen::{LONG, Seen};
use crate::topic::{Topic, broker};
use rankwright_config::{Offset, Subscription};
use rankwright_source::{Pulsar, Step, Stream};
use std::time::Duration;
use tokio::time::timeout;

fn open(topic: &Topic) -> Pulsar {
    topic.open_with(Subscription::Failover, Offset::Earliest)
}

/// Reads with both, which share one state, until it is enough.
async fn both(
    first: (&mut Pulsar, &mut Seen),
    second: (&mut Pulsar, &mut Seen),
    enough: impl Fn(&Seen, &Seen) -> bool,
) {
    let ((one, seen), (other, others)) = (first, second);
    let read = async {
        while !enough(seen, others) {
            tokio::select! {
                step = one.next() => {
                    seen.stored.extend(others.stored.clone());
                    seen.take(one, step.expect("reads on")).await;
                    others.stored.extend(seen.stored.clone());
                }
                step = other.next() => {
                    others.stored.extend(seen.stored.clone());
                    others.take(other, step.expect("reads on")).await;
                    seen.stored.extend(others.stored.clone());
                }
            }
        }
    };
    timeout(LONG, read).await.expect("partitions are shared");
}

#[tokio::test]
async fn readers_share_partitions_and_take_over_from_each_other() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(4).await;
    for part in 0..4 {
        topic.fill(Some(part), 0..50).await;
    }
    let (mut one, mut seen) = (open(&topic), Seen::default());
    seen.read_up(&mut one, 4).await;
    let (mut other, mut others) = (open(&topic), Seen::default());
    both((&mut one, &mut seen), (&mut other, &mut others), |seen, others| {
        (seen.ours.len(), others.ours.len()) == (2, 2)
    })
    .await;
    for part in 0..4 {
        topic.fill(Some(part), 50..100).await;
    }
    both((&mut one, &mut seen), (&mut other, &mut others), |seen, others| seen.count() + others.count() >= 400).await;
    assert!(others.count() > 0);
    others.stored.extend(seen.stored.clone());
    Box::new(one).close().await;
    others.read(&mut other, |others| others.ours.len() == 4).await;
    for part in 0..4 {
        topic.fill(Some(part), 100..110).await;
    }
    others.read(&mut other, |others| others.count() + seen.count() >= 440).await;
    for part in 0..4 {
        let name = topic.partition(Some(part));
        let read = |seen: &Seen| seen.events.get(&name).cloned().unwrap_or_default();
        let mut all = [read(&seen), read(&others)].concat();
        all.sort_unstable();
        assert_eq!(all, (0..110).collect::<Vec<_>>(), "each once");
    }
}

#[tokio::test]
async fn an_exclusive_reader_waits_until_another_one_has_left() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill(None, 0..10).await;
    let (mut one, mut first) = (topic.open(), Seen::default());
    first.read_up(&mut one, 1).await;
    let mut other = topic.open();
    let waits = async {
        loop {
            if let Step::Assigned(partitions) = other.next().await.expect("waits") {
                break partitions;
            }
        }
    };
    assert!(timeout(Duration::from_secs(2), waits).await.is_err(), "nobody else gets what is read");
    Box::new(one).close().await;
    topic.fill(None, 10..20).await;
    let mut second = Seen::after(&first.stored);
    second.read_up(&mut other, 1).await;
    assert_eq!(second.events[&topic.partition(None)], (10..20).collect::<Vec<_>>());
}
