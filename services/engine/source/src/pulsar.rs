//! Events from a topic of Pulsar, read through a subscription.
//!
//! With an `exclusive` or `failover` subscription each partition of the topic (a plain topic is one) has one reader at a time,
//! in order, and begins at the position that the loop keeps with its effects: every event counts exactly once. The broker
//! says whose a partition is, and is told how far it is committed; where its own cursor stands makes no difference.
//!
//! With a `shared` subscription the messages of the topic are dealt out to all readers in no order. They are acknowledged when
//! their batch is committed, and come again, to any reader, when that did not happen. So the loop has to remember the ids
//! of events, and an event that comes again later than it remembers counts twice. What an import has read by position before
//! is acknowledged without being handed on; from then on positions mean nothing, and no reader resumes from them.

mod begin;
mod commands;
mod connection;
mod discover;
mod entry;
mod error;
mod java;
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
pub(crate) use options::check_all;

use crate::building::Building;
use crate::stream::{BoxFuture, Lag, Partition, Step, Stream, StreamSettings};
use crate::{Error, Position};
use ::pulsar::message::proto::MessageIdData;
use line::{First, News, Order, Plan, Role};
use options::Options;
use place::Begin;
use rankwright_config::{Offset, SourceConfig, SourceKind, Subscription};
use service::Service;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;

/// How long a reader that leaves waits until brokers know of it.
const PATIENCE: Duration = Duration::from_millis(500);

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
    /// Entries that are not acknowledged, as the broker told last.
    backlog: Option<u64>,
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
        let options = Options::read(options, |_, _| ())?; // `check_all` has warned of them
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
            building: Building::new(settings.limits, source.format),
            settings,
            steps: VecDeque::new(),
            tasks: JoinSet::new(),
        })
    }
}

impl Stream for Pulsar {
    fn next(&mut self) -> BoxFuture<'_, Result<Step, Error>> {
        Box::pin(self.step())
    }

    fn all(&mut self) -> BoxFuture<'_, Result<Vec<Partition>, Error>> {
        Box::pin(async move {
            let partitions = self.partitions().await?;
            // it is not known before which reader gets a message, so none can be waited for
            let named = topic::parts(&self.topic, partitions).into_iter().filter(|_| self.ordered);
            Ok(named.map(|name| self.partition(&name)).collect())
        })
    }

    fn check(&self, from: &Position) -> Result<(), Error> {
        self.place_of(from).map(drop)
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

    /// Entries of the subscription that are not acknowledged; what was read and is not committed is among them.
    fn lag(&self) -> Vec<(Partition, Lag)> {
        let ours = self.parts.iter().filter(|part| part.session.is_some());
        ours.filter_map(|part| Some((part.partition.clone(), Lag::of(part.backlog?)))).collect()
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        let mut tasks = std::mem::take(&mut self.tasks);
        drop(self); // with it the orders, for which connections wait
        Box::pin(async move {
            let left = async { while tasks.join_next().await.is_some() {} };
            tokio::time::timeout(PATIENCE, left).await.unwrap_or_default();
        })
    }
}

impl Part {
    fn order(&self, order: Order) {
        // a connection that is gone has told why
        self.orders.send(order).unwrap_or_default();
    }
}
