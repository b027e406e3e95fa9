//! A process that acquired a writer. A step is one operation of the store; anything can happen between
//! two steps, so that a holder may be overtaken, or long replaced, before its next one arrives.

use super::event::{Clicks, Time};
use super::rules::{Bug, Rules};
use super::step::Step;
use super::store::{Batch, CLOSER, Lease, Number, Outcome, Store};
use super::value::{Keys, Values};

/// Values that were read to be merged into, and those of them that were written since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Read {
    /// The values.
    pub(crate) base: Values,
    /// The keys that were written since.
    pub(crate) stale: Keys,
}

impl Read {
    /// Reads them now.
    pub(crate) fn of(values: Values, keys: Keys) -> Self {
        Self { base: values.only(keys), stale: 0 }
    }
}

/// What a holder does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum At {
    /// Reads events, or looks for something to close unless it has `looked` and nothing changed since.
    Idle { looked: bool },
    /// Reads records and what waits; this was the lowest watermark.
    Looked(Time),
    /// Reads watermarks; these were the records. A bug.
    Scanned(Values),
    /// Appends a click-through.
    Appending(Clicks),
    /// Commits in one script.
    Ready(Batch, Read),
    /// Stores a redo record.
    Planned(Batch),
    /// Brings a batch to its shards: to those in the set that is `pending`, at present to the one that was read from.
    Applying { number: Number, batch: Batch, pending: u8, read: Option<(u8, Read)> },
    /// Has found a key of this part that should be new.
    Refusing { number: Number, batch: Batch, pending: u8, part: u8 },
    /// Drops the redo record of a batch that does not take place.
    Dropping(Number),
}

/// One acquisition of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Holder {
    /// What it believes to hold.
    pub(crate) lease: Lease,
    /// What it does next.
    pub(crate) at: At,
    /// Not the holder itself, but an operation that it sent once more and that is still under way.
    pub(crate) echo: bool,
    /// A click-through that it appends only after the record is removed. A bug.
    pub(crate) owed: Option<Clicks>,
}

impl Holder {
    /// Acquires a writer; a redo record comes before anything else.
    pub(crate) fn acquire(rules: &Rules, store: &mut Store, writer: u8) -> Self {
        let lease = store.acquire(rules, writer);
        let redo = store.rows[usize::from(writer)].redo.filter(|_| !rules.has(Bug::RedoLeft));
        let at = redo.map_or(At::Idle { looked: false }, |(number, batch)| applying(rules, number, batch));
        Self { lease, at, echo: false, owed: None }
    }

    /// The different ways in which its next step can go.
    pub(crate) fn choices(&self, rules: &Rules) -> Vec<u8> {
        match self.at {
            At::Idle { looked } if self.lease.writer == CLOSER => (!looked).then_some(0).into_iter().collect(),
            At::Idle { .. } => {
                let events = rules.story.partitions[usize::from(self.lease.writer)].len() as u8;
                (1..=rules.batch.min(events - self.lease.position)).collect()
            }
            At::Applying { pending, read: None, .. } if pending != 0 => {
                let next = rules.next_parts(pending);
                (0..u8::BITS as u8).filter(|part| next & (1 << part) != 0).collect()
            }
            _ => vec![0],
        }
    }

    /// The next operation once more, to arrive at some later time; `None` where it only reads.
    pub(crate) fn sent_twice(&self) -> Option<Self> {
        let writes = !matches!(self.at, At::Idle { .. } | At::Looked(_) | At::Scanned(_));
        (writes && !self.echo).then_some(Self { echo: true, ..*self })
    }

    /// The keys that a step of it wrote.
    pub(crate) fn written(&self, rules: &Rules, step: Step) -> Keys {
        match (step, self.at) {
            (Step::Commit(Outcome::Done), At::Ready(batch, _)) => batch.writes.keys(),
            (Step::Apply(part, Outcome::Done), At::Applying { batch, .. }) => {
                batch.writes.keys() & rules.parts()[usize::from(part)]
            }
            _ => 0,
        }
    }

    /// Another holder wrote `keys`, which the stamps will tell it; a closer has something new to look at.
    pub(crate) fn notice(&mut self, rules: &Rules, keys: Keys, new: bool) {
        match &mut self.at {
            At::Ready(batch, read) => read.stale |= keys & batch.writes.keys(),
            At::Applying { batch, read: Some((part, read)), .. } => {
                read.stale |= keys & batch.writes.keys() & rules.parts()[usize::from(*part)];
            }
            At::Idle { looked } => *looked &= !new,
            _ => {}
        }
    }
}

/// All shards that a batch touches are pending.
pub(crate) fn applying(rules: &Rules, number: Number, batch: Batch) -> At {
    let touched = |keys: Keys| keys & batch.writes.keys() != 0;
    let parts = rules.parts().iter().enumerate().filter(|(_, keys)| touched(**keys));
    let pending = parts.fold(0, |set, (part, _)| set | 1 << part);
    At::Applying { number, batch, pending, read: None }
}
