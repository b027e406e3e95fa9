//! Events from a Kafka topic, read by the members of a group.
//!
//! librdkafka fetches ahead, on threads of its own and within fixed bounds; a reader is polled by the loop that drives
//! it, so a loop that is busy is all the back-pressure it takes. The positions are the loop's. Partitions move between
//! members one by one (cooperatively), and a member gives one up only when its loop has heard of it.

mod assignment;
mod begin;
mod building;
mod context;
mod decode;
mod error;
mod options;
mod reading;
mod trouble;

pub use building::BatchLimits;
pub use error::Error as KafkaError;

use crate::stream::{BoxFuture, Partition, Step, Stream};
use crate::{Error, Position, Progress};
use assignment::{acknowledge, logged, note, release};
use building::{Building, Message as Text};
use context::{Context, End, Event};
use futures_util::FutureExt;
use rankwright_config::{EventFormat, SourceConfig, SourceKind};
use rankwright_event::Timestamp;
use rdkafka::Message;
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::error::KafkaError as RdError;
use rdkafka::message::BorrowedMessage;
use reading::Reading;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use trouble::Trouble;

/// The wall clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How a topic is read, besides what its configuration says.
#[derive(Clone)]
pub struct KafkaSettings {
    /// How large batches become.
    pub limits: BatchLimits,
    /// The wall clock.
    pub clock: Clock,
    /// Events so far ahead of it are bad.
    pub max_ahead: Duration,
}

/// A reader of a topic.
pub struct Kafka {
    consumer: Arc<StreamConsumer<Context>>,
    events: UnboundedReceiver<Event>,
    topic: String,
    settings: KafkaSettings,
    /// First message to read where no position is known.
    since: Option<Timestamp>,
    /// Every partition is read to where it ended, and nobody shares them.
    bounded: bool,
    begun: bool,
    assigned: BTreeSet<i32>,
    /// Partitions that are read.
    readings: BTreeMap<i32, Reading>,
    building: Building,
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
    pub fn open(source: &SourceConfig, settings: KafkaSettings) -> Result<Self, Error> {
        Self::with(source, settings, false)
    }

    /// A reader of all partitions that are there, each to where it ended when its reading started. It is no member of
    /// the group: what members read makes no difference, and offsets noted are not kept.
    ///
    /// # Errors
    /// When the configuration asks for what cannot be.
    pub fn bounded(source: &SourceConfig, settings: KafkaSettings) -> Result<Self, Error> {
        Self::with(source, settings, true)
    }

    fn with(source: &SourceConfig, settings: KafkaSettings, bounded: bool) -> Result<Self, Error> {
        let SourceKind::Kafka { brokers, topic, group_id, options } = &source.kind else {
            return Err(Error::Unavailable { what: "this source as a Kafka topic".to_owned() });
        };
        if source.format != EventFormat::Json {
            return Err(Error::Unavailable { what: "format snowplow".to_owned() });
        }
        let (told, events) = mpsc::unbounded_channel();
        let brokers = brokers.join(",");
        let config = options::client(&brokers, group_id, options)?;
        let consumer = config.create_with_context(Context::new(topic, told));
        let consumer = consumer.map_err(|error| KafkaError::Options(error.to_string()))?;
        Ok(Self {
            consumer: Arc::new(consumer),
            events,
            topic: topic.clone(),
            since: begin::since(source.offset, (settings.clock)()),
            bounded,
            begun: false,
            assigned: BTreeSet::new(),
            readings: BTreeMap::new(),
            building: Building::new(settings.limits),
            settings,
            steps: VecDeque::new(),
            owed: false,
            revoked: Vec::new(),
            trouble: Trouble::new(brokers, topic.clone(), group_id.clone()),
        })
    }

    async fn step(&mut self) -> Result<Step, Error> {
        self.answer().await?;
        let consumer = Arc::clone(&self.consumer);
        loop {
            if let Some(step) = self.steps.pop_front() {
                return Ok(self.hand_out(step));
            }
            let due = self.building.due();
            if due.is_some_and(|due| due <= Instant::now()) {
                self.finish_batches();
            } else if let Some(received) = consumer.recv().now_or_never() {
                self.receive(received)?; // the common case, without the cost of waiting
            } else {
                tokio::select! {
                    biased;
                    Some(event) = self.events.recv() => self.hear(event),
                    () = sleep_until(due) => {}
                    received = consumer.recv() => self.receive(received)?,
                }
            }
        }
    }

    /// Does what the step before has left to do, and connects at first.
    async fn answer(&mut self) -> Result<(), Error> {
        if !self.begun {
            self.connect().await?;
        }
        if std::mem::take(&mut self.owed) && !self.bounded {
            logged("take partitions", acknowledge(&*self.consumer));
        }
        let revoked = std::mem::take(&mut self.revoked);
        if !revoked.is_empty() {
            logged("give up partitions", release(&*self.consumer, &revoked));
        }
        Ok(())
    }

    async fn connect(&mut self) -> Result<(), Error> {
        if self.bounded {
            let numbers = self.all_partitions().await?;
            self.hear(Event::Assigned(numbers));
        } else {
            let subscribed = self.consumer.subscribe(&[&self.topic]);
            subscribed.map_err(|error| KafkaError::Options(error.to_string()))?;
        }
        self.begun = true;
        Ok(())
    }

    fn hand_out(&mut self, mut step: Step) -> Step {
        match &mut step {
            Step::Assigned(_) => self.owed = true,
            Step::Revoked(partitions) => {
                self.revoked = partitions.iter().filter_map(|partition| number(&self.topic, partition)).collect();
            }
            Step::Batch { batch, .. } => batch.progress = self.progress(),
            Step::CaughtUp(_) | Step::Ended => {}
        }
        step
    }

    fn progress(&self) -> Progress {
        let parts = self.readings.values().map(Reading::progress);
        let (read, total) = parts.fold((0, 0), |(read, total), part| (read + part.0, total + part.1));
        Progress { read, total }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Assigned(numbers) if numbers.is_empty() => {
                logged("take partitions", acknowledge(&*self.consumer));
            }
            Event::Assigned(numbers) => {
                self.trouble.over();
                self.steps.push_back(Step::Assigned(self.partitions(&numbers)));
                self.assigned.extend(numbers);
            }
            Event::Revoked(numbers) => {
                for number in &numbers {
                    self.assigned.remove(number);
                    self.readings.remove(number);
                    self.building.take(*number); // for whoever has the partition next
                }
                self.steps.push_back(Step::Revoked(self.partitions(&numbers)));
            }
            Event::Ends(ends) => ends.into_iter().for_each(|end| self.confirm(end)),
        }
    }

    fn partitions(&self, numbers: &[i32]) -> Vec<Partition> {
        numbers.iter().map(|number| partition(&self.topic, *number)).collect()
    }

    fn confirm(&mut self, end: End) {
        let Some(reading) = self.readings.get_mut(&end.number) else { return };
        if reading.confirm(end) && !reading.done {
            self.steps.push_back(Step::CaughtUp(reading.partition.clone()));
            self.trouble.over();
        }
    }

    fn receive(&mut self, received: Result<BorrowedMessage<'_>, RdError>) -> Result<(), Error> {
        match received {
            Ok(message) => self.take(&message),
            Err(RdError::PartitionEOF(number)) => self.reach_end(number),
            Err(error) => self.trouble.judge(&error, self.consumer.context().reason())?,
        }
        Ok(())
    }

    fn take(&mut self, message: &BorrowedMessage<'_>) {
        let (number, offset) = (message.partition(), message.offset());
        let Some(reading) = self.readings.get_mut(&number) else { return };
        if reading.wants(offset) {
            let until = (self.settings.clock)().plus(self.settings.max_ahead);
            let text = Text { payload: message.payload().unwrap_or_default(), number, offset };
            reading.reach(offset);
            self.trouble.over();
            if self.building.push(&reading.partition, &text, until) {
                self.finish_batch(number);
            }
        }
        if self.readings.get(&number).is_some_and(|reading| reading.passes(offset)) {
            self.finish_reading(number);
        }
    }

    fn finish_batch(&mut self, number: i32) {
        let Some(reading) = self.readings.get(&number) else { return };
        if let Some(batch) = self.building.take(number) {
            self.steps.push_back(Step::Batch { partition: reading.partition.clone(), batch });
        }
    }

    fn finish_batches(&mut self) {
        self.building.numbers().into_iter().for_each(|number| self.finish_batch(number));
    }

    /// The last message that a partition holds was read.
    fn reach_end(&mut self, number: i32) {
        self.finish_batch(number);
        let Some(reading) = self.readings.get_mut(&number).filter(|reading| !reading.done) else { return };
        reading.reach_end();
        self.steps.push_back(Step::CaughtUp(reading.partition.clone()));
        self.trouble.over();
        if self.bounded {
            self.finish_reading(number);
        }
    }

    /// The bound of a partition was reached.
    fn finish_reading(&mut self, number: i32) {
        self.finish_batch(number);
        let Some(reading) = self.readings.get_mut(&number).filter(|reading| !reading.done) else { return };
        reading.done = true;
        self.steps.push_back(Step::CaughtUp(reading.partition.clone()));
        logged("stop reading a partition", release(&*self.consumer, &[number]));
        self.end_with_the_last();
    }

    fn end_with_the_last(&mut self) {
        let done = |number| self.readings.get(number).is_some_and(|reading: &Reading| reading.done);
        if self.bounded && self.assigned.iter().all(done) {
            self.steps.push_back(Step::Ended);
        }
    }
}

impl Stream for Kafka {
    fn next(&mut self) -> BoxFuture<'_, Result<Step, Error>> {
        Box::pin(self.step())
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

    fn lag(&self) -> Vec<(Partition, u64)> {
        let readings = self.readings.values();
        readings.filter_map(|reading| Some((reading.partition.clone(), reading.lag()?))).collect()
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        // leaving a group waits for the broker
        let left = tokio::task::spawn_blocking(move || drop(self));
        Box::pin(async move { left.await.unwrap_or_default() })
    }
}

impl Drop for Kafka {
    /// The client waits for whatever it told of and got no answer to: nobody will answer any more.
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

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
