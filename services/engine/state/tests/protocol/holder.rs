//! Whoever acquired a writer, and the steps it takes. A step is one operation of the store; anything can happen between
//! two steps, so that a holder may be overtaken, or long replaced, before its next one arrives.

use super::event::{Clicks, Time};
use super::plan::{self, Work};
use super::rules::{Bug, Rules};
use super::store::{Batch, CLOSER, Lease, Number, Outcome, Store};
use super::value::{Keys, Values, Writes};

/// Values that were read to be merged into, and those of them that were written since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Read {
    base: Values,
    stale: Keys,
}

impl Read {
    fn of(values: Values, keys: Keys) -> Self {
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
}

/// One acquisition of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Holder {
    /// What it believes to hold.
    pub(crate) lease: Lease,
    /// What it does next.
    pub(crate) at: At,
    /// A click-through that it appends only after the record is removed. A bug.
    owed: Option<Clicks>,
}

/// What a step was, for a counterexample's reader.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// So many events, and the join record.
    ReadEvents(u8),
    /// The lowest watermark.
    ReadWatermarks,
    /// Join records and waiting clicks.
    ReadJoins,
    /// A click-through.
    Append,
    /// The one script of one Redis.
    Commit(Outcome),
    /// The redo record.
    Begin(Outcome),
    /// Values of a shard.
    ReadShard(u8),
    /// A part of the batch.
    Apply(u8, Outcome),
    /// The position.
    Finish(Outcome),
}

impl Holder {
    /// Acquires a writer; a redo record comes before anything else.
    pub(crate) fn acquire(rules: &Rules, store: &mut Store, writer: u8) -> Self {
        let lease = store.acquire(writer);
        let redo = store.rows[usize::from(writer)].redo.filter(|_| !rules.has(Bug::RedoLeft));
        let at = redo.map_or(At::Idle { looked: false }, |(number, batch)| applying(rules, number, batch));
        Self { lease, at, owed: None }
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
                (0..u8::BITS as u8).filter(|part| pending & (1 << part) != 0).collect()
            }
            _ => vec![0],
        }
    }

    /// Takes the step; `None` where it learnt that its lease is lost.
    pub(crate) fn step(mut self, rules: &Rules, store: &mut Store, choice: u8) -> (Step, Option<Self>) {
        let step = match self.at {
            At::Idle { .. } => self.begin(rules, store, choice),
            At::Looked(watermark) => self.scan(rules, store, watermark, store.values),
            At::Scanned(values) => self.scan(rules, store, store.watermark(), values),
            At::Appending(clicks) => self.append(rules, store, clicks),
            At::Ready(batch, read) => self.commit(rules, store, batch, read),
            At::Planned(batch) => self.store_redo(rules, store, batch),
            At::Applying { number, batch, pending: 0, .. } => self.finish(rules, store, number, batch),
            At::Applying { number, batch, pending, read: None } => {
                let keys = rules.parts()[usize::from(choice)] & batch.writes.keys();
                self.at = At::Applying { number, batch, pending, read: Some((choice, Read::of(store.values, keys))) };
                Step::ReadShard(choice)
            }
            At::Applying { number, batch, pending, read: Some(read) } => {
                self.apply(rules, store, (number, batch, pending), read)
            }
        };
        let lost =
            matches!(step, Step::Commit(Outcome::Lost) | Step::Begin(Outcome::Lost) | Step::Finish(Outcome::Lost));
        (step, (!lost).then_some(self))
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

    /// Somebody wrote `keys`, which the stamps will tell it; a closer has something new to look at.
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

    fn begin(&mut self, rules: &Rules, store: &mut Store, count: u8) -> Step {
        if let Some(clicks) = self.owed.take() {
            store.append(clicks);
            return Step::Append;
        }
        if self.lease.writer != CLOSER {
            self.plan(rules, store, plan::events(rules, &self.lease, store.values.record, count));
            return Step::ReadEvents(count);
        }
        if rules.has(Bug::WatermarksLast) {
            self.at = At::Scanned(Values { item: Default::default(), ..store.values });
            return Step::ReadJoins;
        }
        self.at = At::Looked(store.watermark());
        Step::ReadWatermarks
    }

    fn scan(&mut self, rules: &Rules, store: &Store, watermark: Time, values: Values) -> Step {
        match plan::closing(rules, watermark, values) {
            Work::Nothing => {
                let joins = |values: Values| (values.record, values.waiting);
                let looked = store.watermark() == watermark && joins(store.values) == joins(values);
                self.at = At::Idle { looked };
            }
            Work::Write(writes) => self.plan_closing(rules, store, writes),
            Work::Append(clicks) if rules.has(Bug::RemoveFirst) => {
                self.owed = Some(clicks);
                self.plan_closing(rules, store, Writes { remove: true, ..Writes::default() });
            }
            Work::Append(clicks) => self.at = At::Appending(clicks),
        }
        if rules.has(Bug::WatermarksLast) { Step::ReadWatermarks } else { Step::ReadJoins }
    }

    fn append(&mut self, rules: &Rules, store: &mut Store, clicks: Clicks) -> Step {
        store.append(clicks);
        self.plan_closing(rules, store, Writes { remove: true, ..Writes::default() });
        Step::Append
    }

    /// A closer's position is the number of its batches.
    fn plan_closing(&mut self, rules: &Rules, store: &Store, writes: Writes) {
        self.plan(rules, store, Batch { writes, to: self.lease.position + 1, watermark: 0 });
    }

    fn plan(&mut self, rules: &Rules, store: &Store, batch: Batch) {
        let read = Read::of(store.values, batch.writes.keys());
        self.at = if rules.stepwise() { At::Planned(batch) } else { At::Ready(batch, read) };
    }

    fn commit(&mut self, rules: &Rules, store: &mut Store, batch: Batch, read: Read) -> Step {
        let outcome = store.commit(rules, &self.lease, batch, read.base, read.stale);
        match outcome {
            Outcome::Done => self.done(batch),
            _ => self.at = At::Ready(batch, Read::of(store.values, batch.writes.keys())),
        }
        Step::Commit(outcome)
    }

    fn store_redo(&mut self, rules: &Rules, store: &mut Store, batch: Batch) -> Step {
        self.lease.sequence += 1;
        let epoch = if rules.has(Bug::NumbersRestart) { 0 } else { self.lease.epoch };
        let number = (epoch, self.lease.sequence);
        let outcome = store.begin(rules, &self.lease, number, batch);
        self.at = applying(rules, number, batch);
        Step::Begin(outcome)
    }

    fn apply(&mut self, rules: &Rules, store: &mut Store, on: (Number, Batch, u8), read: (u8, Read)) -> Step {
        let ((number, batch, pending), (part, Read { base, stale })) = (on, read);
        let writer = self.lease.writer;
        let outcome = store.apply(rules, (writer, number), (part, batch.writes), (base, stale));
        let keys = rules.parts()[usize::from(part)] & batch.writes.keys();
        self.at = match outcome {
            Outcome::Conflict => {
                At::Applying { number, batch, pending, read: Some((part, Read::of(store.values, keys))) }
            }
            _ => At::Applying { number, batch, pending: pending & !(1 << part), read: None },
        };
        Step::Apply(part, outcome)
    }

    fn finish(&mut self, rules: &Rules, store: &mut Store, number: Number, batch: Batch) -> Step {
        let moved = rules.has(Bug::PositionFirst);
        let outcome = if moved { Outcome::Done } else { store.finish(rules, &self.lease, number, batch) };
        self.done(batch);
        Step::Finish(outcome)
    }

    fn done(&mut self, batch: Batch) {
        self.lease = Lease { position: batch.to, watermark: batch.watermark, ..self.lease };
        self.at = At::Idle { looked: false };
    }
}

/// All shards that a batch touches are pending.
fn applying(rules: &Rules, number: Number, batch: Batch) -> At {
    let touched = |keys: Keys| keys & batch.writes.keys() != 0;
    let parts = rules.parts().iter().enumerate().filter(|(_, keys)| touched(**keys));
    let pending = parts.fold(0, |set, (part, _)| set | 1 << part);
    At::Applying { number, batch, pending, read: None }
}
