//! One reader of a mock cluster.

use crate::seen::{LONG, Seen, enriched, failure, tracked};
use crate::topic::{Topic, event, mock, settings};
use rankwright_config::{EventFormat, Offset, SourceConfig};
use rankwright_source::{Kafka, Partition, Position, Stream};
use std::time::{Duration, Instant};
use tokio::time::timeout;

#[tokio::test]
async fn partitions_are_read_in_order_in_bounded_batches() {
    let (_cluster, topic) = mock(2);
    topic.fill(0, 0..1234);
    topic.fill(1, 5000..5250);
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut kafka, 2).await;
    assert_eq!(seen.events[&topic.partition(0)], (0..1234).collect::<Vec<_>>());
    assert_eq!(seen.events[&topic.partition(1)], (5000..5250).collect::<Vec<_>>());
    assert_eq!(seen.largest, 100);
    assert_eq!(seen.stored[&topic.partition(0)].to_string(), "kafka:events/0:1234");
    assert_eq!(kafka.lag().iter().filter_map(|(_, lag)| lag.events).sum::<u64>(), 0);
}

#[tokio::test]
async fn an_unreadable_message_is_named_and_the_next_ones_are_read() {
    let (_cluster, topic) = mock(1);
    let (first, rest) = (event(1, 1000), format!("[{},{}]", event(2, 1000), event(3, 1000)));
    let texts = [first.as_str(), "no event", "", r#"{"event":"user"}"#, &event(9, 11_001), &rest];
    texts.iter().for_each(|text| topic.send(0, text));
    topic.flush();
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut kafka, 1).await;
    assert_eq!(seen.events[&topic.partition(0)], [1, 2, 3]);
    let starts = ["kafka:events/0:1: ", "kafka:events/0:2: the message is empty", "kafka:events/0:3: missing keys"];
    for (bad, start) in seen.bad.iter().zip(starts) {
        assert!(bad.starts_with(start), "{bad}");
    }
    assert!(seen.bad[3].contains("lies further in the future"), "{:?}", seen.bad);
    assert_eq!((seen.bad.len(), seen.stored[&topic.partition(0)].line), (4, 6));
}

#[tokio::test]
async fn of_enriched_events_of_snowplow_ours_are_read_and_others_passed_over() {
    let (_cluster, topic) = mock(1);
    for number in 0..300 {
        topic.send(0, &tracked(number));
        topic.send(0, &enriched("page_view", ""));
    }
    topic.send(0, &event(300, 1000));
    topic.flush();
    let soon = [("session.timeout.ms", "3000"), ("heartbeat.interval.ms", "300")];
    let config = SourceConfig { format: EventFormat::SnowplowTsv, ..topic.config(Offset::Earliest, &soon) };
    let (mut kafka, mut seen) = (Kafka::open(&config, settings()).expect("opens a reader"), Seen::default());
    seen.read_up(&mut kafka, 1).await;
    assert_eq!(seen.events[&topic.partition(0)], (0..300).collect::<Vec<_>>());
    assert_eq!((seen.bad.len(), seen.stored[&topic.partition(0)].line), (1, 601));
    assert!(seen.bad[0].contains("expected an enriched event of Snowplow: 131 columns"), "{:?}", seen.bad);
}

#[tokio::test]
async fn reading_goes_on_where_the_loop_says() {
    let (_cluster, topic) = mock(1);
    topic.fill(0, 0..500);
    let (mut kafka, mut first) = (topic.open(), Seen::default());
    first.read(&mut kafka, |seen| seen.count() >= 150).await;
    drop(kafka); // what it had noted with the broker makes no difference
    let position = first.stored.get_mut(&topic.partition(0)).expect("a position was stored");
    position.line = 123;
    let (mut kafka, mut second) = (topic.open(), Seen::after(&first.stored));
    second.read_up(&mut kafka, 1).await;
    assert_eq!(second.events[&topic.partition(0)], (123..500).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_partition_is_read_again_from_where_it_is_started_again() {
    let (_cluster, topic) = mock(1);
    topic.fill(0, 0..2000);
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    seen.read(&mut kafka, |seen| seen.count() >= 300).await;
    let (name, mut again) = (topic.partition(0), Seen::default());
    let partition = Partition::new(name.as_str());
    let position = Position::new(name.clone(), 42);
    assert_eq!(kafka.start(&partition, Some(position.clone())).await.expect("starts"), position);
    again.ours.insert(name.clone());
    again.read_up(&mut kafka, 1).await;
    assert_eq!(again.events[&name], (42..2000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_dropped_call_loses_nothing() {
    let (_cluster, topic) = mock(1);
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    let mut sent = 0;
    let end = Instant::now() + LONG;
    while seen.count() < 300 {
        assert!(Instant::now() < end, "nothing more came after {seen:?}");
        if sent < 300 {
            topic.fill(0, sent..sent + 3);
            sent += 3;
        }
        if let Ok(step) = timeout(Duration::from_millis(3), kafka.next()).await {
            seen.take(&mut kafka, step.expect("reads on")).await;
        }
    }
    assert_eq!(seen.events[&topic.partition(0)], (0..300).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_position_of_another_partition_is_refused() {
    let (_cluster, topic) = mock(2);
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut kafka, 2).await;
    let ours = Partition::new(topic.partition(0));
    let position = Position::new(topic.partition(1), 1);
    let error = kafka.start(&ours, Some(position)).await.expect_err("it is another's");
    let expected = "kafka:events/1:1 is no position in a partition of topic events that is assigned to us";
    assert_eq!(error.to_string(), expected);
    let other = Partition::new("kafka:other/0");
    assert!(kafka.start(&other, None).await.is_err());
}

#[tokio::test]
async fn a_bounded_reading_ends_where_the_topic_ended() {
    let (_cluster, topic) = mock(3);
    topic.fill(0, 0..700);
    topic.fill(1, 1000..1001);
    let (mut kafka, mut seen) = (topic.bounded(), Seen::default());
    seen.read(&mut kafka, |seen| seen.ours.len() == 3).await;
    topic.fill(0, 700..800);
    topic.fill(2, 2000..2001);
    seen.read(&mut kafka, |seen| seen.ended).await;
    assert_eq!(seen.events[&topic.partition(0)], (0..700).collect::<Vec<_>>());
    assert_eq!((seen.count(), seen.events.get(&topic.partition(2))), (701, None));
}

#[tokio::test]
async fn a_bounded_reading_says_of_each_partition_that_it_is_read_even_of_an_empty_one() {
    let (_cluster, topic) = mock(2);
    topic.fill(1, 0..1);
    let (mut kafka, mut seen) = (topic.bounded(), Seen::default());
    seen.read(&mut kafka, |seen| seen.ended).await;
    assert_eq!(seen.caught_up.len(), 2, "{:?}", seen.caught_up);
}

#[tokio::test]
async fn a_bounded_reading_of_nothing_ends_at_once() {
    let (_cluster, topic) = mock(2);
    let (mut kafka, mut seen) = (topic.bounded(), Seen::default());
    seen.read(&mut kafka, |seen| seen.ended).await;
    assert_eq!(seen.count(), 0);
}

#[tokio::test]
async fn reading_goes_on_when_a_broker_is_back() {
    let (cluster, topic) = mock(1);
    topic.fill(0, 0..10);
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut kafka, 1).await;
    cluster.broker_down(1).expect("stops the broker");
    assert!(timeout(Duration::from_millis(1500), away(&mut kafka)).await.is_err(), "an absent broker confirms nothing");
    cluster.broker_up(1).expect("starts the broker");
    topic.fill(0, 10..20);
    seen.read(&mut kafka, |seen| seen.count() == 20).await;
    assert_eq!(seen.events[&topic.partition(0)], (0..20).collect::<Vec<_>>());
}

/// Ends when the second step comes: one may be on its way when the broker goes.
async fn away(kafka: &mut Kafka) {
    for _ in 0..2 {
        kafka.next().await.expect("waits");
    }
}

#[tokio::test]
async fn the_end_of_a_partition_is_confirmed_again_and_again() {
    let (_cluster, topic) = mock(1);
    topic.fill(0, 0..1);
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    for _ in 0..3 {
        seen.read_up(&mut kafka, 1).await;
    }
    assert_eq!(seen.count(), 1);
}

#[tokio::test]
async fn a_topic_that_does_not_exist_is_named() {
    let (cluster, _) = mock(1);
    let topic = Topic::at(&cluster.bootstrap_servers(), "evnets");
    // the mock makes topics that are asked for, unless it is told to fail
    cluster
        .topic_error("evnets", rdkafka::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        .expect("fails for a topic");
    let expected = format!("topic evnets does not exist at {}: create it, or correct source.topic", topic.brokers);
    assert_eq!(failure(&mut topic.open()).await.to_string(), expected);
    assert_eq!(failure(&mut topic.bounded()).await.to_string(), expected);
}

#[tokio::test]
async fn a_wrong_option_is_named() {
    let (_cluster, topic) = mock(1);
    let error = |key, value| topic.open_with(Offset::Earliest, &[(key, value)]).err().expect("is refused").to_string();
    let unknown = "source.options.sasl.pasword: no option of librdkafka; its CONFIGURATION.md lists those there are";
    assert_eq!(error("sasl.pasword", "secret"), unknown);
    assert!(error("sasl.jaas.config", "secret").starts_with("source.options.sasl.jaas.config: only Plain"));
    assert!(error("session.timeout.ms", "soon").starts_with("source.options.session.timeout.ms: "));
    for (key, value) in [("enable.auto.commit", "false"), ("max.poll.records", "500")] {
        assert!(topic.open_with(Offset::Earliest, &[(key, value)]).is_ok(), "{key} is ignored");
    }
}
