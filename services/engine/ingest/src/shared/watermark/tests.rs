#![allow(clippy::expect_used)]

use super::*;
use rankwright_state::MemoryStore;

const WALL: Timestamp = Timestamp::from_millis(1_000_000_000);

fn after(seconds: u64) -> Timestamp {
    WALL.plus(Duration::from_secs(seconds))
}

/// A writer has come as far as the clock.
async fn noted(store: &MemoryStore, name: &str, origin: Origin, wall: Timestamp) {
    let lease = store.acquire(&Writer(name.to_owned())).await.expect("is given");
    let (from, to) = (lease.position.clone(), lease.position.clone());
    let (slot, note) = note(origin, wall, wall);
    let commit = Commit { from, to, writes: vec![(key(name), Some(Entity::one(slot, note)))], ..Commit::default() };
    assert_eq!(store.commit(&lease, commit).await.expect("commits"), Outcome::Applied);
}

async fn read(store: &MemoryStore, wall: Timestamp) -> (Option<Timestamp>, Option<String>, Vec<String>) {
    read_after(store, wall, Duration::MAX).await
}

async fn read_after(
    store: &MemoryStore,
    wall: Timestamp,
    looked: Duration,
) -> (Option<Timestamp>, Option<String>, Vec<String>) {
    let read = Watermarks::read(store, wall, looked).await.expect("reads");
    assert!(read.resting.is_none());
    (read.lowest, read.stalled, read.silent.into_iter().map(|(_, writer)| writer.0).collect())
}

/// As after an outage of the store, or of the broker: what lies there unread is older than the clock.
#[tokio::test]
async fn what_is_dealt_out_is_waited_for_until_one_of_its_readers_is_back() {
    let (store, [one, other]) =
        (MemoryStore::default(), ["one", "the other"].map(|name| reader_of("pulsar:t-0", name)));
    noted(&store, &one, Origin::Dealt, WALL).await;
    noted(&store, &other, Origin::Dealt, after(2)).await;
    assert_eq!(read(&store, after(5)).await, (Some(WALL), None, vec![]));
    noted(&store, "feedback:server", Origin::Replica, after(60)).await;
    assert_eq!(read(&store, after(60)).await, (Some(WALL), None, vec![]), "nobody reads it");
    let (_, stalled, _) = read(&store, after(305)).await;
    assert_eq!(stalled.as_deref(), Some("pulsar:t-0"));
    noted(&store, &other, Origin::Dealt, after(61)).await;
    noted(&store, "feedback:server", Origin::Replica, after(65)).await;
    // the broker deals what it has sent to it to another reader only once it is gone
    let soon = Duration::from_secs(4);
    assert_eq!(read_after(&store, after(65), soon).await, (Some(WALL), None, vec![]), "it may be back in a moment");
    assert_eq!(read(&store, after(65)).await, (Some(after(61)), None, vec![one]), "others are dealt what it had");
    noted(&store, &other, Origin::Dealt, after(400)).await;
    noted(&store, "feedback:server", Origin::Replica, after(400)).await;
    assert_eq!(read_after(&store, after(400), soon).await, (Some(WALL), None, vec![]), "somebody reads it");
}

#[tokio::test]
async fn what_nobody_reads_any_more_is_not_waited_for_for_ever() {
    let (store, one) = (MemoryStore::default(), reader_of("pulsar:t-0", "one"));
    noted(&store, &one, Origin::Dealt, WALL).await;
    noted(&store, "feedback:server", Origin::Replica, after(3700)).await;
    let held = (Some(WALL), Some("pulsar:t-0".to_owned()), vec![]);
    assert_eq!(read_after(&store, after(3700), Duration::from_secs(890)).await, held, "after an outage of an hour");
    assert_eq!(read(&store, after(3500)).await, held);
    assert_eq!(read(&store, after(3700)).await, (Some(after(3700)), None, vec![one]));
}

#[tokio::test]
async fn readers_of_another_partition_do_not_stand_for_those_of_this_one() {
    let store = MemoryStore::default();
    for (partition, at) in [("pulsar:t-0", 0), ("pulsar:t-1", 60)] {
        noted(&store, &reader_of(partition, "one"), Origin::Dealt, after(at)).await;
    }
    assert_eq!(read(&store, after(61)).await, (Some(WALL), None, vec![]));
}
