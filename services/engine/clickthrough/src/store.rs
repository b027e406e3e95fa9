//! What every store of click-throughs promises.

use crate::part::reader::Extent;
use crate::part::{Part, PartReader, read_part};
use crate::{Clickthrough, Dedup, Error, Forgotten, Losses, Result, Subject};
use std::sync::Arc;

pub mod discard;
pub mod file;
pub mod memory;
pub mod redis;
mod remote;
pub mod s3;

/// One feature column, as the header of a part names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Column {
    /// Name of the column, such as `ctr_7`.
    pub name: String,
    /// What its values mean: two columns of one name but other settings differ here.
    pub fingerprint: u64,
}

/// A record, with the columns of its rows (those of the part that holds it).
pub type Entry = (Arc<[Column]>, Clickthrough);

/// How many records a store has taken since it was opened, up to some point.
///
/// Records are durable in the order in which they were appended, so one number tells which of them an outbox may
/// forget: those whose append returned a mark that is not above [`ClickthroughStore::durable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Mark(pub u64);

/// What a store holds, for status pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// Records in parts that this store knows the count of; what was there before it was opened may be left out.
    pub records: u64,
    /// Bytes of all parts.
    pub bytes: u64,
    /// Number of parts.
    pub parts: u64,
}

/// Keeps closed click-throughs for training.
///
/// Appending may happen twice (after a crash, an outbox sends its records again): [`Self::read`] gives each
/// identity once, the first of its records.
pub trait ClickthroughStore: Send + Sync {
    /// Takes records, whose rows have this store's columns, and returns the mark behind them.
    ///
    /// They may still be buffered. On an error none of them is promised to be kept: append them again. What was taken
    /// before is still held, and the next call tries again.
    fn append(&self, records: &[Clickthrough]) -> Result<Mark>;

    /// Makes every record appended before this call durable, and returns the mark behind them.
    fn flush(&self) -> Result<Mark>;

    /// Makes durable what has waited long enough, and returns how far records are durable; to be called now and then.
    ///
    /// A store whose parts cost something each waits until one is large or old enough, and brings it away without
    /// waiting for its arrival; any other one flushes.
    fn flush_due(&self) -> Result<Mark> {
        self.flush()
    }

    /// Records up to this mark are durable: they survive this process, as far as the store's kind goes.
    fn durable(&self) -> Mark;

    /// Whether it tries to bring away what was not taken before, be it at this moment.
    fn retries(&self) -> bool {
        false
    }

    /// All records appended before this call, and those of earlier processes, in the order of appending.
    fn read(&self) -> Result<Records>;

    /// Makes all durable, and holds no part open that others could not change.
    fn let_go(&self) -> Result<()> {
        self.flush().map(drop)
    }

    /// Drops what is not durable, as if it had never been appended. The caller that has kept it appends it again, perhaps in
    /// another process. What is being written at this moment may arrive all the same.
    fn give_up(&self) {}

    /// Removes a visitor or an item from all parts: parts that hold it are rewritten, and the old ones removed. Parts that
    /// another process is writing stay, and are named.
    fn forget(&self, subject: &Subject) -> Result<Forgotten>;

    /// What the store holds.
    fn status(&self) -> Status;
}

/// Streams the records of many parts, each identity once; what had to be left out is counted in [`Self::losses`].
///
/// An error concerns one part, and the iterator goes on behind it; damage is no error.
pub struct Records {
    parts: Box<dyn Iterator<Item = Result<Part>> + Send>,
    current: Option<PartReader>,
    seen: Dedup,
    losses: Losses,
    extent: Extent,
}

impl Records {
    /// Streams the records of `parts`, one part after the other.
    pub fn new(parts: impl Iterator<Item = Result<Part>> + Send + 'static) -> Self {
        let (seen, losses, extent) = (Dedup::default(), Losses::default(), Extent::Whole);
        Self { parts: Box::new(parts), current: None, seen, losses, extent }
    }

    /// Gives records without their rows, in a fraction of the time.
    pub fn without_rows(self) -> Self {
        Self { extent: Extent::WithoutRows, ..self }
    }

    /// Gives records without their rows and without what was shown, in less time still.
    pub fn without_items(self) -> Self {
        Self { extent: Extent::WithoutItems, ..self }
    }

    /// What was left out of the parts that have been read; complete when the iterator has ended.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }
}

impl Iterator for Records {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.current.as_mut().and_then(Iterator::next) {
                Some(Ok((_, record))) if !self.seen.is_new(&record) => self.losses.duplicates += 1,
                Some(entry) => return Some(entry),
                None => {
                    if let Some(ended) = self.current.take() {
                        self.losses.join(ended.losses());
                    }
                    match self.parts.next()? {
                        Err(Error::Lost(loss)) => {
                            tracing::warn!(
                                place = loss.place,
                                reason = loss.reason,
                                "left out a part of the click-throughs"
                            );
                            self.losses.add(loss, false);
                        }
                        Ok(part) => self.current = Some(read_part(part).reading(self.extent)),
                        Err(error) => return Some(Err(error)),
                    }
                }
            }
        }
    }
}
