//! Stored values, and the writes they absorb.
//!
//! There are five kinds of keys: one item, whose counters add; one join record; a key for each click that waits; the
//! watermark of each partition; and the id of an event that came before.
//! The counters are kept apart by effect, so that one lost and one doubled cannot make up for each other.

use super::event::{CLICKED, Clicks, SESSION, SHOWN, Time, each};

/// A set of effects on the item, by number.
pub(crate) type Effects = u16;

/// A click is counted.
pub(crate) fn clicked(click: u8) -> Effects {
    1 << click
}

/// A click without a ranking is counted as shown.
pub(crate) fn unknown(click: u8) -> Effects {
    1 << (2 + click)
}

/// A closed ranking's click counts in the rate.
pub(crate) fn rated(click: u8) -> Effects {
    1 << (4 + click)
}

/// A plain event is counted.
pub(crate) fn plain(event: u8) -> Effects {
    1 << (6 + event)
}

/// The closed ranking is counted as shown.
pub(crate) const IMPRESSION: Effects = 1 << 8;

/// How often each effect took place; two bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Counts(u32);

impl Counts {
    /// How often one effect took place; 3 stands for more.
    pub(crate) fn of(self, effect: Effects) -> u32 {
        self.0 >> (2 * effect.trailing_zeros()) & 3
    }

    /// Whether any took place more than once.
    pub(crate) fn any_twice(self) -> bool {
        self.0 & 0xAAAA_AAAA != 0
    }

    /// With more effects.
    pub(crate) fn add(self, effects: Effects) -> Self {
        let lanes = (0..Effects::BITS).filter(|lane| effects & (1 << lane) != 0);
        Self(lanes.fold(self.0, |counts, lane| counts + (u32::from(counts >> (2 * lane) & 3 != 3) << (2 * lane))))
    }
}

/// What is known of the ranking; the default is what an absent key means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    /// The ranking itself was seen.
    pub(crate) ranking: bool,
    /// Clicks on it.
    pub(crate) clicks: Clicks,
    /// It is closed.
    pub(crate) sealed: bool,
}

impl Record {
    /// It takes clicks.
    pub(crate) fn open(self) -> bool {
        self.ranking && !self.sealed
    }

    /// When it closes.
    pub(crate) fn deadline(self) -> Time {
        let last = each(self.clicks).map(|click| CLICKED[usize::from(click)]).max();
        last.map_or(SHOWN, |last| last.max(SHOWN)) + SESSION
    }
}

/// A set of keys: the item, the join record, a key for each click that waits, two watermarks, an event's id.
pub(crate) type Keys = u8;
/// The item's key.
pub(crate) const ITEM: Keys = 1;
/// The join record's key.
pub(crate) const RECORD: Keys = 2;
const WAITING: u32 = 2;
/// The join record, and what waits for it.
pub(crate) const RECORDS: Keys = 0b1110;
const WATERMARKS: u32 = 4;
/// The watermarks.
pub(crate) const MARKS: Keys = 0b11 << WATERMARKS;
/// The event's id.
pub(crate) const SEEN: Keys = 1 << 6;

/// What lies under all keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Values {
    /// The item.
    pub(crate) item: Counts,
    /// The join record.
    pub(crate) record: Record,
    /// Clicks that have a key of their own.
    pub(crate) waiting: Clicks,
    /// Newest time of what each partition has brought; 0 before it has.
    pub(crate) marks: [Time; 2],
    /// The event that comes to both partitions has come.
    pub(crate) seen: bool,
}

impl Values {
    /// Keys under which nothing lies.
    pub(crate) fn absent(self) -> Keys {
        let item = if self.item == Counts::default() { ITEM } else { 0 };
        let record = if self.record == Record::default() { RECORD } else { 0 };
        let seen = if self.seen { SEEN } else { 0 };
        item | record | !(ITEM | RECORD | self.waiting << WAITING | seen | keys_of(self.marks))
    }

    /// These, with `keys` as `other` has them.
    pub(crate) fn with(self, keys: Keys, other: Self) -> Self {
        let waiting = (keys & RECORDS) >> WAITING;
        let mark = |partition: usize| match keys & (1 << WATERMARKS << partition) {
            0 => self.marks[partition],
            _ => other.marks[partition],
        };
        Self {
            item: if keys & ITEM != 0 { other.item } else { self.item },
            record: if keys & RECORD != 0 { other.record } else { self.record },
            waiting: self.waiting & !waiting | other.waiting & waiting,
            marks: [mark(0), mark(1)],
            seen: if keys & SEEN != 0 { other.seen } else { self.seen },
        }
    }

    /// Only what lies under `keys`.
    pub(crate) fn only(self, keys: Keys) -> Self {
        Self::default().with(keys, self)
    }

    /// These, after writes.
    pub(crate) fn absorb(self, writes: Writes) -> Self {
        let record = Record {
            ranking: self.record.ranking || writes.ranking,
            clicks: self.record.clicks | writes.clicks,
            sealed: self.record.sealed || writes.seal,
        };
        Self {
            item: self.item.add(writes.effects),
            record: if writes.remove { Record::default() } else { record },
            waiting: (self.waiting | writes.wait) & !writes.taken,
            marks: [0, 1].map(|partition| self.marks[partition].max(writes.marks[partition])),
            seen: self.seen || writes.seen,
        }
    }
}

/// What a batch does to the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Writes {
    /// Effects on the item.
    pub(crate) effects: Effects,
    /// Adds the ranking to the record.
    pub(crate) ranking: bool,
    /// Adds clicks to the record.
    pub(crate) clicks: Clicks,
    /// Closes the record.
    pub(crate) seal: bool,
    /// Removes the record.
    pub(crate) remove: bool,
    /// Lets clicks wait.
    pub(crate) wait: Clicks,
    /// Removes the keys of clicks that waited.
    pub(crate) taken: Clicks,
    /// Moves watermarks, where not 0.
    pub(crate) marks: [Time; 2],
    /// Remembers the event that comes to both partitions, which must not have come.
    pub(crate) seen: bool,
}

/// The keys of watermarks that are not 0.
fn keys_of(marks: [Time; 2]) -> Keys {
    (0..)
        .zip(marks)
        .filter(|(_, mark)| *mark != 0)
        .fold(0, |keys, (partition, _): (u32, _)| keys | 1 << (WATERMARKS + partition))
}

impl Writes {
    /// The keys it touches.
    pub(crate) fn keys(self) -> Keys {
        let record = self.ranking || self.clicks != 0 || self.seal || self.remove;
        let item = if self.effects != 0 { ITEM } else { 0 };
        let (record, seen) = (if record { RECORD } else { 0 }, if self.seen { SEEN } else { 0 });
        item | record | (self.wait | self.taken) << WAITING | seen | keys_of(self.marks)
    }

    /// The keys it removes.
    pub(crate) fn removed(self) -> Keys {
        self.taken << WAITING | if self.remove { RECORD } else { 0 }
    }
}
