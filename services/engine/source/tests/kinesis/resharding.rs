//! Shards that are split and merged.

use crate::seen::Seen;
use crate::stream::{Stream as Topic, server};
use rankwright_config::Offset;
use rankwright_source::{Step, Stream};

#[tokio::test]
async fn a_shard_that_is_split_is_read_to_its_end_before_its_children() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 1).await;
    let parent = topic.shards().await.remove(0);
    topic.fill(&parent, 0..300).await;
    topic.split(&parent).await;
    let children = topic.shards().await.split_off(1);
    for child in &children {
        topic.fill(child, 300..350).await;
    }
    let (mut reader, mut seen) = (topic.open(), Seen::default());
    while seen.finished.is_empty() {
        let step = reader.next().await.expect("reads on");
        if let Step::Assigned(partitions) = &step {
            assert_eq!(partitions[0].as_str(), topic.partition(&parent), "its children wait");
        }
        seen.take(&mut reader, step).await;
    }
    assert_eq!(seen.events[&topic.partition(&parent)], (0..300).collect::<Vec<_>>());
    assert_eq!(seen.count(), 300, "nothing of the children yet");
    seen.read(&mut reader, |seen| seen.count() >= 400).await;
    for child in &children {
        assert_eq!(seen.events[&topic.partition(child)], (300..350).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn shards_that_are_split_and_merged_while_they_are_read_lose_nothing() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 1).await;
    let parent = topic.shards().await.remove(0);
    let (mut reader, mut seen) = (topic.open_as("one", Offset::Latest), Seen::default());
    seen.read_up(&mut reader, 1).await;
    topic.fill(&parent, 0..10).await;
    topic.split(&parent).await;
    let children = topic.shards().await.split_off(1);
    topic.fill(&children[0], 10..20).await;
    topic.fill(&children[1], 20..30).await;
    seen.read(&mut reader, |seen| seen.count() >= 30).await;
    topic.merge(&children[0], &children[1]).await;
    let merged = topic.shards().await.remove(3);
    topic.fill(&merged, 30..40).await;
    seen.read(&mut reader, |seen| seen.count() >= 40).await;
    assert_eq!(seen.finished.len(), 3);
    let mut all: Vec<u64> = seen.events.values().flatten().copied().collect();
    all.sort_unstable();
    assert_eq!(all, (0..40).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_end_of_a_shard_is_a_position_that_other_readers_go_on_from() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 1).await;
    let parent = topic.shards().await.remove(0);
    topic.fill(&parent, 0..10).await;
    topic.split(&parent).await;
    let (mut reader, mut first) = (topic.open(), Seen::default());
    first.read(&mut reader, |seen| !seen.finished.is_empty()).await;
    Box::new(reader).close().await;
    let children = topic.shards().await.split_off(1);
    topic.fill(&children[0], 10..20).await;
    // the offset is for shards without a reader so far; what follows from the parent is not lost
    let (mut reader, mut second) = (topic.open_as("two", Offset::Latest), Seen::after(&first.stored));
    second.read(&mut reader, |seen| seen.count() >= 10).await;
    assert_eq!(second.events[&topic.partition(&children[0])], (10..20).collect::<Vec<_>>());
    assert_eq!(second.count(), 10, "nothing of the parent again");
}

#[tokio::test]
async fn a_bounded_reading_reads_parents_and_children() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 1).await;
    let parent = topic.shards().await.remove(0);
    topic.fill(&parent, 0..10).await;
    topic.split(&parent).await;
    let children = topic.shards().await.split_off(1);
    topic.fill(&children[0], 10..20).await;
    topic.fill(&children[1], 20..30).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await; // arrived before the reading begins
    let (mut reader, mut seen) = (topic.bounded(Offset::Earliest), Seen::default());
    seen.read(&mut reader, |seen| seen.ended).await;
    assert_eq!(seen.count(), 30);
}
