//! Which protocol is checked: its variant, what goes wrong around it, and at most one bug put in.

use super::event::Story;
use super::value::{ITEM, Keys, MARKS, RECORDS, SEEN};

/// Where values lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// One script can touch everything.
    OneRedis,
    /// A script can touch the keys of one shard, or the row of one writer.
    Cluster,
}

/// What a careless implementation would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The position moves before the effects take place.
    PositionFirst,
    /// Scripts check the position, and neither the epoch nor the number of the batch.
    NoEpoch,
    /// Scripts check position and number, and no epoch.
    NumbersAlone,
    /// Scripts check neither epoch nor position.
    NoLease,
    /// Merged values are stored whatever lies there by now.
    NoStamps,
    /// Nothing remembers which batches a shard has.
    NoMarkers,
    /// The memory of batches lies in each value, and goes away with it.
    MarkersInValues,
    /// Batch numbers start again with each holder.
    NumbersRestart,
    /// A new holder leaves the redo record alone.
    RedoLeft,
    /// A click joins an open record whatever the watermark of its own partition.
    NoGuard,
    /// The closer reads watermarks after the records.
    WatermarksLast,
    /// The closer seals a record before it has taken the clicks that wait.
    SealFirst,
    /// The closer removes a record before its click-through is durable.
    RemoveFirst,
    /// A watermark is written before the effects that it speaks of.
    WatermarkFirst,
    /// Other parts of a batch are sent before the one that may refuse it.
    DecideLate,
}

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Where values lie.
    pub(crate) variant: Variant,
    /// What happens.
    pub(crate) story: Story,
    /// How many crashes, take-overs from a living holder and repeated messages there are, at most.
    pub(crate) faults: u8,
    /// How many events a batch has, at most.
    pub(crate) batch: u8,
    /// Whether a shard's values are read in a step of its own before the script that sets them. Because of the stamps
    /// that script changes nothing unless they are as they were read, so that one step stands for both.
    pub(crate) reads: bool,
    /// What is wrong with it.
    pub(crate) bug: Option<Bug>,
}

impl Rules {
    /// The protocol as it should be.
    pub(crate) fn new(variant: Variant, story: Story) -> Self {
        Self { variant, story, faults: 2, batch: 2, reads: true, bug: None }
    }

    /// The same with a bug.
    pub(crate) fn with(self, bug: Bug) -> Self {
        Self { bug: Some(bug), ..self }
    }

    /// The same with other numbers of faults and events of a batch.
    pub(crate) fn sized(self, faults: u8, batch: u8) -> Self {
        Self { faults, batch, ..self }
    }

    /// The same, with a shard read and set in one step.
    pub(crate) fn merged(self) -> Self {
        Self { reads: false, ..self }
    }

    /// Whether it has this bug.
    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Whether scripts compare the epoch.
    pub(crate) fn checks_epoch(&self) -> bool {
        ![Bug::NoEpoch, Bug::NumbersAlone, Bug::NoLease].into_iter().any(|bug| self.has(bug))
    }

    /// Whether the script that begins a batch compares its number, and finds one that is under way.
    pub(crate) fn checks_number(&self) -> bool {
        ![Bug::NoEpoch, Bug::NoLease, Bug::NumbersRestart, Bug::RedoLeft].into_iter().any(|bug| self.has(bug))
    }

    /// Whether a commit takes several steps.
    pub(crate) fn stepwise(&self) -> bool {
        self.variant == Variant::Cluster || self.has(Bug::PositionFirst)
    }

    /// The keys that one script can touch together. The join record and what waits for it share a shard.
    pub(crate) fn parts(&self) -> &'static [Keys] {
        match self.variant {
            Variant::OneRedis => &[Keys::MAX],
            Variant::Cluster if self.has(Bug::MarkersInValues) => &[1, 2, 4, 8, SEEN, MARKS],
            Variant::Cluster => &[ITEM, RECORDS, SEEN, MARKS],
        }
    }

    /// Those of the parts that may be sent next: the one that decides comes first, the watermark last.
    pub(crate) fn next_parts(&self, pending: u8) -> u8 {
        let with = |keys: Keys| self.parts().iter().position(|part| *part == keys).map_or(0, |part| 1 << part);
        let (first, last) = (pending & with(SEEN), pending & with(MARKS));
        match pending & !last {
            _ if last != 0 && self.has(Bug::WatermarkFirst) => last,
            _ if first != 0 && !self.has(Bug::DecideLate) => first,
            0 => last,
            others => others,
        }
    }
}

impl std::fmt::Display for Rules {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { variant, story, faults, batch, .. } = self;
        write!(formatter, "{variant:?} {:?}, faults: {faults}, batch: {batch}", story.partitions)?;
        self.bug.map_or(Ok(()), |bug| write!(formatter, ", {bug:?}"))
    }
}
