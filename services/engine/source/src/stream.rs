//! What every stream promises: partitions are assigned and revoked, and each delivers batches in order.
//!
//! The loop that drives a stream keeps the positions itself, together with the effects of the events before them. So a
//! stream is told where to begin, and what the broker remembers is for its own tools alone.

use crate::{Batch, BatchLimits, Error, Position};
use rankwright_event::Timestamp;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a stream answers with, later.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The wall clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How a stream is read, besides what its configuration says.
#[derive(Clone)]
pub struct StreamSettings {
    /// How large batches become.
    pub limits: BatchLimits,
    /// The wall clock.
    pub clock: Clock,
    /// Events so far ahead of it are bad.
    pub max_ahead: Duration,
    /// A topic that was there and is missing for this long is lost: reading ends. (Reading from Kinesis ends at once.)
    pub gone_after: Duration,
}

/// The name of an ordered part of a stream, the same in every process and unlike any other: `kafka:events/3`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(Arc<str>);

/// What happened next in a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// This reader has these partitions from now on. Nothing of them is read before [`Stream::start`].
    Assigned(Vec<Partition>),
    /// This reader no longer has these partitions. No other reader gets them before the next call of [`Stream::next`],
    /// unless the broker takes this reader for gone. Their next reader reads what is not committed by then.
    Revoked(Vec<Partition>),
    /// Events of one partition; the first one of a batch has waited no longer than the limits say.
    Batch {
        /// Where they are from.
        partition: Partition,
        /// They, and the position behind them.
        batch: Batch,
    },
    /// All that this partition held is handed out. It comes once the end is reached, and again about once a second for
    /// as long as the broker confirms that nothing was added.
    CaughtUp {
        /// Which one.
        partition: Partition,
        /// Whatever was added before this moment was handed out: some time may have passed since then, in which more was added.
        /// Nothing where the moment at which the end was reached is not known.
        at: Option<Instant>,
    },
    /// All of this partition is committed as far as [`Stream::note`] tells, and nothing can be added to it any more: there is
    /// no need to wait for it. It is ours no longer. Partitions that follow from it are in [`Stream::all`].
    Finished(Partition),
    /// A bounded stream has handed out everything; nothing follows.
    Ended,
}

/// How far the reader of a partition is behind, as far as the broker says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lag {
    /// Messages that are still ahead.
    pub events: Option<u64>,
    /// For how long the next one has been there.
    pub age: Option<Duration>,
}

/// Events from partitions which several readers share.
pub trait Stream: Send {
    /// What happened next; waits for it. A call that is dropped loses nothing.
    ///
    /// Call it again soon, even with nothing to commit: a reader that does not for minutes is taken for dead.
    ///
    /// # Errors
    /// When waiting would not help. A broker that is away is waited for.
    fn next(&mut self) -> BoxFuture<'_, Result<Step, Error>>;

    /// All partitions that there are, also those of other readers.
    ///
    /// # Errors
    /// As [`Stream::next`].
    fn all(&mut self) -> BoxFuture<'_, Result<Vec<Partition>, Error>>;

    /// Those of the partitions named in `known` that were of this source and are there no more: what follows from them, or from
    /// others that came and went meanwhile, is read from its start. To be asked after [`Stream::all`].
    fn gone(&mut self, _known: &[&str]) -> Vec<Partition> {
        Vec::new()
    }

    /// Whether a partition can be read on from a position, as far as that is known before it is begun.
    ///
    /// # Errors
    /// When it cannot: [`Stream::start`] would refuse it as well.
    fn check(&self, _from: &Position) -> Result<(), Error> {
        Ok(())
    }

    /// Reads an assigned partition from a position on, or from the configured offset where none is known; a partition
    /// that is read already is read again from there. Returns where reading begins: keep that at once, or a partition
    /// without events begins somewhere else the next time.
    ///
    /// # Errors
    /// When the partition is not ours, or the position is none in it.
    fn start<'a>(
        &'a mut self,
        partition: &'a Partition,
        from: Option<Position>,
    ) -> BoxFuture<'a, Result<Position, Error>>;

    /// Tells the broker how far a partition is committed: for its own tools, and where it is not ordered, so that the events
    /// do not come again.
    fn note(&mut self, partition: &Partition, position: &Position);

    /// Whether a partition has one reader at a time, and its positions tell which of its events were read. Where not, events
    /// may come again, to any reader: the code that applies them has to remember the ids of applied ones.
    fn ordered(&self) -> bool {
        true
    }

    /// How far we are behind in each partition that is read, where the broker said so.
    fn lag(&self) -> Vec<(Partition, Lag)>;

    /// Leaves, so that others can go on at once.
    fn close(self: Box<Self>) -> BoxFuture<'static, ()>;
}

impl Lag {
    /// This number of messages is ahead.
    pub fn of(events: u64) -> Self {
        Self { events: Some(events), age: None }
    }
}

impl Partition {
    /// A partition of this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its name, shared.
    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
