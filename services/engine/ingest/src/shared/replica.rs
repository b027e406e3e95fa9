//! Events that come in requests to one of several processes.
//!
//! A request that got no answer is sent again, perhaps to another process; so is a message that a broker deals out. So ids of events are noted in the store with
//! their effects, and a batch is refused by the store where another process has noted one of its events meanwhile.

use super::{Intake, Origin, watermark};
use crate::counters::{Applied, Counters};
use crate::error::Error;
use crate::feedback::identity;
use crate::ingest::Settings;
use rankwright_event::{Event, Timestamp};
use rankwright_feature::Plan;
use rankwright_state::{Position, Store};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A replica that got no batch for this long has nothing to wait for, and no longer keeps rankings open that others would close.
const IDLE: Duration = Duration::from_secs(300);

/// Takes in the events of requests to one of several processes, or of messages that are dealt out to them.
pub struct Replica {
    intake: Intake,
    /// Event time when the last batch came, and when that was.
    last: Option<(Timestamp, Instant)>,
}

impl Replica {
    /// Becomes a writer whose name no other process has.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open(
        name: &str,
        plan: Arc<Plan>,
        store: Arc<dyn Store>,
        settings: Settings,
        wall: Timestamp,
    ) -> Result<Self, Error> {
        let writer = format!("feedback:{name}");
        let intake = Intake::open(&writer, Origin::Replica, plan, store, settings, wall).await?;
        Ok(Self { intake, last: None })
    }

    /// Becomes one of many that the messages of a partition are dealt out to; no other one of them has the name of this `reader`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open_dealt(
        (partition, reader): (&str, &str),
        plan: Arc<Plan>,
        store: Arc<dyn Store>,
        settings: Settings,
        wall: Timestamp,
    ) -> Result<Self, Error> {
        let writer = watermark::reader_of(partition, reader);
        let intake = Intake::open(&writer, Origin::Dealt, plan, store, settings, wall).await?;
        Ok(Self { intake, last: None })
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.intake.counters()
    }

    /// Takes in a batch; its effects are committed when this returns. Repetitions count as accepted.
    ///
    /// # Errors
    /// As [`Intake::apply`].
    pub async fn feed(&mut self, events: &[Event], wall: Timestamp) -> Result<Applied, Error> {
        let seen: Vec<_> = events.iter().map(identity).collect();
        let applied = self.intake.apply(events, &seen, Position::default(), wall).await?;
        self.last = Some((self.intake.watermark(), Instant::now()));
        Ok(applied)
    }

    /// Nothing older than `until` comes any more, as far as is known where its events come from. So rankings close that
    /// others have left open, though this one has brought nothing.
    ///
    /// # Errors
    /// As [`Intake::apply`].
    pub async fn pass(&mut self, until: Timestamp, wall: Timestamp) -> Result<(), Error> {
        self.intake.pass(until, wall).await
    }

    /// Lets event time pass as fast as real time has since the last batch, whatever clocks say.
    ///
    /// # Errors
    /// As [`Intake::apply`].
    pub async fn tick(&mut self, wall: Timestamp) -> Result<(), Error> {
        let Some((_, since)) = self.last else { return Ok(()) };
        self.idle(since.elapsed(), wall).await
    }

    /// The same where the last batch came `time` ago. After some minutes event time comes up to that of the others: the last
    /// batch may have been one of long ago, from a visitor who was offline.
    ///
    /// # Errors
    /// As [`Intake::apply`].
    pub async fn idle(&mut self, time: Duration, wall: Timestamp) -> Result<(), Error> {
        let Some((event, _)) = self.last else { return Ok(()) };
        let mut now = event.plus(time);
        if time > IDLE && now < wall {
            let newest = watermark::newest(self.intake.store(), wall).await?;
            now = now.max(newest.unwrap_or(now));
        }
        self.intake.pass(now, wall).await
    }
}
