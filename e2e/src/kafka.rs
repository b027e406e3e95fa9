//! Topics of a real broker.

use crate::random::Random;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Headers, Message};
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use serde_json::Value;
use std::time::{Duration, Instant};

const LONG: Duration = crate::wait::PATIENCE;

/// Where the broker is; `None`, after a line that says so, without one.
///
/// # Panics
/// Without one, where no test may be skipped.
pub fn broker() -> Option<String> {
    let address = std::env::var("RANKWRIGHT_TEST_KAFKA").ok();
    if address.is_none() {
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "RANKWRIGHT_TEST_KAFKA is not set");
        println!("SKIPPED: RANKWRIGHT_TEST_KAFKA names no broker");
    }
    address
}

/// Makes a topic of this number of partitions.
///
/// # Panics
/// When the broker does not.
pub fn make_topic(broker: &str, topic: &str, partitions: usize) {
    let mut client = ClientConfig::new();
    let admin: AdminClient<DefaultClientContext> =
        client.set("bootstrap.servers", broker).create().expect("makes an administrator");
    let new = NewTopic::new(topic, partitions as i32, TopicReplication::Fixed(1)).set("retention.ms", "-1");
    let options = AdminOptions::new().operation_timeout(Some(LONG));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("starts");
    let mut asked = runtime.block_on(admin.create_topics([&new], &options));
    if let Err(KafkaError::AdminOp(RDKafkaErrorCode::OperationTimedOut)) = asked {
        // a broker that stood still for a minute may have made it all the same
        asked = runtime.block_on(admin.create_topics([&new], &options));
    }
    for made in asked.expect("asks for a topic") {
        match made {
            Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
            Err((topic, code)) => panic!("the topic {topic} was not made: {code}"),
        }
    }
}

/// Where events go, in their order: what concerns one list goes anywhere.
pub fn spread(events: &[Value], count: usize, random: &mut Random) -> Vec<Vec<String>> {
    let mut partitions = vec![Vec::new(); count];
    for event in events {
        partitions[random.below(count)].push(event.to_string());
    }
    partitions
}

/// Sends messages to the partitions of a topic.
///
/// # Panics
/// When the broker does not take them.
pub fn produce(broker: &str, topic: &str, partitions: &[Vec<String>]) {
    let mut client = ClientConfig::new();
    let producer: ThreadedProducer<DefaultProducerContext> =
        client.set("bootstrap.servers", broker).create().expect("makes a producer");
    for (number, messages) in partitions.iter().enumerate() {
        for message in messages {
            let record = BaseRecord::<(), _>::to(topic).partition(number as i32).payload(message.as_bytes());
            producer.send(record).unwrap_or_else(|(error, _)| panic!("{error}"));
        }
        producer.flush(LONG).expect("is taken");
    }
}

/// Waits until a group has no member, and the broker takes none for alive.
///
/// # Panics
/// When that takes too long.
pub fn until_deserted(broker: &str, group: &str) {
    let consumer: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", broker).create().expect("makes a consumer");
    let members = || {
        let groups = consumer.fetch_group_list(Some(group), LONG).expect("tells of the group");
        groups.groups().iter().map(|group| group.members().len()).sum::<usize>()
    };
    crate::wait::until("deserted", || format!("{} are in {group}", members()), || members() == 0);
}

/// The next message of a topic's first partition: its text, and its headers as `name=text`.
///
/// # Panics
/// When none comes in time.
pub fn first_message(broker: &str, topic: &str) -> (String, Vec<String>) {
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", broker).set("group.id", topic).set("auto.offset.reset", "earliest");
    let consumer: BaseConsumer = client.create().expect("makes a consumer");
    consumer.subscribe(&[topic]).expect("a topic can be named");
    let began = Instant::now();
    let message = loop {
        match consumer.poll(Duration::from_millis(200)) {
            Some(Ok(message)) => break message,
            _ => assert!(began.elapsed() < LONG, "no message in time"), // others are moves of partitions
        }
    };
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let headers = message.headers().into_iter().flat_map(|headers| headers.iter());
    let headers = headers.map(|header| format!("{}={}", header.key, text(header.value))).collect();
    (text(message.payload()), headers)
}
