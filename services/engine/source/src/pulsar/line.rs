//! One partition's connection: who reads the partition, and what is in it.
//!
//! The subscription of the configuration decides whose the partition is, and takes acknowledgements; nothing is sent to
//! it. The messages come to a reader of ours, which the broker places behind the position that is kept with the state. So
//! neither a subscription that is behind nor one that is ahead makes a difference, and nobody has to move it. Only
//! readers who share a subscription (`shared`) get their messages through it.

use super::commands;
use super::connection::{Connection, Fault};
use super::error::Error;
use super::options::Options;
use super::place::{Begin, Place};
use super::reading::{Entry, Reading};
use super::service::Service;
use super::trouble::Trouble;
use pulsar::message::proto::command_subscribe::{InitialPosition, SubType};
use pulsar::message::proto::{CommandMessage, CommandSubscribe, MessageIdData};
use pulsar::message::{Message, Payload};
use rankwright_event::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The consumer that holds the subscription. Readers have numbers behind it.
const OWNER: u64 = 0;
/// The broker is asked so often whether something was added.
const LOOK: Duration = Duration::from_secs(1);
/// It is not asked more often than this, however often the end is reached.
const SOON: Duration = Duration::from_millis(100);
/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(500);

/// Who else reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Nobody; others wait for us to leave, and come again to see.
    Alone,
    /// Nobody; the broker tells others when we have left.
    Failover,
    /// Others, at the same time.
    Together,
    /// Whoever wants: we read to the end, and change nothing.
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

/// What a partition's connection is told.
pub(super) enum Order {
    /// Read from here on, or where reading begins when nothing is known; what is read carries this number.
    Start(Start),
    /// So many messages were taken; as many more may come.
    Taken(u32),
    /// Everything up to this place is committed.
    Passed(Place),
    /// These entries are committed.
    Done(Vec<MessageIdData>),
}

/// What is to be read.
pub(super) struct Start {
    pub(super) session: u64,
    pub(super) from: Option<Begin>,
    pub(super) begun: oneshot::Sender<Begun>,
}

/// Where reading has begun.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) begin: Begin,
    /// The last message that there was.
    pub(super) last: Place,
}

/// What a partition's connection tells.
pub(super) enum News {
    Ours,
    NotOurs,
    Entry(u64, Entry),
    /// Nothing is left to read.
    AtEnd(u64),
    /// It cannot be read.
    Lost(Error),
}

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
}

impl Line {
    /// Reads until nobody listens any more, over as many connections as it takes.
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
        // nobody listens any more when the reader is gone
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
            Order::Done(ids) => connection.send(commands::acknowledge(OWNER, ids, false)).await?,
        }
        Ok(())
    }

    async fn begin(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        let Some(asked) = &self.asked else { return Ok(()) };
        let answer = self.start(connection, asked.session, asked.from).await?;
        if let Some(asked) = self.asked.take() {
            asked.begun.send(answer).unwrap_or_default(); // whoever asked may have gone
        }
        Ok(())
    }

    async fn start(&mut self, connection: &mut Connection, session: u64, from: Option<Begin>) -> Result<Begun, Fault> {
        let before = self.reading.take();
        let queue = self.plan.options.queue;
        if self.plan.role == Role::Together {
            if before.is_some() {
                connection.send(commands::again(OWNER)).await?;
            } else {
                connection.send(commands::flow(OWNER, queue)).await?;
            }
            let begin = Begin::after(Place::START);
            self.reading = Some(Reading::new(session, OWNER, begin, Place::START, queue));
            return Ok(Begun { begin, last: Place::START });
        }
        if let Some(before) = before {
            connection.ask(commands::close(before.consumer), commands::done).await?;
        }
        let begun = self.subscribe(connection, session, from).await?;
        connection.send(commands::flow(session, queue)).await?;
        Ok(begun)
    }

    /// Places a reader.
    async fn subscribe(
        &mut self,
        connection: &mut Connection,
        session: u64,
        from: Option<Begin>,
    ) -> Result<Begun, Fault> {
        let known = match (from, self.first) {
            (Some(begin), _) => Some(begin),
            (None, First::Latest) if self.plan.role != Role::Bounded => {
                Some(Begin::after(self.ask_last(connection, OWNER).await?.0))
            }
            (None, _) => None,
        };
        let after = known.map_or(Place::START, |begin| begin.after);
        let name = format!("{}-reader-{:016x}", self.plan.subscription, fastrand::u64(..));
        let mut reader = commands::reader(&self.topic, name, session, after.id());
        let since = match (known, self.first) {
            (None, First::Since(time)) => Some(time),
            _ => known.and_then(|begin| begin.since),
        };
        if let (None, Some(since)) = (known, since) {
            reader.start_message_rollback_duration_sec = Some(seconds_since(since));
        }
        connection.ask(commands::subscribe(reader), commands::done).await?;
        self.trouble.over();
        let (last, placed) = self.ask_last(connection, session).await?;
        let begin = match (known, self.first) {
            (Some(begin), _) => begin,
            (None, First::Latest) => Begin::after(last),
            (None, _) => Begin { after: placed.unwrap_or(Place::START), since },
        };
        self.reading = Some(Reading::new(session, session, begin, last, self.plan.options.queue));
        Ok(Begun { begin, last })
    }

    /// Goes on with a bounded reading over a new connection.
    async fn go_on(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        if self.asked.is_some() {
            self.reading = None; // of an earlier connection
            return self.begin(connection).await;
        }
        let Some(reading) = &self.reading else { return Ok(()) };
        let (session, last, begin) = (reading.session, reading.last, reading.begin());
        self.subscribe(connection, session, Some(begin)).await?;
        if let Some(reading) = &mut self.reading {
            reading.last = last;
        }
        connection.send(commands::flow(session, self.plan.options.queue)).await
    }

    /// The last message that there is, and behind which one a reader was placed.
    async fn ask_last(&self, connection: &mut Connection, consumer: u64) -> Result<(Place, Option<Place>), Fault> {
        let answer = connection.ask(commands::last(consumer), commands::last_found).await?;
        let last = Place::behind(&answer.last_message_id);
        let last = if last.entry < 0 { Place::START } else { last };
        Ok((last, answer.consumer_mark_delete_position.as_ref().map(Place::behind)))
    }

    async fn take(&mut self, connection: &mut Connection, message: Message) -> Result<(), Fault> {
        let Message { command, payload } = message;
        if let (Some(message), Some(payload)) = (command.message, payload) {
            return self.receive(connection, message, payload).await;
        }
        if command.close_consumer.is_some() {
            return Err(Fault::Away("the broker has given the topic away".to_owned()));
        }
        if let Some(change) = command.active_consumer_change.filter(|_| self.plan.role == Role::Failover) {
            self.own(change.is_active());
            if let Some(reading) = self.reading.take_if(|_| !change.is_active()) {
                connection.ask(commands::close(reading.consumer), commands::done).await?;
            }
        }
        Ok(())
    }

    async fn receive(
        &mut self,
        connection: &mut Connection,
        message: CommandMessage,
        payload: Payload,
    ) -> Result<(), Fault> {
        let ordered = self.plan.role != Role::Together;
        let Some(reading) = self.reading.as_mut().filter(|reading| reading.consumer == message.consumer_id) else {
            return Ok(()); // of a reader that is closed
        };
        let session = reading.session;
        let until = (self.plan.role == Role::Bounded).then_some(reading.last);
        match reading.receive(&message.message_id, &payload, ordered, until) {
            Ok(entry) => self.tell(News::Entry(session, entry)),
            Err(dropped) => {
                if let Some(flow) = reading.taken(dropped) {
                    connection.send(flow).await?;
                }
            }
        }
        Ok(())
    }

    /// Asks whether something was added, and whether the broker is there.
    async fn look(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        connection.lives()?;
        let Some(session) = self.reading.as_ref().map(|reading| reading.session) else { return Ok(()) };
        let consumer = if self.plan.role == Role::Bounded { session } else { OWNER };
        let (last, _) = self.ask_last(connection, consumer).await?;
        let Some(reading) = &mut self.reading else { return Ok(()) };
        reading.looked = Instant::now();
        let at_end = match self.plan.role {
            Role::Bounded => reading.after >= reading.last,
            Role::Together => reading.heard.elapsed() >= LOOK,
            Role::Alone | Role::Failover => {
                reading.last = last;
                reading.after >= last
            }
        };
        if at_end {
            self.tell(News::AtEnd(session));
        }
        Ok(())
    }

    /// Leaves, so that others can go on at once.
    async fn leave(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        if self.plan.role != Role::Bounded {
            let closed = connection.ask(commands::close(OWNER), commands::done).await;
            closed.or_else(|_| Ok(())) // the broker sees the connection end as well
        } else {
            Ok(())
        }
    }
}

/// So many seconds ago, and some for clocks that differ: what is too old is left out here.
fn seconds_since(time: Timestamp) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let since = Duration::from_millis(u64::try_from(time.millis()).unwrap_or(0));
    now.saturating_sub(since).as_secs() + 60
}
