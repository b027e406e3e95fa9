//! Several readers of one stream.

use crate::seen::{LONG, Seen};
use crate::stream::{Stream as Topic, server};
use rankwright_config::Offset;
use rankwright_source::{Kinesis, Stream};
use tokio::time::timeout;

/// Reads with both, which share one state, until it is enough.
async fn both(
    (one, seen): (&mut Kinesis, &mut Seen),
    (other, others): (&mut Kinesis, &mut Seen),
    enough: impl Fn(&Seen, &Seen) -> bool,
) {
    let read = async {
        while !enough(seen, others) {
            tokio::select! {
                step = one.next() => seen.take(one, step.expect("reads on")).await,
                step = other.next() => {
                    // what the other one has stored is stored
                    others.stored.extend(seen.stored.clone());
                    others.take(other, step.expect("reads on")).await;
                }
            }
            seen.stored.extend(others.stored.clone().into_iter().filter(|(name, _)| others.ours.contains(name)));
            others.stored.extend(seen.stored.clone().into_iter().filter(|(name, _)| seen.ours.contains(name)));
            assert!(seen.ours.is_disjoint(&others.ours), "{:?} {:?}", seen.ours, others.ours);
        }
    };
    timeout(LONG, read).await.expect("shards are shared out");
}

/// Numbers of all events that were read of a shard.
fn all(name: &str, readers: &[&Seen]) -> Vec<u64> {
    let mut all: Vec<u64> = readers.iter().filter_map(|seen| seen.events.get(name)).flatten().copied().collect();
    all.sort_unstable();
    all
}

#[tokio::test]
async fn readers_share_shards_out_and_read_each_event_once() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 4).await;
    let shards = topic.shards().await;
    for shard in &shards {
        topic.fill(shard, 0..50).await;
    }
    let (mut one, mut seen) = (topic.open_as("one", Offset::Earliest), Seen::default());
    seen.read(&mut one, |seen| seen.count() == 200).await;
    let (mut other, mut others) = (topic.open_as("other", Offset::Earliest), Seen::default());
    let halves = |seen: &Seen, others: &Seen| (seen.ours.len(), others.ours.len()) == (2, 2);
    both((&mut one, &mut seen), (&mut other, &mut others), halves).await;
    for shard in &shards {
        topic.fill(shard, 50..100).await;
    }
    let enough = |seen: &Seen, others: &Seen| seen.count() + others.count() >= 400;
    both((&mut one, &mut seen), (&mut other, &mut others), enough).await;
    for shard in &shards {
        assert_eq!(all(&topic.partition(shard), &[&seen, &others]), (0..100).collect::<Vec<_>>());
    }
    assert_eq!(others.count(), 100);
}

#[tokio::test]
async fn shards_of_a_reader_that_leaves_or_is_gone_are_taken_over() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 2).await;
    let (mut one, mut seen) = (topic.open_as("one", Offset::Earliest), Seen::default());
    seen.read_up(&mut one, 2).await;
    Box::new(one).close().await;
    let (mut two, mut seconds) = (topic.open_as("two", Offset::Earliest), Seen::after(&seen.stored));
    timeout(LONG / 5, seconds.read_up(&mut two, 2)).await.expect("goes on at once");
    drop(two); // without a word
    topic.table.expire("two");
    let (mut three, mut thirds) = (topic.open_as("three", Offset::Earliest), Seen::after(&seconds.stored));
    thirds.read_up(&mut three, 2).await;
}

#[tokio::test]
async fn a_reader_that_was_taken_for_gone_hears_of_it() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 2).await;
    let (mut one, mut seen) = (topic.open_as("one", Offset::Earliest), Seen::default());
    seen.read_up(&mut one, 2).await;
    topic.table.expire("one"); // as after a long pause
    let (mut other, mut others) = (topic.open_as("other", Offset::Earliest), Seen::after(&seen.stored));
    others.read(&mut other, |others| others.ours.len() == 2).await;
    seen.read(&mut one, |seen| seen.ours.is_empty()).await;
    let halves = |seen: &Seen, others: &Seen| (seen.ours.len(), others.ours.len()) == (1, 1);
    both((&mut one, &mut seen), (&mut other, &mut others), halves).await;
}
