//! The steps themselves. Each is one operation of the store, with what the holder makes of the answer.

use super::event::{Clicks, Time};
use super::holder::{At, Holder, Read, applying};
use super::plan::{self, Work};
use super::rules::{Bug, Rules};
use super::store::{Batch, CLOSER, Lease, Number, Outcome, Store};
use super::value::{Values, Writes};

/// What a step was, for a counterexample's reader.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "what it holds is printed with a counterexample")]
pub(crate) enum Step {
    /// This number of events, and the join record.
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
    /// That it does not take place.
    Refuse(Outcome),
    /// The redo record goes.
    Drop(Outcome),
    /// The position.
    Finish(Outcome),
}

impl Holder {
    /// Takes the step; `None` where it learnt that its lease is lost, or was an echo.
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
                let read = (choice, Read::of(store.values, keys));
                if !rules.reads {
                    let step = self.apply(rules, store, (number, batch, pending), read);
                    return (step, (!self.echo).then_some(self));
                }
                self.at = At::Applying { number, batch, pending, read: Some(read) };
                Step::ReadShard(choice)
            }
            At::Applying { number, batch, pending, read: Some(read) } => {
                self.apply(rules, store, (number, batch, pending), read)
            }
            At::Refusing { number, batch, pending, part } => {
                let outcome = store.refuse(rules, (self.lease.writer, number), part, batch.writes);
                self.at = match outcome {
                    Outcome::Refused => At::Dropping(number),
                    _ => At::Applying { number, batch, pending: pending & !(1 << part), read: None },
                };
                Step::Refuse(outcome)
            }
            At::Dropping(number) => {
                let outcome = store.drop_redo(rules, &self.lease, number);
                self.at = At::Idle { looked: false };
                Step::Drop(outcome)
            }
        };
        let lost = match step {
            Step::Commit(outcome) | Step::Begin(outcome) | Step::Finish(outcome) => outcome == Outcome::Lost,
            Step::Apply(_, outcome) | Step::Refuse(outcome) | Step::Drop(outcome) => outcome == Outcome::Lost,
            _ => false,
        };
        (step, (!lost && !self.echo).then_some(self))
    }

    fn begin(&mut self, rules: &Rules, store: &mut Store, count: u8) -> Step {
        if let Some(clicks) = self.owed.take() {
            store.append(clicks);
            return Step::Append;
        }
        if self.lease.writer != CLOSER {
            self.plan(rules, store, plan::events(rules, &self.lease, store.values, count));
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
            Outcome::Taken => self.at = At::Idle { looked: false },
            _ => self.at = At::Ready(batch, Read::of(store.values, batch.writes.keys())),
        }
        Step::Commit(outcome)
    }

    fn store_redo(&mut self, rules: &Rules, store: &mut Store, batch: Batch) -> Step {
        self.lease.sequence += 1;
        let number = self.lease.sequence;
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
            Outcome::Taken => At::Refusing { number, batch, pending, part },
            Outcome::Refused => At::Dropping(number),
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
