//! Events from a topic of Pulsar, read through a subscription.
//!
//! With an `exclusive` or `failover` subscription each partition of the topic (a plain topic is one) has one reader at a time,
//! in order, and begins at the position that the loop keeps with its effects: every event counts exactly once. The broker
//! says whose a partition is, and is told how far it is committed; where its own cursor stands makes no difference.
//!
//! With a `shared` subscription the messages of the topic are dealt out to all readers in no order. They are acknowledged when
//! their batch is committed, and come again, to any reader, when that did not happen. So the loop has to remember the ids
//! of events, and an event that comes again later than it remembers counts twice.

mod commands;
mod connection;
mod entry;
mod error;
mod line;
mod options;
mod place;
mod reading;
mod service;
mod steps;
mod tls;
mod topic;
mod trouble;

pub use error::Error as PulsarError;

use crate::building::Building;
use crate::stream::{BoxFuture, Partition, Step, Stream, StreamSettings};
use crate::{Error, Position};
use ::pulsar::message::proto::MessageIdData;
use connection::{Connection, Fault, refused};
use line::{First, Line, News, Order, Plan, Role, Start};
use options::Options;
use place::Begin;
use rankwright_config::{EventFormat, Offset, SourceConfig, SourceKind, Subscription};
use service::Service;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use trouble::Trouble;

/// Between two attempts to ask a broker that is away.
const PAUSE: Duration = Duration::from_millis(500);
/// New partitions are found after so long.
const GROWTH: Duration = Duration::from_secs(30);

/// A reader of a topic.
pub struct Pulsar {
    plan: Arc<Plan>,
    /// The topic's whole name.
    topic: String,
    first: First,
    settings: StreamSettings,
    bounded: bool,
    /// Partitions have one reader at a time, and an order.
    ordered: bool,
    parts: Vec<Part>,
    tell: UnboundedSender<(usize, News)>,
    news: UnboundedReceiver<(usize, News)>,
    counts: UnboundedReceiver<u32>,
    count: UnboundedSender<u32>,
    /// The number of the last start.
    sessions: u64,
    building: Building<usize>,
    /// Found, and not handed out.
    steps: VecDeque<Step>,
    tasks: JoinSet<()>,
}

/// A partition of the topic.
struct Part {
    partition: Partition,
    orders: UnboundedSender<Order>,
    ours: bool,
    /// Of the start that counts.
    session: Option<u64>,
    /// A bounded reading has read it.
    done: bool,
    /// Without an order: what is in the batch that is put together.
    read: Vec<MessageIdData>,
    /// What was handed out and is not committed, by the batches' numbers.
    pending: BTreeMap<u64, Vec<MessageIdData>>,
    batches: u64,
}

impl Pulsar {
    /// A reader with the configured subscription, of what arrives. Connects when it is first asked for a step.
    ///
    /// # Errors
    /// When the configuration asks for what cannot be.
    pub fn open(source: &SourceConfig, settings: StreamSettings) -> Result<Self, Error> {
        Self::with(source, settings, false)
    }

    /// A reader of all partitions that are there, each to where it ended when its reading started. It has nothing to do
    /// with the subscription: what others read makes no difference, and positions noted are not kept.
    ///
    /// # Errors
    /// When the configuration asks for what cannot be.
    pub fn bounded(source: &SourceConfig, settings: StreamSettings) -> Result<Self, Error> {
        Self::with(source, settings, true)
    }

    fn with(source: &SourceConfig, settings: StreamSettings, bounded: bool) -> Result<Self, Error> {
        let SourceKind::Pulsar { service_url, topic, subscription_name, subscription_type, options, .. } = &source.kind
        else {
            return Err(Error::Unavailable { what: "this source as a topic of Pulsar".to_owned() });
        };
        if source.format != EventFormat::Json {
            return Err(Error::Unavailable { what: "format snowplow".to_owned() });
        }
        let options = Options::read(options)?;
        let role = match subscription_type {
            _ if bounded => Role::Bounded,
            Subscription::Exclusive => Role::Alone,
            Subscription::Failover => Role::Failover,
            Subscription::Shared => Role::Together,
        };
        let service = Service::new(service_url, options.clone())?;
        let plan = Plan { service, subscription: subscription_name.clone(), role, options };
        let first = match source.offset {
            Offset::Earliest => First::Earliest,
            Offset::Latest => First::Latest,
            Offset::At(time) => First::Since(time),
            Offset::Last(length) => First::Since((settings.clock)().minus(length)),
        };
        let (tell, news) = mpsc::unbounded_channel();
        let (count, counts) = mpsc::unbounded_channel();
        Ok(Self {
            plan: Arc::new(plan),
            topic: topic::whole(topic)?,
            first,
            bounded,
            ordered: role != Role::Together,
            parts: Vec::new(),
            tell,
            news,
            counts,
            count,
            sessions: 0,
            building: Building::new(settings.limits),
            settings,
            steps: VecDeque::new(),
            tasks: JoinSet::new(),
        })
    }

    /// Finds the partitions, and connects to each.
    async fn connect(&mut self) -> Result<(), Error> {
        if !self.parts.is_empty() {
            return Ok(());
        }
        let partitions = self.partitions().await?;
        for name in topic::parts(&self.topic, partitions) {
            self.add(name, self.first);
        }
        if self.bounded {
            self.steps.push_back(Step::Assigned(self.parts.iter().map(|part| part.partition.clone()).collect()));
        } else if partitions > 0 {
            self.tasks.spawn(watch(self.plan.clone(), self.topic.clone(), self.count.clone()));
        }
        Ok(())
    }

    fn add(&mut self, name: String, first: First) {
        let (orders, heard) = mpsc::unbounded_channel();
        let partition = self.partition(&name);
        let line = Line {
            trouble: self.trouble(),
            topic: name,
            number: self.parts.len(),
            plan: self.plan.clone(),
            first,
            orders: heard,
            news: self.tell.clone(),
            ours: false,
            asked: None,
            reading: None,
        };
        self.tasks.spawn(line.run());
        let (read, pending) = (Vec::new(), BTreeMap::new());
        let (ours, done) = (self.bounded, false);
        self.parts.push(Part { partition, orders, ours, session: None, done, read, pending, batches: 0 });
    }

    /// Partitions that were added to the topic have only messages that arrived since.
    fn grow(&mut self, partitions: u32) {
        let first = if self.first == First::Latest { First::Earliest } else { self.first };
        for name in topic::parts(&self.topic, partitions).into_iter().skip(self.parts.len()) {
            self.add(name, first);
        }
    }

    fn partition(&self, name: &str) -> Partition {
        Partition::new(format!("pulsar:{}", topic::short(name)))
    }

    fn trouble(&self) -> Trouble {
        Trouble::new(&self.plan.service.url, topic::short(&self.topic), &self.plan.subscription)
    }

    /// How many partitions the topic has, 0 of a plain one; asks until there is an answer.
    async fn partitions(&self) -> Result<u32, Error> {
        let mut trouble = self.trouble();
        loop {
            match count(&self.plan, &self.topic).await {
                Ok(partitions) => return Ok(partitions),
                Err(fault) => trouble.judge(fault)?,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn begin(&mut self, partition: &Partition, from: Option<Position>) -> Result<Position, Error> {
        let none = |position: String| PulsarError::Position { position, topic: topic::short(&self.topic).to_owned() };
        let number = self.parts.iter().position(|part| part.partition == *partition);
        let number = number.ok_or_else(|| none(partition.to_string()))?;
        let from = match from {
            Some(position) if position.file != partition.as_str() => return Err(none(position.to_string()).into()),
            Some(Position { at: Some(at), .. }) if self.ordered => Some(at.parse().map_err(|_| none(at.clone()))?),
            _ => None,
        };
        self.building.take(number);
        // what was read before is read again, or is behind already
        self.steps
            .retain(|step| !matches!(step, Step::Batch { partition: of, .. } | Step::CaughtUp(of) if of == partition));
        self.sessions += 1;
        let (begun, answer) = oneshot::channel();
        let part = &mut self.parts[number];
        part.session = Some(self.sessions);
        (part.done, part.read, part.pending) = (false, Vec::new(), BTreeMap::new());
        part.order(Order::Start(Start { session: self.sessions, from, begun }));
        let begin = self.await_start(number, answer).await?;
        let at = begin.or(from).map(|begin: Begin| begin.to_string());
        Ok(Position { at, ..Position::new(partition.as_str(), 0) })
    }

    /// Where reading begins; `None` when the partition is given up meanwhile.
    async fn await_start(
        &mut self,
        number: usize,
        mut answer: oneshot::Receiver<line::Begun>,
    ) -> Result<Option<Begin>, Error> {
        loop {
            tokio::select! {
                biased;
                Some((of, news)) = self.news.recv() => self.hear(of, news)?,
                begun = &mut answer => {
                    let Ok(begun) = begun else { return Ok(None) };
                    if self.bounded && begun.begin.after >= begun.last {
                        self.reach_end(number);
                    }
                    return Ok(Some(begun.begin));
                }
            }
            if !self.parts[number].ours {
                return Ok(None);
            }
        }
    }
}

impl Stream for Pulsar {
    fn next(&mut self) -> BoxFuture<'_, Result<Step, Error>> {
        Box::pin(self.step())
    }

    fn all(&mut self) -> BoxFuture<'_, Result<Vec<Partition>, Error>> {
        Box::pin(async move {
            let partitions = self.partitions().await?;
            // whose messages are dealt out is not known before, so nobody can be waited for
            let named = topic::parts(&self.topic, partitions).into_iter().filter(|_| self.ordered);
            Ok(named.map(|name| self.partition(&name)).collect())
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
        let part = self.parts.iter_mut().find(|part| part.partition == *partition && part.session.is_some());
        let (Some(part), Some(at)) = (part.filter(|_| !self.bounded), &position.at) else { return };
        if self.ordered {
            if let Ok(begin) = at.parse::<Begin>() {
                part.order(Order::Passed(begin.after));
            }
        } else if let Ok(batch) = at.parse::<u64>() {
            let later = part.pending.split_off(&(batch + 1));
            let done = std::mem::replace(&mut part.pending, later);
            part.order(Order::Done(done.into_values().flatten().collect()));
        }
    }

    fn ordered(&self) -> bool {
        self.ordered
    }

    /// Entries have no numbers that could be counted.
    fn lag(&self) -> Vec<(Partition, u64)> {
        Vec::new()
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        let mut tasks = std::mem::take(&mut self.tasks);
        drop(self); // with it the orders, for which connections wait
        Box::pin(async move {
            let left = async { while tasks.join_next().await.is_some() {} };
            tokio::time::timeout(PAUSE, left).await.unwrap_or_default();
        })
    }
}

impl Part {
    fn order(&self, order: Order) {
        // a connection that is gone has told why
        self.orders.send(order).unwrap_or_default();
    }
}

/// Asks how many partitions a topic has, and sees whether a plain one is there.
async fn count(plan: &Plan, topic: &str) -> Result<u32, Fault> {
    let mut connection = plan.service.connect().await?;
    let answer = connection.ask(commands::partitions(topic), commands::partitioned).await?;
    match answer.partitions {
        Some(0) => probe(plan, topic).await.map(|()| 0),
        Some(partitions) => Ok(partitions),
        None => Err(refused(answer.error.unwrap_or(0), answer.message)),
    }
}

/// Nothing but a reader finds out whether a plain topic is there.
async fn probe(plan: &Plan, topic: &str) -> Result<(), Fault> {
    let mut connection: Connection = plan.service.broker_of(topic).await?;
    let name = format!("{}-probe-{:016x}", plan.subscription, fastrand::u64(..));
    let reader = commands::reader(topic, name, 0, place::Place::START.id());
    connection.ask(commands::subscribe(reader), commands::done).await?;
    connection.ask(commands::close(0), commands::done).await
}

/// Tells when partitions are added.
async fn watch(plan: Arc<Plan>, topic: String, told: UnboundedSender<u32>) {
    loop {
        tokio::select! {
            () = told.closed() => return,
            () = tokio::time::sleep(GROWTH) => {}
        }
        if let Ok(partitions) = count(&plan, &topic).await {
            told.send(partitions).unwrap_or_default(); // nobody listens when the reader is gone
        }
    }
}
