//! `discard`: click-throughs are counted and forgotten.

use crate::part::{Encoder, Format, Header};
use crate::{Clickthrough, ClickthroughStore, Forgotten, Mark, Records, Result, Status, Subject};
use std::sync::atomic::{AtomicU64, Ordering};

/// Keeps nothing: for services whose models are trained elsewhere.
pub struct DiscardStore {
    check: Encoder,
    taken: AtomicU64,
}

impl DiscardStore {
    /// A store which takes what other stores would take.
    pub fn new(header: Header) -> Self {
        Self { check: Encoder::new(Format::Binary, header), taken: AtomicU64::new(0) }
    }
}

impl ClickthroughStore for DiscardStore {
    fn append(&self, records: &[Clickthrough]) -> Result<Mark> {
        records.iter().try_for_each(|record| self.check.check(record))?;
        let count = records.len() as u64;
        Ok(Mark(self.taken.fetch_add(count, Ordering::AcqRel) + count))
    }

    fn flush(&self) -> Result<Mark> {
        Ok(self.durable())
    }

    /// All of them: this store keeps none, so there is nothing to wait for.
    fn durable(&self) -> Mark {
        Mark(self.taken.load(Ordering::Acquire))
    }

    fn read(&self) -> Result<Records> {
        Ok(Records::new(std::iter::empty()))
    }

    fn forget(&self, _subject: &Subject) -> Result<Forgotten> {
        Ok(Forgotten::default())
    }

    fn status(&self) -> Status {
        Status::default()
    }
}
