//! One writer of a shared state: its lease, and how far it has come in event time.

use super::watermark;
use crate::error::Error;
use rankwright_event::Timestamp;
use rankwright_state::{Lease, Store, Writer};

/// Where a writer's events come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A part of a source, whose events are there whether anybody reads them or not: rankings stay open until it was
    /// read far enough.
    Partition,
    /// The requests to one process, which are over when it is gone.
    Replica,
    /// What one of many readers is dealt of a part of a source. Others are dealt it when that reader is gone; when all are, it is
    /// there whether anybody reads it or not.
    Dealt,
}

/// A writer.
#[derive(Clone)]
pub(super) struct Lane {
    pub(super) lease: Lease,
    pub(super) origin: Origin,
    /// Whether the closer knows this writer, and waits for it.
    pub(super) noted: bool,
    /// Newest event time.
    pub(super) watermark: Timestamp,
}

impl Lane {
    /// Becomes `writer`, and goes on where it stopped.
    pub(super) async fn open(writer: &str, origin: Origin, store: &dyn Store) -> Result<Self, Error> {
        let lease = store.acquire(&Writer(writer.to_owned())).await?;
        let found = store.read(&[watermark::key(writer)]).await?.pop().flatten();
        let watermark = found.as_deref().map_or(Timestamp::MIN, watermark::noted);
        // what a replica left there may be removed this moment, by one who believes that it is gone
        let noted = origin == Origin::Partition && found.is_some();
        Ok(Self { lease, origin, noted, watermark })
    }

    /// Time goes on to `time`, or is there already.
    pub(super) fn reach(&mut self, time: Timestamp) {
        self.watermark = self.watermark.max(time);
    }

    pub(super) fn lost(&self) -> Error {
        Error::LostLease { writer: self.lease.writer.0.clone() }
    }
}
