//! A topic to write to, and readers of it.

use rankwright_config::{EventFormat, Offset, SourceConfig, SourceKind};
use rankwright_source::{Error, Kafka};
use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer};
use std::collections::BTreeMap;

pub(crate) use crate::seen::{LONG, event, settings};

pub(crate) type Cluster = MockCluster<'static, DefaultProducerContext>;

/// A topic of one cluster.
pub(crate) struct Topic {
    pub(crate) brokers: String,
    pub(crate) name: String,
    group: String,
    producer: BaseProducer,
}

/// A mock cluster with the topic `events`.
pub(crate) fn mock(partitions: i32) -> (Cluster, Topic) {
    let cluster = MockCluster::new(1).expect("starts a mock cluster");
    cluster.create_topic("events", partitions, 1).expect("makes a topic");
    let topic = Topic::at(&cluster.bootstrap_servers(), "events");
    (cluster, topic)
}

impl Topic {
    pub(crate) fn at(brokers: &str, name: &str) -> Self {
        let producer = ClientConfig::new().set("bootstrap.servers", brokers).create().expect("makes a producer");
        Self { brokers: brokers.to_owned(), name: name.to_owned(), group: "readers".to_owned(), producer }
    }

    /// The same topic, read by another group.
    pub(crate) fn with_group(self, group: &str) -> Self {
        Self { group: group.to_owned(), ..self }
    }

    pub(crate) fn send(&self, partition: i32, message: &str) {
        self.send_at(partition, message, None);
    }

    /// Sends a message with the broker's time set.
    pub(crate) fn send_at(&self, partition: i32, message: &str, time: Option<i64>) {
        let record = BaseRecord::<(), str>::to(&self.name).partition(partition).payload(message);
        let record = BaseRecord { timestamp: time, ..record };
        self.producer.send(record).map_err(|(error, _)| error).expect("queues a message");
    }

    pub(crate) fn flush(&self) {
        self.producer.flush(LONG).expect("sends messages");
    }

    /// Sends the events of these numbers.
    pub(crate) fn fill(&self, partition: i32, numbers: std::ops::Range<u64>) {
        numbers.for_each(|number| self.send(partition, &event(number, 1000)));
        self.flush();
    }

    pub(crate) fn config(&self, offset: Offset, options: &[(&str, &str)]) -> SourceConfig {
        let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let kind = SourceKind::Kafka {
            brokers: vec![self.brokers.clone()],
            topic: self.name.clone(),
            group_id: self.group.clone(),
            options: options.collect::<BTreeMap<_, _>>(),
        };
        SourceConfig { offset, format: EventFormat::Json, kind, dead_letter: None }
    }

    /// A member of the group. The mock waits for others nearly as long as a session lasts before it shares partitions.
    pub(crate) fn open(&self) -> Kafka {
        let soon = [("session.timeout.ms", "3000"), ("heartbeat.interval.ms", "300")];
        self.open_with(Offset::Earliest, &soon).expect("opens a reader")
    }

    pub(crate) fn open_with(&self, offset: Offset, options: &[(&str, &str)]) -> Result<Kafka, Error> {
        Kafka::open(&self.config(offset, options), settings())
    }

    pub(crate) fn bounded(&self) -> Kafka {
        Kafka::bounded(&self.config(Offset::Earliest, &[]), settings()).expect("opens a reader")
    }

    pub(crate) fn partition(&self, number: i32) -> String {
        format!("kafka:{}/{number}", self.name)
    }
}
