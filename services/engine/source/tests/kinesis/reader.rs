//! One reader of a stream.

use crate::seen::{LONG, Seen, enriched, event, failure, tracked};
use crate::stream::{Stream as Topic, now, server};
use rankwright_config::{EventFormat, Offset};
use rankwright_source::{Partition, Position, Stream};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};
use tokio::time::timeout;

#[tokio::test]
async fn shards_are_read_in_order_and_reading_goes_on_where_it_stopped() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 3).await;
    let shards = topic.shards().await;
    for shard in &shards {
        topic.fill(shard, 0..150).await;
    }
    let (mut reader, mut first) = (topic.open(), Seen::default());
    first.read(&mut reader, |seen| seen.count() == 450).await;
    first.read_up(&mut reader, 3).await;
    Box::new(reader).close().await;
    for shard in &shards {
        assert_eq!(first.events[&topic.partition(shard)], (0..150).collect::<Vec<_>>());
    }
    topic.fill(&shards[1], 150..200).await;
    let (mut reader, mut second) = (topic.open(), Seen::after(&first.stored));
    second.read(&mut reader, |seen| seen.count() == 50).await;
    second.read_up(&mut reader, 3).await;
    assert_eq!(second.events[&topic.partition(&shards[1])], (150..200).collect::<Vec<_>>());
    assert_eq!(second.count(), 50);
}

#[tokio::test]
async fn a_shard_is_read_again_from_where_it_is_started_again() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 1).await;
    let shard = &topic.shards().await[0];
    topic.fill(shard, 0..300).await;
    let (mut reader, mut first) = (topic.open(), Seen::default());
    first.read(&mut reader, |seen| seen.count() >= 100).await;
    let name = topic.partition(shard);
    let stored = first.stored[&name].clone();
    let read = first.count() as u64;
    first.read(&mut reader, |seen| seen.count() > 200).await;
    let mut again = Seen::default();
    let partition = Partition::new(name.as_str());
    assert_eq!(reader.start(&partition, Some(stored.clone())).await.expect("starts"), stored);
    again.ours.insert(name.clone());
    again.read(&mut reader, |seen| seen.count() as u64 >= 300 - read).await;
    assert_eq!(again.events[&name], (read..300).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_dropped_call_loses_nothing() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 1).await;
    let shard = &topic.shards().await[0];
    topic.fill(shard, 0..300).await;
    let (mut reader, mut seen) = (topic.open(), Seen::default());
    let end = Instant::now() + LONG;
    while seen.count() < 300 {
        assert!(Instant::now() < end, "nothing more came after {seen:?}");
        if let Ok(step) = timeout(Duration::from_millis(5), reader.next()).await {
            seen.take(&mut reader, step.expect("reads on")).await;
        }
    }
    assert_eq!(seen.events[&topic.partition(shard)], (0..300).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_end_at_once_take_the_server_from_nobody() {
    let Some(own) = Own::new() else { return };
    let server = own.run(&["start"]);
    let address = server.strip_prefix("http://").expect("an address of http");
    for _ in 0..100 {
        let connection = tokio::net::TcpStream::connect(address).await.expect("connects");
        connection.set_zero_linger().expect("asks for a reset");
    }
    let topic = Topic::make(&server, 1).await;
    let shard = &topic.shards().await[0];
    topic.fill(shard, 0..10).await;
    let (mut reader, mut seen) = (topic.open(), Seen::default());
    seen.read(&mut reader, |seen| seen.count() == 10).await;
}

#[tokio::test]
async fn an_unreadable_record_is_named_and_the_next_ones_are_read() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 1).await;
    let shard = &topic.shards().await[0];
    let late = now().millis() + 3_600_000;
    topic.put(shard, &[event(1, 1000), "nonsense".to_owned(), event(2, late), event(3, 1000)]).await;
    let (mut reader, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut reader, 1).await;
    seen.read(&mut reader, |seen| seen.count() == 2).await;
    assert_eq!(seen.events[&topic.partition(shard)], [1, 3]);
    assert!(seen.bad[0].starts_with(&format!("{}:", topic.partition(shard))), "{:?}", seen.bad);
    assert!(seen.bad[1].contains("lies further in the future"), "{:?}", seen.bad);
}

#[tokio::test]
async fn of_enriched_events_of_snowplow_ours_are_read_and_others_passed_over() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 1).await;
    let shard = &topic.shards().await[0];
    topic.put(shard, &[tracked(1), enriched("page_view", ""), event(2, 1000), tracked(3)]).await;
    let (mut reader, mut seen) = (topic.open_in(EventFormat::SnowplowTsv), Seen::default());
    seen.read_up(&mut reader, 1).await;
    seen.read(&mut reader, |seen| seen.count() == 2).await;
    assert_eq!(seen.events[&topic.partition(shard)], [1, 3]);
    assert_eq!(seen.bad.len(), 1);
    assert!(seen.bad[0].contains("expected an enriched event of Snowplow: 131 columns"), "{:?}", seen.bad);
}

/// A moment later than everything before, and earlier than everything after; the server counts in milliseconds.
async fn moment() -> rankwright_event::Timestamp {
    let before = now();
    while now() <= before.plus(Duration::from_millis(2)) {
        tokio::task::yield_now().await;
    }
    let moment = now();
    while now() <= moment.plus(Duration::from_millis(2)) {
        tokio::task::yield_now().await;
    }
    moment
}

#[tokio::test]
async fn offsets_by_time_begin_at_the_first_record_of_that_time() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 1).await;
    let shard = &topic.shards().await[0];
    topic.fill(shard, 0..5).await;
    let since = moment().await;
    topic.fill(shard, 5..10).await;
    let all = [(Offset::Earliest, 0..10), (Offset::At(since), 5..10), (Offset::Latest, 0..0)];
    for (name, (offset, expected)) in all.into_iter().enumerate() {
        let (mut reader, mut seen) = (topic.open_as(&name.to_string(), offset), Seen::default());
        seen.read_up(&mut reader, 1).await;
        let read = seen.events.remove(&topic.partition(shard)).unwrap_or_default();
        assert_eq!(read, expected.collect::<Vec<_>>(), "{offset:?}");
        Box::new(reader).close().await;
    }
}

#[tokio::test]
async fn a_shard_without_records_begins_at_the_same_place_the_next_time() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 1).await;
    let shard = &topic.shards().await[0];
    topic.fill(shard, 0..5).await;
    moment().await;
    let (mut reader, mut first) = (topic.open_as("one", Offset::Latest), Seen::default());
    first.read_up(&mut reader, 1).await;
    Box::new(reader).close().await;
    topic.fill(shard, 5..10).await;
    let (mut reader, mut second) = (topic.open_as("one", Offset::Latest), Seen::after(&first.stored));
    second.read(&mut reader, |seen| seen.count() >= 5).await;
    assert_eq!(second.events[&topic.partition(shard)], (5..10).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_bounded_reading_ends_where_the_stream_ended() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 2).await;
    let shards = topic.shards().await;
    topic.fill(&shards[0], 0..250).await;
    moment().await;
    let (mut reader, mut seen) = (topic.bounded(Offset::Earliest), Seen::default());
    seen.read(&mut reader, |seen| seen.ours.len() == 2).await;
    moment().await;
    topic.fill(&shards[0], 250..300).await;
    topic.fill(&shards[1], 1000..1001).await;
    seen.read(&mut reader, |seen| seen.ended).await;
    assert_eq!(seen.events[&topic.partition(&shards[0])], (0..250).collect::<Vec<_>>());
    assert_eq!((seen.count(), seen.caught_up.len()), (250, 2));
}

#[tokio::test]
async fn a_stream_that_does_not_exist_is_named() {
    let Some(server) = server() else { return };
    let mut topic = Topic::make(&server, 1).await;
    topic.name = "nobody-made-this".to_owned();
    let expected = format!(
        "stream nobody-made-this does not exist at {server}: create it, or correct source.topic and source.region"
    );
    assert_eq!(failure(&mut topic.open()).await.to_string(), expected);
    assert_eq!(failure(&mut topic.bounded(Offset::Earliest)).await.to_string(), expected);
    assert_eq!(topic.open().all().await.expect_err("is missing").to_string(), expected);
}

#[tokio::test]
async fn a_position_of_something_else_is_refused() {
    let Some(server) = server() else { return };
    let topic = Topic::make(&server, 1).await;
    let shard = &topic.shards().await[0];
    let (mut reader, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut reader, 1).await;
    let ours = Partition::new(topic.partition(shard));
    assert!(reader.start(&ours, Some(Position::new("kinesis:other/0", 1))).await.is_err());
    assert!(reader.start(&ours, Some(Position::at(&ours, "7:12"))).await.is_err());
    assert!(reader.start(&Partition::new("kinesis:other/0"), None).await.is_err());
}

/// A server of its own, whose clock can be moved.
struct Own(tempfile::TempDir, u16);

impl Own {
    /// Not started yet; `None` where tests have no Kinesis.
    fn new() -> Option<Self> {
        static STEP: AtomicU16 = AtomicU16::new(0);
        server()?;
        let taken = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_err();
        let start = 20_001 + u16::try_from(std::process::id() % 4000).expect("is small") * 2;
        let start = start + STEP.fetch_add(100, Ordering::Relaxed); // others begin to look elsewhere
        let port = (start..32_000).step_by(2).find(|port| !taken(*port) && !taken(port + 1)).expect("a port is free");
        Some(Self(tempfile::tempdir().expect("makes a folder"), port))
    }

    fn run(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("../../../e2e/servers/kinesis.sh");
        let command = command.args(arguments).env("SERVERS_RUN", self.0.path()).env("KINESIS_PORT", self.1.to_string());
        let done = command.output().expect("runs");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("an address is text").trim().to_owned()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.run(&["wipe"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iterator_that_has_expired_is_replaced_behind_the_last_record() {
    let Some(own) = Own::new() else { return };
    let topic = Topic::make(&own.run(&["start"]), 1).await;
    let shard = &topic.shards().await[0];
    topic.fill(shard, 0..100).await;
    let (mut reader, mut seen) = (topic.open(), Seen::default());
    seen.read(&mut reader, |seen| seen.count() == 100).await;
    seen.read_up(&mut reader, 1).await;
    own.run(&["ahead", "301000"]);
    topic.fill(shard, 100..200).await;
    seen.read(&mut reader, |seen| seen.count() >= 200).await;
    seen.read_up(&mut reader, 1).await;
    assert_eq!(seen.events[&topic.partition(shard)], (0..200).collect::<Vec<_>>());
}
