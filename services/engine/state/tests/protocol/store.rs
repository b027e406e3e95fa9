//! The store: values, a row for each writer, and the scripts over them. Each function is one script, all or nothing.

use super::event::{Clicks, Time};
use super::rules::{Bug, Rules};
use super::value::{Keys, Record, SEEN, Values, Writes};

/// The two partitions and the closer.
pub(crate) const WRITERS: usize = 3;
/// The writer that closes.
pub(crate) const CLOSER: u8 = 2;
const MOST_PARTS: usize = 6;

/// Of a batch, counted in its writer's row.
pub(crate) type Number = u8;

/// The last batch of a writer that a shard has had to do with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Marker {
    number: Number,
    /// It does not take place.
    refused: bool,
}

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
    /// Number of batches begun.
    sequence: Number,
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
    pub(crate) sequence: Number,
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
    /// Another process has the lease; nothing was done.
    Lost,
    /// A key that has to be new is there already; nothing was done.
    Taken,
    /// The batch does not take place.
    Refused,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    /// Of each writer.
    pub(crate) rows: [Row; WRITERS],
    /// What lies under the keys.
    pub(crate) values: Values,
    /// The last batch of each writer in each shard.
    markers: [[Marker; WRITERS]; MOST_PARTS],
    /// The click-through store: which sets of clicks were appended as the ranking's.
    pub(crate) log: u16,
}

impl Store {
    /// Raises the epoch of a writer.
    pub(crate) fn acquire(&mut self, rules: &Rules, writer: u8) -> Lease {
        let row = &mut self.rows[usize::from(writer)];
        row.epoch += 1;
        let sequence = if rules.has(Bug::NumbersRestart) { 0 } else { row.sequence };
        let watermark = self.values.marks.get(usize::from(writer)).copied().unwrap_or_default();
        Lease { writer, epoch: row.epoch, position: row.position, watermark, sequence }
    }

    /// One Redis: checks lease and stamps, stores merged values, moves the position.
    pub(crate) fn commit(&mut self, rules: &Rules, lease: &Lease, batch: Batch, base: Values, stale: Keys) -> Outcome {
        if !self.held(rules, lease) {
            return Outcome::Lost;
        }
        let outcome = self.put(rules, batch.writes, Keys::MAX, base, stale);
        if outcome == Outcome::Done {
            self.advance(lease.writer, batch);
        }
        outcome
    }

    /// Cluster, first step: checks the lease and that no other batch is under way, keeps this one as redo record.
    pub(crate) fn begin(&mut self, rules: &Rules, lease: &Lease, number: Number, batch: Batch) -> Outcome {
        let row = self.rows[usize::from(lease.writer)];
        let next = number == row.sequence + 1 && row.redo.is_none();
        if !self.held(rules, lease) || rules.checks_number() && !next {
            return Outcome::Lost;
        }
        self.rows[usize::from(lease.writer)].sequence = number;
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
        if let Some(before) = self.had(part, writer, number, writes) {
            return before;
        }
        let outcome = self.put(rules, writes, keys, base, stale);
        if outcome != Outcome::Done {
            return outcome;
        }
        if !rules.has(Bug::NoMarkers) {
            self.markers[part][writer] = Marker { number, refused: false };
        }
        if rules.has(Bug::MarkersInValues) && writes.removed() & keys != 0 {
            self.markers[part] = Default::default();
        }
        Outcome::Done
    }

    /// What a shard knows of a batch, or of a later one: who decides by it whether the batch takes place can no longer tell then.
    fn had(&self, part: usize, writer: usize, number: Number, writes: Writes) -> Option<Outcome> {
        let marker = self.markers[part][writer];
        match marker.number.cmp(&number) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal if marker.refused => Some(Outcome::Refused),
            std::cmp::Ordering::Greater if writes.seen => Some(Outcome::Lost),
            _ => Some(Outcome::Skipped),
        }
    }

    /// Cluster, where a key that has to be new is there: the batch does not take place, unless it has.
    pub(crate) fn refuse(
        &mut self,
        rules: &Rules,
        (writer, number): (u8, Number),
        part: u8,
        writes: Writes,
    ) -> Outcome {
        let (part, writer) = (usize::from(part), usize::from(writer));
        debug_assert!(rules.parts()[part] & writes.keys() != 0);
        self.had(part, writer, number, writes).unwrap_or_else(|| {
            self.markers[part][writer] = Marker { number, refused: true };
            Outcome::Refused
        })
    }

    /// Cluster, last step of a batch that does not take place: as [`Store::finish`], and the position stays.
    pub(crate) fn drop_redo(&mut self, rules: &Rules, lease: &Lease, number: Number) -> Outcome {
        if !self.is_under_way(rules, lease, number) {
            return Outcome::Lost;
        }
        self.rows[usize::from(lease.writer)].redo = None;
        Outcome::Done
    }

    /// Cluster, last step: checks the epoch and that the redo record is still this one, moves the position.
    pub(crate) fn finish(&mut self, rules: &Rules, lease: &Lease, number: Number, batch: Batch) -> Outcome {
        if !self.is_under_way(rules, lease, number) {
            return Outcome::Lost;
        }
        self.advance(lease.writer, batch);
        Outcome::Done
    }

    fn is_under_way(&self, rules: &Rules, lease: &Lease, number: Number) -> bool {
        let row = &self.rows[usize::from(lease.writer)];
        let held = row.epoch == lease.epoch || !rules.checks_epoch();
        held && row.redo.is_some_and(|(stored, _)| stored == number)
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
        self.values.marks[0].min(self.values.marks[1])
    }

    fn held(&self, rules: &Rules, lease: &Lease) -> bool {
        let row = &self.rows[usize::from(lease.writer)];
        let epoch = row.epoch == lease.epoch || !rules.checks_epoch();
        epoch && row.position == lease.position || rules.has(Bug::NoLease)
    }

    fn advance(&mut self, writer: u8, batch: Batch) {
        let row = &mut self.rows[usize::from(writer)];
        *row = Row { position: batch.to, redo: None, ..*row };
    }

    /// Compares and sets. A key that was absent and is absent again has the same stamp: none.
    fn put(&mut self, rules: &Rules, writes: Writes, keys: Keys, base: Values, stale: Keys) -> Outcome {
        let keys = keys & writes.keys();
        if keys & SEEN != 0 && self.values.seen {
            return Outcome::Taken;
        }
        let changed = stale & keys & !(base.absent() & self.values.absent());
        if changed != 0 && !rules.has(Bug::NoStamps) {
            return Outcome::Conflict;
        }
        self.values = self.values.with(keys, base.absorb(writes));
        Outcome::Done
    }
}
