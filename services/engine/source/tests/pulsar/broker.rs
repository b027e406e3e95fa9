//! One reader of a topic.

use crate::seen::{LONG, Seen, enriched, event, settings, tracked};
use crate::topic::{Topic, broker, server};
use rankwright_config::{EventFormat, Offset, SourceConfig, Subscription};
use rankwright_event::Timestamp;
use rankwright_source::{Lag, Partition, Pulsar, Stream};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;

#[tokio::test]
async fn partitions_are_read_in_order_and_reading_goes_on_where_it_stopped() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(3).await;
    for part in 0..3 {
        topic.fill(Some(part), 0..150).await;
    }
    let (mut reader, mut first) = (topic.open(), Seen::default());
    first.read_up(&mut reader, 3).await;
    Box::new(reader).close().await;
    assert!(first.largest <= 100, "{}", first.largest);
    for part in 0..3 {
        assert_eq!(first.events[&topic.partition(Some(part))], (0..150).collect::<Vec<_>>());
    }
    topic.fill(Some(1), 150..200).await;
    let (mut reader, mut second) = (topic.open(), Seen::after(&first.stored));
    second.read_up(&mut reader, 3).await;
    assert_eq!(second.count(), 50);
    assert_eq!(second.events[&topic.partition(Some(1))], (150..200).collect::<Vec<_>>());
}

#[tokio::test]
async fn messages_of_batches_are_read_in_order() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill_batched(0..500, 30).await;
    let (mut reader, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut reader, 1).await;
    assert_eq!(seen.events[&topic.partition(None)], (0..500).collect::<Vec<_>>());
    topic.fill_batched(500..510, 30).await;
    seen.read(&mut reader, |seen| seen.count() == 510).await;
}

#[tokio::test]
async fn the_position_counts_and_not_what_was_acknowledged() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill(None, 0..100).await;
    let (mut reader, mut first) = (topic.open(), Seen::default());
    first.read_up(&mut reader, 1).await;
    let acknowledged = async { while topic.backlog().await > 0 {} };
    timeout(LONG, acknowledged).await.expect("the broker's tools see how far it is committed");
    let told = async {
        while reader.lag().first().is_none_or(|(_, lag)| *lag != Lag::of(0)) {
            let step = reader.next().await.expect("reads on");
            first.take(&mut reader, step).await;
        }
    };
    timeout(LONG, told).await.expect("and so does the reader");
    Box::new(reader).close().await;
    let (mut reader, mut again) = (topic.open(), Seen::default());
    again.read_up(&mut reader, 1).await;
    assert_eq!(again.events[&topic.partition(None)], (0..100).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_lies_before_a_stored_position_is_acknowledged_as_soon_as_reading_begins_there() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    let mut reader = topic.open(); // so that there is a subscription, which wants all
    Seen::default().read(&mut reader, |seen| !seen.ours.is_empty()).await;
    Box::new(reader).close().await;
    topic.fill(None, 0..60).await;
    let (mut import, mut imported) = (topic.bounded(Offset::Earliest), Seen::default());
    imported.read(&mut import, |seen| seen.ended).await;
    topic.fill(None, 60..100).await;
    assert_eq!(topic.backlog().await, 100, "an import acknowledges nothing");
    let (mut reader, mut seen) = (topic.open(), Seen::after(&imported.stored));
    seen.read(&mut reader, |seen| !seen.ours.is_empty()).await;
    let acknowledged = async { while topic.backlog().await > 40 {} };
    timeout(LONG, acknowledged).await.expect("the broker's tools see where reading began");
    assert_eq!(seen.count(), 0, "nothing of it was read yet");
}

#[tokio::test]
async fn a_partition_is_read_again_from_where_it_is_started_again() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill(None, 0..50).await;
    let (mut reader, mut first) = (topic.open(), Seen::default());
    first.read_up(&mut reader, 1).await;
    let (name, stored) = (topic.partition(None), first.stored[&topic.partition(None)].clone());
    topic.fill(None, 50..300).await;
    first.read(&mut reader, |seen| seen.count() > 120).await;
    let mut again = Seen::default();
    let partition = Partition::new(name.as_str());
    assert_eq!(reader.start(&partition, Some(stored.clone())).await.expect("starts"), stored);
    again.ours.insert(name.clone());
    again.read_up(&mut reader, 1).await;
    assert_eq!(again.events[&name], (50..300).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_dropped_call_loses_nothing() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill(None, 0..300).await;
    let (mut reader, mut seen) = (topic.open(), Seen::default());
    let end = Instant::now() + LONG;
    while seen.count() < 300 {
        assert!(Instant::now() < end, "nothing more came after {seen:?}");
        if let Ok(step) = timeout(Duration::from_millis(2), reader.next()).await {
            seen.take(&mut reader, step.expect("reads on")).await;
        }
    }
    assert_eq!(seen.events[&topic.partition(None)], (0..300).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_unreadable_message_is_named_and_the_next_ones_are_read() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.send(None, &[event(1, 1000), "nonsense".to_owned(), event(2, 99_000), event(3, 1000)]).await;
    let (mut reader, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut reader, 1).await;
    assert_eq!(seen.events[&topic.partition(None)], [1, 3]);
    assert_eq!(seen.bad.len(), 2);
    assert!(seen.bad[0].starts_with(&format!("{}:", topic.partition(None))), "{:?}", seen.bad);
    assert!(seen.bad[1].contains("lies further in the future"), "{:?}", seen.bad);
}

#[tokio::test]
async fn of_enriched_events_of_snowplow_ours_are_read_and_others_passed_over() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.send(None, &[tracked(1), enriched("page_view", ""), event(2, 1000), tracked(3)]).await;
    let config = topic.config(Subscription::Exclusive, Offset::Earliest, &[]);
    let config = SourceConfig { format: EventFormat::SnowplowTsv, ..config };
    let (mut reader, mut seen) = (Pulsar::open(&config, settings()).expect("opens a reader"), Seen::default());
    seen.read_up(&mut reader, 1).await;
    assert_eq!(seen.events[&topic.partition(None)], [1, 3]);
    assert_eq!(seen.bad.len(), 1);
    assert!(seen.bad[0].contains("expected an enriched event of Snowplow: 131 columns"), "{:?}", seen.bad);
}

/// What is read with an offset.
async fn read_from(topic: &Topic, offset: Offset) -> Vec<u64> {
    let (mut reader, mut seen) = (topic.open_with(Subscription::Exclusive, offset), Seen::default());
    seen.read_up(&mut reader, 1).await;
    Box::new(reader).close().await;
    seen.events.remove(&topic.partition(None)).unwrap_or_default()
}

fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
    Timestamp::from_millis(i64::try_from(now.as_millis()).expect("not that late"))
}

/// A moment later than everything before, and earlier than everything after.
pub(crate) async fn moment() -> Timestamp {
    let before = now();
    while now() <= before.plus(Duration::from_millis(1)) {
        tokio::task::yield_now().await;
    }
    now()
}

#[tokio::test]
async fn offsets_by_time_begin_at_the_first_message_of_that_time() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill(None, 0..5).await;
    let since = moment().await;
    topic.fill(None, 5..10).await;
    let later = moment().await;
    assert_eq!(read_from(&topic, Offset::Earliest).await, (0..10).collect::<Vec<_>>());
    assert_eq!(read_from(&topic, Offset::At(since)).await, (5..10).collect::<Vec<_>>());
    assert_eq!(read_from(&topic, Offset::At(later)).await, [] as [u64; 0]);
    assert_eq!(read_from(&topic, Offset::Latest).await, [] as [u64; 0]);
    let mut bounded = Seen::default();
    bounded.read(&mut topic.bounded(Offset::At(since)), |seen| seen.ended).await;
    assert_eq!(bounded.events[&topic.partition(None)], (5..10).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_partition_without_messages_begins_at_the_same_place_the_next_time() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    topic.fill(None, 0..5).await;
    for offset in [Offset::Latest, Offset::At(moment().await)] {
        let (mut reader, mut first) = (topic.open_with(Subscription::Exclusive, offset), Seen::default());
        first.read_up(&mut reader, 1).await;
        Box::new(reader).close().await;
        topic.fill(None, 5..10).await;
        let reader = &mut topic.open_with(Subscription::Exclusive, offset);
        let mut second = Seen::after(&first.stored);
        second.read_up(reader, 1).await;
        assert_eq!(second.events[&topic.partition(None)], (5..10).collect::<Vec<_>>(), "{offset:?}");
    }
}

#[tokio::test]
async fn the_end_of_a_partition_is_confirmed_again_and_again() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(0).await;
    let (mut reader, mut seen) = (topic.open(), Seen::default());
    for _ in 0..3 {
        seen.read_up(&mut reader, 1).await;
    }
    assert_eq!(seen.count(), 0);
}

#[tokio::test]
async fn a_bounded_reading_ends_where_the_topic_ended() {
    let Some(broker) = broker() else { return };
    let topic = broker.topic(3).await;
    topic.fill(Some(0), 0..150).await;
    topic.fill(Some(1), 1000..1001).await;
    let (mut reader, mut seen) = (topic.bounded(Offset::Earliest), Seen::default());
    seen.read(&mut reader, |seen| seen.ours.len() == 3).await;
    topic.fill(Some(0), 150..200).await;
    topic.fill(Some(2), 2000..2001).await;
    seen.read(&mut reader, |seen| seen.ended).await;
    assert_eq!(seen.events[&topic.partition(Some(0))], (0..150).collect::<Vec<_>>());
    assert_eq!((seen.count(), seen.caught_up.len()), (151, 3));
    let (mut reader, mut nothing) = (topic.bounded(Offset::Latest), Seen::default());
    nothing.read(&mut reader, |seen| seen.ended).await;
    assert_eq!(nothing.count(), 0);
}

#[tokio::test]
async fn connections_are_encrypted_and_the_certificate_is_checked() {
    let Some(addresses) = server("RANKWRIGHT_TEST_PULSAR_TLS") else { return };
    let Some(broker) = broker() else { return };
    let (url, authority) = addresses.split_once(',').expect("service URL and certificate");
    let mut topic = broker.topic(0).await;
    topic.fill(None, 0..3).await;
    topic.broker.service = url.to_owned();
    for option in [("tlsTrustCertsFilePath", authority), ("tlsAllowInsecureConnection", "true")] {
        let (mut reader, mut seen): (Pulsar, _) = (topic.try_open(&[option]).expect("opens a reader"), Seen::default());
        seen.read_up(&mut reader, 1).await;
        assert_eq!(seen.events[&topic.partition(None)], [0, 1, 2]);
        Box::new(reader).close().await;
    }
    let error = crate::seen::failure(&mut topic.open()).await.to_string();
    assert!(error.starts_with(&format!("no TLS connection to {url}: ")), "{error}");
}
