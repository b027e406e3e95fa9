//! One partition's connection: which reader has the partition, and what is in it.
//!
//! The subscription of the configuration decides which reader has the partition, and takes acknowledgements; the broker sends
//! no messages to it. Messages come to a second reader, which the broker places after the position in the state. So a
//! subscription that is behind or ahead makes no difference, and never has to be moved. Only readers that share a subscription
//! (`shared`) get their messages through it.

mod begin;
mod order;
mod take;

pub(super) use order::{Begun, News, Order, Start};

use super::commands;
use super::connection::{Connection, Fault};
use super::options::Options;
use super::reading::Reading;
use super::service::Service;
use super::trouble::Trouble;
use pulsar::message::proto::CommandSubscribe;
use pulsar::message::proto::command_subscribe::{InitialPosition, SubType};
use rankwright_event::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;

/// The consumer that holds the subscription. Readers have numbers behind it.
const OWNER: u64 = 0;
/// How often the broker is asked whether there are new messages.
const LOOK: Duration = Duration::from_secs(1);
/// It is not asked more often than this, however often the end is reached.
const SOON: Duration = Duration::from_millis(100);
/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(500);

/// Who else reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// No other reader; others wait for us to leave, and ask again.
    Alone,
    /// No other reader; the broker tells others when we have left.
    Failover,
    /// Others, at the same time.
    Together,
    /// Any reader: we read to the end, and change nothing.
    Bounded,
}

/// Where reading begins when no position is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Earliest,
    Latest,
    Since(Timestamp),
}

/// What all partitions' connections have in common.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) service: Service,
    pub(super) subscription: String,
    pub(super) role: Role,
    pub(super) options: Options,
}

/// A partition's connection.
pub(super) struct Line {
    pub(super) topic: String,
    pub(super) number: usize,
    pub(super) plan: Arc<Plan>,
    pub(super) first: First,
    pub(super) orders: UnboundedReceiver<Order>,
    pub(super) news: UnboundedSender<(usize, News)>,
    pub(super) trouble: Trouble,
    pub(super) ours: bool,
    /// What is to be read as soon as it can be.
    pub(super) asked: Option<Start>,
    pub(super) reading: Option<Reading>,
    /// When the broker was asked last how much is not acknowledged.
    pub(super) counted: Instant,
}

impl Line {
    /// Reads until the reader is gone, over as many connections as it takes.
    pub(super) async fn run(mut self) {
        while let Err(fault) = self.follow().await {
            if std::mem::take(&mut self.ours) {
                self.tell(News::NotOurs);
            }
            if self.plan.role != Role::Bounded {
                (self.reading, self.asked) = (None, None);
            }
            if let Err(error) = self.trouble.judge(fault) {
                return self.tell(News::Lost(error));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn follow(&mut self) -> Result<(), Fault> {
        let mut connection = self.plan.service.broker_of(&self.topic).await?;
        if self.plan.role == Role::Bounded {
            self.go_on(&mut connection).await?;
        } else {
            connection.ask(commands::subscribe(self.owner()), commands::done).await?;
            self.trouble.over();
            if self.plan.role != Role::Failover {
                self.own(true);
            }
        }
        let mut look = Instant::now() + LOOK;
        loop {
            tokio::select! {
                order = self.orders.recv() => match order {
                    Some(order) => self.obey(&mut connection, order).await?,
                    None => return self.leave(&mut connection).await,
                },
                message = connection.next() => self.take(&mut connection, message?).await?,
                () = tokio::time::sleep_until(look) => {
                    self.look(&mut connection).await?;
                    look = Instant::now() + LOOK;
                }
            }
            if self.reading.as_ref().is_some_and(Reading::may_be_at_end) {
                look = look.min(self.reading.as_ref().map_or(look, |reading| reading.looked + SOON));
            }
        }
    }

    fn tell(&self, news: News) {
        // it fails when the reader is gone
        self.news.send((self.number, news)).unwrap_or_default();
    }

    fn own(&mut self, ours: bool) {
        if self.ours != ours {
            self.ours = ours;
            self.tell(if ours { News::Ours } else { News::NotOurs });
        }
    }

    /// Holds the subscription. It begins where reading does, so that a broker's tools show what is really left.
    fn owner(&self) -> CommandSubscribe {
        let sub_type = match self.plan.role {
            Role::Alone | Role::Bounded => SubType::Exclusive,
            Role::Failover => SubType::Failover,
            Role::Together => SubType::Shared,
        };
        let initial = if self.first == First::Latest { InitialPosition::Latest } else { InitialPosition::Earliest };
        CommandSubscribe {
            topic: self.topic.clone(),
            subscription: self.plan.subscription.clone(),
            sub_type: sub_type.into(),
            consumer_id: OWNER,
            consumer_name: self.plan.options.consumer_name.clone(),
            priority_level: self.plan.options.priority,
            durable: Some(true),
            initial_position: Some(initial.into()),
            ..CommandSubscribe::default()
        }
    }

    async fn obey(&mut self, connection: &mut Connection, order: Order) -> Result<(), Fault> {
        match order {
            Order::Start(start) => {
                if self.ours || self.plan.role == Role::Bounded {
                    self.asked = Some(start);
                    self.begin(connection).await?;
                }
            }
            Order::Taken(count) => {
                if let Some(flow) = self.reading.as_mut().and_then(|reading| reading.taken(count)) {
                    connection.send(flow).await?;
                }
            }
            Order::Passed(place) => {
                if self.ours && place.entry >= 0 {
                    connection.send(commands::acknowledge(OWNER, vec![place.id()], true)).await?;
                }
            }
            Order::Done(ids) => {
                if let Some(reading) = &mut self.reading {
                    reading.acknowledged(ids.len());
                }
                connection.send(commands::acknowledge(OWNER, ids, false)).await?;
            }
        }
        Ok(())
    }

    /// Leaves, so that others can go on at once.
    async fn leave(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        if self.plan.role != Role::Bounded {
            let closed = connection.ask(commands::close(OWNER), commands::done).await;
            closed.or(Ok(())) // the broker sees the connection end as well
        } else {
            Ok(())
        }
    }
}
