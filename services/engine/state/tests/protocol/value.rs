//! Stored values, and the writes they absorb.
//!
//! There are three kinds of keys: one item, whose counters add; one join record; and a key for each click that waits.
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

/// A set of keys: the item, the join record, a key for each click that waits.
pub(crate) type Keys = u8;
/// The item's key.
pub(crate) const ITEM: Keys = 1;
/// The join record's key.
pub(crate) const RECORD: Keys = 2;
const WAITING: u32 = 2;

/// What lies under all keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Values {
    /// The item.
    pub(crate) item: Counts,
    /// The join record.
    pub(crate) record: Record,
    /// Clicks that have a key of their own.
    pub(crate) waiting: Clicks,
}

impl Values {
    /// Keys under which nothing lies.
    pub(crate) fn absent(self) -> Keys {
        let item = if self.item == Counts::default() { ITEM } else { 0 };
        let record = if self.record == Record::default() { RECORD } else { 0 };
        item | record | !(ITEM | RECORD | self.waiting << WAITING)
    }

    /// These, with `keys` as `other` has them.
    pub(crate) fn with(self, keys: Keys, other: Self) -> Self {
        let waiting = keys >> WAITING;
        Self {
            item: if keys & ITEM != 0 { other.item } else { self.item },
            record: if keys & RECORD != 0 { other.record } else { self.record },
            waiting: self.waiting & !waiting | other.waiting & waiting,
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
}

impl Writes {
    /// The keys it touches.
    pub(crate) fn keys(self) -> Keys {
        let record = self.ranking || self.clicks != 0 || self.seal || self.remove;
        let item = if self.effects != 0 { ITEM } else { 0 };
        item | if record { RECORD } else { 0 } | (self.wait | self.taken) << WAITING
    }

    /// The keys it removes.
    pub(crate) fn removed(self) -> Keys {
        self.taken << WAITING | if self.remove { RECORD } else { 0 }
    }
}
