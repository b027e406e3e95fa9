//! A real broker, at the address in `RANKWRIGHT_TEST_KAFKA`: what the mock does not do.

use crate::group;
use crate::seen::{Seen, failure};
use crate::topic::{LONG, Topic, event, settings};
use rankwright_config::Offset;
use rankwright_event::Timestamp;
use rankwright_source::{Kafka, Lag, Stream, StreamSettings};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::{ClientConfig, TopicPartitionList};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Where the broker is; `None`, after a line that says so, without one.
fn address() -> Option<String> {
    let address = std::env::var("RANKWRIGHT_TEST_KAFKA").ok().filter(|address| !address.is_empty());
    if address.is_none() {
        let required = std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() == Ok("1");
        assert!(!required, "RANKWRIGHT_TEST_KAFKA is not set");
        println!("SKIPPED: RANKWRIGHT_TEST_KAFKA is not set");
    }
    address
}

/// The broker's listener `after` ports behind the plain one: SASL over TLS is the next, SASL without it the second.
fn listener(address: &str, after: u16) -> String {
    let (host, port) = address.rsplit_once(':').expect("an address has a port");
    format!("{host}:{}", port.parse::<u16>().expect("a port is a number") + after)
}

fn admin(brokers: &str) -> AdminClient<DefaultClientContext> {
    ClientConfig::new().set("bootstrap.servers", brokers).create().expect("makes an administrator")
}

/// A topic of its own, with a group of its own.
async fn topic(brokers: &str, partitions: i32) -> Topic {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    // messages of 1970 are kept
    let new = NewTopic::new(&name, partitions, TopicReplication::Fixed(1)).set("retention.ms", "-1");
    let made = admin(brokers).create_topics([&new], &AdminOptions::new().operation_timeout(Some(LONG))).await;
    made.expect("asks for a topic").pop().expect("one answer").expect("makes the topic");
    Topic::at(brokers, &name).with_group(&name)
}

/// What is read of one partition with this offset.
async fn read_from(topic: &Topic, offset: Offset) -> Vec<u64> {
    let mut kafka = topic.open_with(offset, &[]).expect("opens a reader");
    let mut seen = Seen::default();
    seen.read_up(&mut kafka, 1).await;
    Box::new(kafka).close().await;
    seen.events.remove(&topic.partition(0)).unwrap_or_default()
}

#[tokio::test]
async fn a_topic_that_is_made_anew_while_it_is_read_is_read_on() {
    let Some(brokers) = address() else { return };
    let topic = topic(&brokers, 1).await;
    const BEFORE: u64 = 5000;
    topic.fill(0, 0..BEFORE);
    let mut kafka = topic.open();
    let mut seen = Seen::default();
    seen.read(&mut kafka, |seen| seen.count() >= BEFORE as usize).await;
    let (admin, options) = (admin(&brokers), AdminOptions::new().operation_timeout(Some(LONG)));
    let deleted = admin.delete_topics(&[&topic.name], &options).await.expect("asks").pop().expect("one answer");
    deleted.expect("deletes the topic");
    // it is deleted a moment after that was said
    let begun = std::time::Instant::now();
    loop {
        let new = NewTopic::new(&topic.name, 1, TopicReplication::Fixed(1)).set("retention.ms", "-1");
        let made = admin.create_topics([&new], &options).await.expect("asks").pop().expect("one answer");
        match made {
            Ok(_) => break,
            Err(error) => assert!(begun.elapsed() < LONG, "{error:?}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // what is there when that is noticed is not read; what comes later is, long before there are as many messages as before
    let again = Topic::at(&brokers, &topic.name);
    for number in BEFORE.. {
        assert!(number < BEFORE + 2000, "nothing is read any more");
        again.fill(0, number..number + 1);
        let end = tokio::time::Instant::now() + Duration::from_millis(200);
        while let Ok(step) = tokio::time::timeout_at(end, kafka.next()).await {
            seen.take(&mut kafka, step.expect("reads on")).await;
        }
        if seen.count() > BEFORE as usize {
            break;
        }
    }
    Box::new(kafka).close().await;
}

#[tokio::test]
async fn offsets_by_time_begin_at_the_first_message_of_that_time() {
    let Some(brokers) = address() else { return };
    let topic = topic(&brokers, 1).await;
    // the clock of the tests stands at 10 seconds
    let times = (1000..).step_by(900);
    (0..10).zip(times).for_each(|(number, time)| topic.send_at(0, &event(number, 1000), Some(time)));
    topic.flush();
    assert_eq!(read_from(&topic, Offset::Earliest).await, (0..10).collect::<Vec<_>>());
    assert_eq!(read_from(&topic, Offset::At(Timestamp::from_millis(6500))).await, [7, 8, 9]);
    assert_eq!(read_from(&topic, Offset::Last(Duration::from_secs(2))).await, [8, 9]);
    assert_eq!(read_from(&topic, Offset::Latest).await, [] as [u64; 0]);
}

#[tokio::test]
async fn a_member_goes_on_where_the_last_one_stopped() {
    let Some(brokers) = address() else { return };
    let topic = topic(&brokers, 2).await;
    topic.fill(0, 0..250);
    let (mut kafka, mut first) = (topic.open(), Seen::default());
    first.read(&mut kafka, |seen| seen.count() >= 150).await;
    Box::new(kafka).close().await;
    first.stored.get_mut(&topic.partition(0)).expect("a position was stored").line = 123;
    let (mut kafka, mut second) = (topic.open(), Seen::after(&first.stored));
    second.read_up(&mut kafka, 2).await;
    assert_eq!(second.events[&topic.partition(0)], (123..250).collect::<Vec<_>>());
}

#[tokio::test]
async fn members_of_a_real_group_keep_the_same_promises() {
    let Some(brokers) = address() else { return };
    group::each_event_is_read_once(&topic(&brokers, 4).await).await;
    group::nobody_gets_what_is_held(&topic(&brokers, 2).await).await;
    group::others_get_what_is_left(&topic(&brokers, 2).await).await;
    group::unanswered_members_leave(&topic(&brokers, 2).await).await;
}

#[tokio::test]
async fn a_partition_moves_with_its_position() {
    let Some(brokers) = address() else { return };
    let topic = topic(&brokers, 2).await;
    (0..2).for_each(|number| topic.fill(number, 0..100));
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut kafka, 2).await;
    let (mut other, mut others) = (topic.open(), Seen::after(&seen.stored));
    group::share((&mut kafka, &mut seen), (&mut other, &mut others), 1).await;
    (0..2).for_each(|number| topic.fill(number, 100..200));
    seen.read(&mut kafka, |seen| seen.count() == 300).await;
    others.read(&mut other, |others| others.count() == 100).await;
    let moved = others.ours.first().expect("one is theirs");
    assert_eq!(others.events[moved], (100..200).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_newer_group_protocol_shares_partitions_too() {
    let Some(brokers) = address() else { return };
    let topic = topic(&brokers, 2).await;
    let open = || topic.open_with(Offset::Earliest, &[("group.protocol", "consumer")]).expect("opens a reader");
    let (mut kafka, mut seen) = (open(), Seen::default());
    seen.read_up(&mut kafka, 2).await;
    let (mut other, mut others) = (open(), Seen::default());
    group::share((&mut kafka, &mut seen), (&mut other, &mut others), 1).await;
    Box::new(kafka).close().await;
    others.read(&mut other, |others| others.ours.len() == 2).await;
}

#[tokio::test]
async fn what_a_transaction_took_back_is_never_read() {
    let Some(brokers) = address() else { return };
    let topic = topic(&brokers, 1).await;
    let mut config = ClientConfig::new();
    let config = config.set("bootstrap.servers", &brokers).set("transactional.id", &topic.name);
    let producer: ThreadedProducer<DefaultProducerContext> = config.create().expect("makes a producer");
    producer.init_transactions(LONG).expect("begins transactions");
    for (number, kept) in [(1, true), (2, false), (3, true)] {
        producer.begin_transaction().expect("begins a transaction");
        let text = event(number, 1000);
        let record = BaseRecord::<(), str>::to(&topic.name).partition(0).payload(&text);
        producer.send(record).map_err(|(error, _)| error).expect("queues a message");
        if kept { producer.commit_transaction(LONG) } else { producer.abort_transaction(LONG) }.expect("ends it");
    }
    let (mut kafka, mut seen) = (topic.open(), Seen::default());
    seen.read_up(&mut kafka, 1).await;
    assert_eq!(seen.events[&topic.partition(0)], [1, 3]);
    assert_eq!((seen.bad.len(), kafka.lag()[0].1), (0, Lag::of(0)), "the marks of transactions are no messages");
    let (mut bounded, mut all) = (topic.bounded(), Seen::default());
    all.read(&mut bounded, |seen| seen.ended).await;
    assert_eq!(all.events[&topic.partition(0)], [1, 3]);
}

#[tokio::test]
async fn reading_goes_on_at_the_oldest_message_after_the_broker_removed_some() {
    let Some(brokers) = address() else { return };
    let topic = topic(&brokers, 1).await;
    topic.fill(0, 0..100);
    let (mut kafka, mut first) = (topic.open(), Seen::default());
    first.read_up(&mut kafka, 1).await;
    Box::new(kafka).close().await;
    first.stored.get_mut(&topic.partition(0)).expect("a position was stored").line = 10;
    let mut before = TopicPartitionList::new();
    before.add_partition_offset(&topic.name, 0, rdkafka::Offset::Offset(60)).expect("names an offset");
    admin(&brokers).delete_records(&before, &AdminOptions::new()).await.expect("removes messages");
    let (mut kafka, mut second) = (topic.open(), Seen::after(&first.stored));
    second.read_up(&mut kafka, 1).await;
    assert_eq!(second.events[&topic.partition(0)], (60..100).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_missing_topic_is_named_by_a_real_broker() {
    let Some(brokers) = address() else { return };
    let topic = Topic::at(&brokers, "nobody-made-this");
    let expected = format!("topic nobody-made-this does not exist at {brokers}: create it, or correct source.topic");
    assert_eq!(failure(&mut topic.open()).await.to_string(), expected);
    assert_eq!(failure(&mut topic.bounded()).await.to_string(), expected);
}

/// A reader that comes in by SASL, with this password.
fn with_password(topic: &Topic, protocol: &str, password: &str) -> Kafka {
    as_user("test", topic, protocol, password)
}

fn as_user(name: &str, topic: &Topic, protocol: &str, password: &str) -> Kafka {
    let options = [
        ("security.protocol", protocol),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("sasl.username", name),
        ("sasl.password", password),
        ("enable.ssl.certificate.verification", "false"),
    ];
    topic.open_with(Offset::Earliest, &options).expect("opens a reader")
}

#[tokio::test]
async fn credentials_and_encryption_come_from_the_options() {
    let Some(brokers) = address() else { return };
    let mut topic = topic(&brokers, 1).await;
    topic.fill(0, 0..3);
    for (after, protocol) in [(1, "SASL_SSL"), (2, "SASL_PLAINTEXT")] {
        topic.brokers = listener(&brokers, after);
        let (mut kafka, mut seen) = (with_password(&topic, protocol, "secret"), Seen::default());
        seen.read_up(&mut kafka, 1).await;
        assert_eq!(seen.events[&topic.partition(0)], [0, 1, 2]);
        Box::new(kafka).close().await;
    }
}

#[tokio::test]
async fn wrong_credentials_end_the_reading_with_one_line() {
    let Some(brokers) = address() else { return };
    let mut topic = topic(&brokers, 1).await;
    topic.brokers = listener(&brokers, 2);
    let error = failure(&mut with_password(&topic, "SASL_PLAINTEXT", "wrong")).await.to_string();
    let start = format!("{} refused the credentials of source.options, or of the environment: ", topic.brokers);
    assert!(error.starts_with(&start), "{error}");
    assert!(!error.contains("wrong"), "{error}");
}

#[tokio::test]
async fn a_right_that_is_missing_is_told() {
    let Some(brokers) = address() else { return };
    let mut topic = topic(&brokers, 1).await;
    topic.fill(0, 0..3);
    topic.brokers = listener(&brokers, 2);
    let error = failure(&mut as_user("guest", &topic, "SASL_PLAINTEXT", "secret")).await.to_string();
    let start = format!("{} does not allow reading topic {} as group {}: grant", topic.brokers, topic.name, topic.name);
    assert!(error.starts_with(&start), "{error}");
    assert!(error.contains("authorization failed"), "{error}");
}

#[tokio::test]
async fn a_topic_that_is_removed_while_it_is_read_is_lost_when_it_stays_away() {
    let Some(brokers) = address() else { return };
    let topic = topic(&brokers, 1).await;
    topic.fill(0, 0..3);
    let often = [("topic.metadata.refresh.interval.ms", "500"), ("topic.metadata.propagation.max.ms", "500")];
    let settings = StreamSettings { gone_after: Duration::from_secs(1), ..settings() };
    let mut kafka = Kafka::open(&topic.config(Offset::Earliest, &often), settings).expect("opens a reader");
    Seen::default().read_up(&mut kafka, 1).await;
    let removed =
        admin(&brokers).delete_topics(&[&topic.name], &AdminOptions::new().operation_timeout(Some(LONG))).await;
    removed.expect("asks").pop().expect("one answer").expect("removes the topic");
    let ended = tokio::time::timeout(LONG, failure(&mut kafka)).await.expect("it ends");
    assert!(ended.to_string().contains(&topic.name), "{ended}");
}
