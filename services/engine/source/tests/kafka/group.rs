//! Several readers, of a mock cluster here and of a real broker in `broker`.

use crate::seen::Seen;
use crate::topic::{LONG, Topic, mock};
use rankwright_source::{Kafka, Step, Stream};
use std::time::Duration;
use tokio::time::timeout;

/// Reads with both until each has a half of the partitions.
pub(crate) async fn share(first: (&mut Kafka, &mut Seen), second: (&mut Kafka, &mut Seen), each: usize) {
    let (kafka, seen) = first;
    let (other, others) = second;
    timeout(LONG, async {
        while (seen.ours.len(), others.ours.len()) != (each, each) {
            tokio::select! {
                step = kafka.next() => seen.take(kafka, step.expect("reads on")).await,
                step = other.next() => {
                    let step = step.expect("reads on");
                    others.stored.extend(seen.stored.clone()); // a shared state
                    others.take(other, step).await;
                }
            }
            assert!(seen.ours.is_disjoint(&others.ours), "{:?} {:?}", seen.ours, others.ours);
        }
    })
    .await
    .expect("partitions are shared");
}

/// Everything that both read of a partition.
fn both(topic: &Topic, number: i32, seen: &Seen, others: &Seen) -> Vec<u64> {
    let name = topic.partition(number);
    let of = |seen: &Seen| seen.events.get(&name).cloned().unwrap_or_default();
    [of(seen), of(others)].concat()
}

#[tokio::test]
async fn members_share_partitions_and_read_each_event_once() {
    let (_cluster, topic) = mock(4);
    each_event_is_read_once(&topic).await;
}

/// Reads a topic of 4 partitions.
pub(crate) async fn each_event_is_read_once(topic: &Topic) {
    (0..4).for_each(|number| topic.fill(number, 0..50));
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut kafka, 4).await;
    let (mut other, mut others) = (topic.open(), Seen::default());
    share((&mut kafka, &mut seen), (&mut other, &mut others), 2).await;
    (0..4).for_each(|number| topic.fill(number, 50..100));
    seen.read(&mut kafka, |seen| seen.count() == 300).await;
    others.read(&mut other, |others| others.count() == 100).await;
    for number in 0..4 {
        assert_eq!(both(topic, number, &seen, &others), (0..100).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn nobody_gets_a_partition_before_its_reader_has_heard() {
    let (_cluster, topic) = mock(2);
    nobody_gets_what_is_held(&topic).await;
}

/// Reads a topic of 2 partitions.
pub(crate) async fn nobody_gets_what_is_held(topic: &Topic) {
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut kafka, 2).await;
    let (mut other, mut others) = (topic.open(), Seen::default());
    let (held, revoked) = timeout(LONG, async {
        loop {
            tokio::select! {
                step = kafka.next() => {
                    if let Step::Revoked(partitions) = step.expect("reads on") {
                        break (true, partitions);
                    }
                }
                step = other.next() => assert!(matches!(step, Ok(Step::Revoked(_))), "{step:?}"),
            }
        }
    })
    .await
    .expect("a partition is asked back");
    assert_eq!((held, revoked.len()), (true, 1));
    // the reader still commits: nothing moves
    assert!(timeout(Duration::from_secs(1), other.next()).await.is_err());
    seen.take(&mut kafka, Step::Revoked(revoked)).await;
    share((&mut kafka, &mut seen), (&mut other, &mut others), 1).await;
}

#[tokio::test]
async fn what_a_member_leaves_goes_to_the_others() {
    let (_cluster, topic) = mock(2);
    others_get_what_is_left(&topic).await;
}

/// Reads a topic of 2 partitions.
pub(crate) async fn others_get_what_is_left(topic: &Topic) {
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    let (mut other, mut others) = (topic.open(), Seen::default());
    share((&mut kafka, &mut seen), (&mut other, &mut others), 1).await;
    Box::new(kafka).close().await;
    others.read(&mut other, |others| others.ours.len() == 2).await;
}

#[tokio::test]
async fn a_member_can_leave_with_everything_unanswered() {
    let (_cluster, topic) = mock(2);
    unanswered_members_leave(&topic).await;
}

/// Reads a topic of 2 partitions.
pub(crate) async fn unanswered_members_leave(topic: &Topic) {
    let mut kafka = topic.open();
    assert!(matches!(kafka.next().await, Ok(Step::Assigned(_))));
    Box::new(kafka).close().await; // an assignment that nothing was started of
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut kafka, 2).await;
    let (mut other, mut others) = (topic.open(), Seen::default());
    timeout(LONG, async {
        loop {
            tokio::select! {
                step = kafka.next() => if matches!(step, Ok(Step::Revoked(_))) { break },
                step = other.next() => assert!(step.is_ok(), "{step:?}"),
            }
        }
    })
    .await
    .expect("a partition is asked back");
    Box::new(kafka).close().await; // a revocation that was handed out
    others.read(&mut other, |others| others.ours.len() == 2).await;
}
