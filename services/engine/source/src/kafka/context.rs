//! What the client tells while it is polled: partitions that come and go, how far they reach, why something failed.
//!
//! Nothing is decided here. A revocation in particular is only passed on: the client gives partitions up when the loop
//! has heard of it, which is later.

use super::assignment::{logged, release};
use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::statistics::Statistics;
use rdkafka::types::RDKafkaRespErr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// A broker that has not answered for this time confirms nothing; in microseconds.
const FRESH: i64 = 2_000_000;

/// What the client tells, besides messages.
#[derive(Debug)]
pub(super) enum Event {
    Assigned(Vec<i32>),
    Revoked(Vec<i32>),
    /// How far partitions reach, about once a second.
    Ends(Vec<End>),
}

/// How far a partition reaches.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) number: i32,
    /// Offset behind the last message that may be read.
    pub(super) offset: i64,
    /// The broker answered just now, and the client has fetched everything before the offset.
    pub(super) reached: bool,
    /// When that was so.
    pub(super) at: Instant,
}

/// The client's listener.
pub(super) struct Context {
    topic: String,
    events: UnboundedSender<Event>,
    closing: AtomicBool,
    reason: Mutex<String>,
    /// Before the client was made.
    made: Instant,
}

impl Context {
    /// A listener that passes on what it hears of one topic.
    pub(super) fn new(topic: &str, events: UnboundedSender<Event>) -> Self {
        let (topic, closing, reason) = (topic.to_owned(), AtomicBool::new(false), Mutex::default());
        Self { topic, events, closing, reason, made: Instant::now() }
    }

    /// From now on the reader does not listen: partitions are given up at once.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Release);
    }

    /// The client's words on the error that it reported last.
    pub(super) fn reason(&self) -> String {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, event: Event) {
        // it fails when the reader is gone
        self.events.send(event).unwrap_or_default();
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(target: "librdkafka", ?level, facility, "{message}");
    }

    fn stats(&self, statistics: Statistics) {
        let Some(topic) = statistics.topics.get(&self.topic) else { return };
        let answers = |id: i32| {
            let leader = statistics.brokers.values().find(|broker| broker.nodeid == id);
            leader.is_some_and(|broker| broker.state == "UP" && (0..FRESH).contains(&broker.rxidle))
        };
        // they may have waited for the reader to listen
        let at = self.made + Duration::from_micros(u64::try_from(statistics.age).unwrap_or(0));
        let partitions = topic.partitions.values().filter(|partition| partition.ls_offset >= 0);
        let ends = partitions.map(|partition| End {
            number: partition.partition,
            offset: partition.ls_offset,
            reached: partition.eof_offset == partition.ls_offset && answers(partition.leader),
            at,
        });
        self.tell(Event::Ends(ends.collect()));
    }

    fn error(&self, _error: KafkaError, reason: &str) {
        reason.clone_into(&mut self.reason.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl ConsumerContext for Context {
    fn rebalance(&self, consumer: &BaseConsumer<Self>, kind: RDKafkaRespErr, list: &mut TopicPartitionList) {
        let numbers: Vec<_> = list.elements().iter().map(|element| element.partition()).collect();
        if self.closing.load(Ordering::Acquire) {
            logged("give up partitions", release(consumer, &numbers));
        } else if kind == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            self.tell(Event::Assigned(numbers));
        } else {
            self.tell(Event::Revoked(numbers));
        }
    }
}
