//! Events from a Kafka topic, read by the members of a group.
//!
//! librdkafka fetches ahead, on threads of its own and within fixed bounds; a reader is polled by the loop that drives
//! it, so a loop that is busy is all the back-pressure it takes. The positions are the loop's. Partitions move between
//! members one by one (cooperatively), and a member gives one up only when its loop has heard of it.

mod assignment;
mod begin;
mod context;
mod error;
mod java;
mod offset;
mod options;
mod reading;
mod steps;
mod trouble;

pub use error::Error as KafkaError;
pub(crate) use options::{check_all, connection};

use crate::building::Building;
use crate::stream::{BoxFuture, Lag, Partition, Step, Stream, StreamSettings};
use crate::{Error, Position};
use assignment::{acknowledge, logged, note, release};
use context::{Context, Event};
use rankwright_config::{SourceConfig, SourceKind};
use rankwright_event::Timestamp;
use rdkafka::consumer::{Consumer, StreamConsumer};
use reading::Reading;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::oneshot;
use tokio::time::timeout;
use trouble::Trouble;

/// Leaving a group waits for the broker, and no longer than this: librdkafka 2 drops an answer to a rebalance that comes when the group
/// has ended, and its caller waits forever (`rd_kafka_cgrp_op_serve`).
const LEAVES_WITHIN: Duration = Duration::from_secs(20);

/// A reader of a topic.
pub struct Kafka {
    consumer: Arc<StreamConsumer<Context>>,
    events: UnboundedReceiver<Event>,
    topic: String,
    settings: StreamSettings,
    /// First message to read where no position is known.
    since: Option<Timestamp>,
    /// Every partition is read to where it ended, and not shared with other readers.
    bounded: bool,
    begun: bool,
    assigned: BTreeSet<i32>,
    /// Partitions that are read.
    readings: BTreeMap<i32, Reading>,
    /// Of these a message came that lies before what was read.
    doubted: BTreeSet<i32>,
    building: Building<i32>,
    /// Found, and not handed out.
    steps: VecDeque<Step>,
    /// An assignment was handed out; the next call says that it was heard of.
    owed: bool,
    /// Handed out as revoked, and given up at the next call.
    revoked: Vec<i32>,
    trouble: Trouble,
}

impl Kafka {
    /// A member of the configured group, which reads what arrives. Connects when it is first asked for a step.
    ///
    /// # Errors
    /// When the configuration asks for what cannot be.
    pub fn open(source: &SourceConfig, settings: StreamSettings) -> Result<Self, Error> {
        Self::with(source, settings, false)
    }

    /// A reader of all partitions that are there, each to where it ended when its reading started. It is no member of
    /// the group: what members read makes no difference, and offsets noted are not kept.
    ///
    /// # Errors
    /// When the configuration asks for what cannot be.
    pub fn bounded(source: &SourceConfig, settings: StreamSettings) -> Result<Self, Error> {
        Self::with(source, settings, true)
    }

    fn with(source: &SourceConfig, settings: StreamSettings, bounded: bool) -> Result<Self, Error> {
        let SourceKind::Kafka { brokers, topic, group_id, options } = &source.kind else {
            return Err(Error::Unavailable { what: "this source as a Kafka topic".to_owned() });
        };
        let (told, events) = mpsc::unbounded_channel();
        let brokers = brokers.join(",");
        let config = options::client(&brokers, group_id, options)?;
        let consumer = config.create_with_context(Context::new(topic, told));
        let consumer = consumer.map_err(|error| KafkaError::Options(error.to_string()))?;
        Ok(Self {
            consumer: Arc::new(consumer),
            events,
            topic: topic.clone(),
            since: offset::since(source.offset, (settings.clock)()),
            bounded,
            begun: false,
            assigned: BTreeSet::new(),
            readings: BTreeMap::new(),
            doubted: BTreeSet::new(),
            building: Building::new(settings.limits, source.format),
            settings,
            steps: VecDeque::new(),
            owed: false,
            revoked: Vec::new(),
            trouble: Trouble::new(brokers, topic.clone(), group_id.clone()),
        })
    }
}

impl Stream for Kafka {
    fn next(&mut self) -> BoxFuture<'_, Result<Step, Error>> {
        Box::pin(self.step())
    }

    fn all(&mut self) -> BoxFuture<'_, Result<Vec<Partition>, Error>> {
        Box::pin(async move {
            let numbers = self.all_partitions().await?;
            Ok(self.partitions(&numbers))
        })
    }

    fn start<'a>(
        &'a mut self,
        partition: &'a Partition,
        from: Option<Position>,
    ) -> BoxFuture<'a, Result<Position, Error>> {
        Box::pin(self.begin(partition, from))
    }

    fn note(&mut self, partition: &Partition, position: &Position) {
        let known = number(&self.topic, partition).filter(|number| self.readings.contains_key(number));
        if let (Some(number), false) = (known, self.bounded) {
            logged("note an offset", note(&*self.consumer, &self.topic, number, position.line));
        }
    }

    fn lag(&self) -> Vec<(Partition, Lag)> {
        let readings = self.readings.values();
        readings.filter_map(|reading| Some((reading.partition.clone(), Lag::of(reading.lag()?)))).collect()
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        let topic = self.topic.clone();
        let (told, left) = oneshot::channel();
        // not a thread of the runtime, which would wait for it at its end
        let thread = std::thread::Builder::new().name("kafka-leave".to_owned());
        let leaves = thread.spawn(move || {
            drop(self);
            told.send(()).unwrap_or_default(); // it fails when the wait has ended
        });
        Box::pin(async move {
            if leaves.is_ok() && timeout(LEAVES_WITHIN, left).await.is_err() {
                tracing::warn!(topic, within = ?LEAVES_WITHIN, "a reader did not leave its group in time: the broker gives its partitions to others when its session ends");
            }
        })
    }
}

impl Drop for Kafka {
    /// The client waits for answers to its notices, and none will come any more.
    fn drop(&mut self) {
        self.consumer.context().close();
        logged("take partitions", acknowledge(&*self.consumer));
        let numbers: Vec<_> = self.readings.keys().chain(&self.revoked).copied().collect();
        logged("give up partitions", release(&*self.consumer, &numbers));
    }
}

/// The name of a partition.
fn partition(topic: &str, number: i32) -> Partition {
    Partition::new(format!("kafka:{topic}/{number}"))
}

/// The number of a partition of this topic.
fn number(topic: &str, named: &Partition) -> Option<i32> {
    let (_, number) = named.as_str().rsplit_once('/')?;
    number.parse().ok().filter(|number| partition(topic, *number) == *named)
}
