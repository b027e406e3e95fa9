//! Who writes what one partition brings.

use crate::engine::Engine;
use rankwright_event::{Event, Timestamp};
use rankwright_ingest::shared::{Intake, Origin, Replica, deal_out};
use rankwright_ingest::{Counters, Error};
use rankwright_serve::clock::{latest, now};
use rankwright_source::Partition;
use rankwright_state::{Lease, Position, Writer as StateWriter};
use std::sync::Arc;
use std::time::Duration;

/// Between two attempts to reach a state store that does not answer.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// The writer of a partition.
pub(super) enum Writer {
    /// A partition that has one reader at a time. Its position tells what was written.
    Ordered(Box<Intake>),
    /// A part of what is dealt out to many readers. Ids of events tell what was written, for a while.
    Dealt(Box<Dealt>),
}

/// One of many who read what is dealt out to them.
pub(super) struct Dealt {
    replica: Replica,
    /// How far an import has read the partition by position, before it was dealt out.
    row: Lease,
}

impl Dealt {
    /// Notes that what comes behind this position is dealt out from now on.
    async fn begin(&mut self, engine: &Engine, at: Position) -> Result<(), Error> {
        deal_out(&*engine.state, &self.row, at.clone()).await?;
        self.row.position = at;
        Ok(())
    }
}

impl Writer {
    /// Becomes the writer of a partition. One of many readers is so under a name of its own.
    pub(super) async fn open(engine: &Engine, partition: &Partition, reader: Option<&str>) -> Result<Self, Error> {
        let (plan, state, settings) = (engine.plan.clone(), Arc::clone(&engine.state), engine.settings());
        match reader {
            None => {
                let intake = Intake::open(partition.as_str(), Origin::Partition, plan, state, settings, now()).await?;
                Ok(Self::Ordered(Box::new(intake)))
            }
            Some(reader) => {
                let row = state.acquire(&StateWriter(partition.as_str().to_owned())).await?;
                let replica =
                    Replica::open_dealt((partition.as_str(), reader), plan, state, settings, latest()).await?;
                Ok(Self::Dealt(Box::new(Dealt { replica, row })))
            }
        }
    }

    /// The writer of a partition that has one reader at a time.
    pub(super) fn ordered(&mut self) -> Option<&mut Intake> {
        match self {
            Self::Ordered(intake) => Some(intake),
            Self::Dealt(_) => None,
        }
    }

    /// Where its last batch ended; where its messages are dealt out, what an import had read before.
    pub(super) fn position(&self) -> Position {
        match self {
            Self::Ordered(intake) => intake.position().clone(),
            Self::Dealt(dealt) => dealt.row.position.clone(),
        }
    }

    /// Reads from a position on.
    pub(super) async fn begin(&mut self, engine: &Engine, at: Position) -> Result<(), Error> {
        match self {
            // a partition without events begins at the same place the next time
            Self::Ordered(_) => self.apply(&[], at).await,
            Self::Dealt(dealt) => dealt.begin(engine, at).await,
        }
    }

    /// Commits the effects of a batch, with the position behind it.
    pub(super) async fn apply(&mut self, events: &[Event], to: Position) -> Result<(), Error> {
        match self {
            Self::Ordered(intake) => intake.apply(events, &[], to, now()).await.map(drop),
            // closers do not wait for a reader that has brought nothing
            Self::Dealt(_) if events.is_empty() => Ok(()),
            Self::Dealt(dealt) => dealt.replica.feed(events, latest()).await.map(drop),
        }
    }

    /// Nothing older comes any more, as far as anybody knows.
    pub(super) async fn pass(&mut self, until: Timestamp) -> Result<(), Error> {
        match self {
            Self::Ordered(intake) => intake.pass(until, now()).await,
            Self::Dealt(dealt) => dealt.replica.pass(until, latest()).await,
        }
    }

    /// Nothing more will come: closers no longer wait for it.
    pub(super) async fn leave(&mut self) -> Result<(), Error> {
        match self {
            Self::Ordered(intake) => intake.leave().await,
            Self::Dealt(_) => Ok(()), // others are dealt what it was to read
        }
    }

    /// What happened so far.
    pub(super) fn counters(&self) -> Counters {
        match self {
            Self::Ordered(intake) => intake.counters(),
            Self::Dealt(dealt) => dealt.replica.counters(),
        }
    }
}
