//! The store: values, a row for each writer, and the scripts over them. Each function is one script, all or nothing.

use super::event::{Clicks, Time};
use super::rules::{Bug, Rules};
use super::value::{Keys, Record, Values, Writes};

/// The two partitions and the closer.
pub(crate) const WRITERS: usize = 3;
/// The writer that closes.
pub(crate) const CLOSER: u8 = 2;
const MOST_PARTS: usize = 4;

/// The epoch in which a batch began, and its number therein.
pub(crate) type Number = (u8, u8);

/// Effects, and where the writer stands afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Batch {
    /// What it does to the values.
    pub(crate) writes: Writes,
    /// The writer's position afterwards.
    pub(crate) to: u8,
    /// The writer's watermark afterwards.
    pub(crate) watermark: Time,
}

/// What the store keeps for each writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    /// Raised by each acquisition.
    pub(crate) epoch: u8,
    /// Events before it have taken effect.
    pub(crate) position: u8,
    /// Newest time among them.
    pub(crate) watermark: Time,
    /// A batch on its way to the shards.
    pub(crate) redo: Option<(Number, Batch)>,
}

/// What a holder knows of its writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lease {
    /// Whose it is.
    pub(crate) writer: u8,
    /// The acquisition it comes from.
    pub(crate) epoch: u8,
    /// Where the writer stands.
    pub(crate) position: u8,
    /// The writer's watermark.
    pub(crate) watermark: Time,
    /// Number of batches begun.
    pub(crate) sequence: u8,
}

/// What became of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is done.
    Done,
    /// It was done before.
    Skipped,
    /// A value had changed; nothing was done.
    Conflict,
    /// The lease is somebody else's; nothing was done.
    Lost,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    /// Of each writer.
    pub(crate) rows: [Row; WRITERS],
    /// What lies under the keys.
    pub(crate) values: Values,
    /// The last batch of each writer in each shard.
    markers: [[Number; WRITERS]; MOST_PARTS],
    /// The click-through store: which sets of clicks were appended as the ranking's.
    pub(crate) log: u16,
}

impl Store {
    /// Raises the epoch of a writer.
    pub(crate) fn acquire(&mut self, writer: u8) -> Lease {
        let row = &mut self.rows[usize::from(writer)];
        row.epoch += 1;
        Lease { writer, epoch: row.epoch, position: row.position, watermark: row.watermark, sequence: 0 }
    }

    /// One Redis: checks lease and stamps, stores merged values, moves the position.
    pub(crate) fn commit(&mut self, rules: &Rules, lease: &Lease, batch: Batch, base: Values, stale: Keys) -> Outcome {
        if !self.held(rules, lease) {
            return Outcome::Lost;
        }
        if !self.put(rules, batch.writes, Keys::MAX, base, stale) {
            return Outcome::Conflict;
        }
        self.advance(lease.writer, batch);
        Outcome::Done
    }

    /// Cluster, first step: checks the lease, keeps the batch as redo record.
    pub(crate) fn begin(&mut self, rules: &Rules, lease: &Lease, number: Number, batch: Batch) -> Outcome {
        if !self.held(rules, lease) {
            return Outcome::Lost;
        }
        if rules.has(Bug::PositionFirst) {
            self.advance(lease.writer, batch);
        } else {
            self.rows[usize::from(lease.writer)].redo = Some((number, batch));
        }
        Outcome::Done
    }

    /// Cluster, second step, once for each shard: checks its memory of the writer and the stamps, stores merged values.
    pub(crate) fn apply(
        &mut self,
        rules: &Rules,
        (writer, number): (u8, Number),
        (part, writes): (u8, Writes),
        (base, stale): (Values, Keys),
    ) -> Outcome {
        let (part, writer) = (usize::from(part), usize::from(writer));
        let keys = rules.parts()[part];
        if self.markers[part][writer] >= number {
            return Outcome::Skipped;
        }
        if !self.put(rules, writes, keys, base, stale) {
            return Outcome::Conflict;
        }
        if !rules.has(Bug::NoMarkers) {
            self.markers[part][writer] = number;
        }
        if rules.has(Bug::MarkersInValues) && writes.removed() & keys != 0 {
            self.markers[part] = Default::default();
        }
        Outcome::Done
    }

    /// Cluster, last step: checks the epoch and that the redo record is still this one, moves the position.
    pub(crate) fn finish(&mut self, rules: &Rules, lease: &Lease, number: Number, batch: Batch) -> Outcome {
        let row = &self.rows[usize::from(lease.writer)];
        let unchecked = rules.has(Bug::NoEpoch) || rules.has(Bug::NoLease);
        let same = row.redo.is_some_and(|(stored, _)| stored == number);
        if !same || row.epoch != lease.epoch && !unchecked {
            return Outcome::Lost;
        }
        self.advance(lease.writer, batch);
        Outcome::Done
    }

    /// Adds a click-through to the click-through store.
    pub(crate) fn append(&mut self, clicks: Clicks) {
        self.log |= 1 << clicks;
    }

    /// What a closer looks at.
    pub(crate) fn closable(&self) -> (Time, Record, Clicks) {
        (self.watermark(), self.values.record, self.values.waiting)
    }

    /// The lowest watermark of all partitions.
    pub(crate) fn watermark(&self) -> Time {
        self.rows[0].watermark.min(self.rows[1].watermark)
    }

    fn held(&self, rules: &Rules, lease: &Lease) -> bool {
        let row = &self.rows[usize::from(lease.writer)];
        let epoch = row.epoch == lease.epoch || rules.has(Bug::NoEpoch);
        epoch && row.position == lease.position || rules.has(Bug::NoLease)
    }

    fn advance(&mut self, writer: u8, batch: Batch) {
        let row = &mut self.rows[usize::from(writer)];
        *row = Row { position: batch.to, watermark: batch.watermark, redo: None, epoch: row.epoch };
    }

    /// Compares and sets. A key that was absent and is absent again has the same stamp: none.
    fn put(&mut self, rules: &Rules, writes: Writes, keys: Keys, base: Values, stale: Keys) -> bool {
        let keys = keys & writes.keys();
        let changed = stale & keys & !(base.absent() & self.values.absent());
        if changed != 0 && !rules.has(Bug::NoStamps) {
            return false;
        }
        self.values = self.values.with(keys, base.absorb(writes));
        true
    }
}
