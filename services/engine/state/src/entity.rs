//! All stored values of one item, visitor, visit or field value.

use crate::{Cell, FieldValue, Part, Recent, Slot, Windows};
use rankwright_event::Timestamp;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Duration;

/// A value with the time of its last change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// Event time of the newest write.
    pub at: Timestamp,
    /// Digest of the newest write's event, which orders writes of equal time.
    pub event: u64,
    /// The value.
    pub cell: Cell,
}

/// Values by slot: at most one under each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entity {
    /// What was sent. It changes seldom: copies of an entity share it.
    fields: Option<Arc<Values>>,
    /// What was counted, and all else.
    counts: Values,
}

/// Values in order of their slots.
#[derive(Debug, Clone, PartialEq, Default)]
struct Values {
    /// Side by side: a look-up touches one cache line of these and one of its value.
    slots: SmallVec<[Slot; 12]>,
    values: Vec<Stored>,
}

/// Since when a value has to be there to count at `now`; of one that is never kept, no time is late enough.
pub fn oldest(now: Timestamp, ttl: Duration) -> Timestamp {
    if ttl.is_zero() { Timestamp::MAX } else { now.minus(ttl) }
}

impl Stored {
    fn is_field(&self) -> bool {
        matches!(self.cell, Cell::Field(_))
    }

    /// The field, if it is one and not older than `oldest`.
    pub fn field(&self, oldest: Timestamp) -> Option<&FieldValue> {
        match &self.cell {
            Cell::Field(value) if self.at >= oldest => Some(value),
            _ => None,
        }
    }

    fn absorb(&mut self, other: &Self) {
        let age = (other.at, other.event).cmp(&(self.at, self.event));
        self.cell.absorb(&other.cell, age);
        if age.is_gt() {
            (self.at, self.event) = (other.at, other.event);
        }
    }
}

impl Values {
    fn place(&self, slot: Slot) -> Option<usize> {
        // Without a branch, for a few slots this is a handful of instructions.
        let place = self.slots.iter().map(|other| usize::from(*other < slot)).sum();
        (self.slots.get(place) == Some(&slot)).then_some(place)
    }

    fn get(&self, slot: Slot) -> Option<&Stored> {
        self.place(slot).map(|place| &self.values[place])
    }

    /// Takes out a value that belongs elsewhere: one that has become another kind, as in a damaged store.
    fn take_if(&mut self, place: usize, elsewhere: impl FnOnce(&Stored) -> bool) -> Option<Stored> {
        elsewhere(&self.values[place]).then(|| {
            self.slots.remove(place);
            self.values.remove(place)
        })
    }

    fn insert(&mut self, slot: Slot, stored: Stored) {
        let place = self.slots.partition_point(|other| *other < slot);
        self.slots.insert(place, slot);
        self.values.insert(place, stored);
    }

    fn retain(&mut self, mut keep: impl FnMut(Slot, &Stored) -> bool) {
        let kept: SmallVec<[bool; 32]> =
            self.slots.iter().zip(&self.values).map(|(slot, stored)| keep(*slot, stored)).collect();
        let (mut slots, mut values) = (kept.iter(), kept.iter());
        self.slots.retain(|_| slots.next() == Some(&true));
        self.values.retain(|_| values.next() == Some(&true));
    }

    fn iter(&self) -> impl Iterator<Item = (Slot, &Stored)> {
        self.slots.iter().copied().zip(&self.values)
    }
}

/// An entity that takes its values in order of their slots.
#[derive(Default)]
pub(crate) struct Ordered {
    fields: Values,
    counts: Values,
    last: Option<Slot>,
    /// How many values are still to come.
    expected: usize,
}

impl Ordered {
    /// Expects this number of values.
    pub(crate) fn expecting(values: usize) -> Self {
        Self { expected: values, ..Self::default() }
    }

    /// Takes the next value; whether its slot comes after those before.
    #[must_use]
    pub(crate) fn push(&mut self, slot: Slot, stored: Stored) -> bool {
        let is_next = self.last.is_none_or(|last| last < slot);
        self.last = Some(slot);
        let values = if stored.is_field() { &mut self.fields } else { &mut self.counts };
        if values.values.is_empty() {
            values.values.reserve_exact(self.expected);
        }
        self.expected = self.expected.saturating_sub(1);
        values.slots.push(slot);
        values.values.push(stored);
        is_next
    }

    /// All of them.
    pub(crate) fn entity(mut self) -> Entity {
        for values in [&mut self.fields.values, &mut self.counts.values] {
            if values.capacity() > 2 * values.len() {
                values.shrink_to_fit();
            }
        }
        Entity { fields: (!self.fields.values.is_empty()).then(|| Arc::new(self.fields)), counts: self.counts }
    }
}

/// Reads what look-ups in these entities meet, so that the processor fetches it all at once.
///
/// Entities lie all over the memory, and a look-up waits for one place after the other. Pass by pass, this asks for one
/// place of every entity, and none of these reads waits for another.
pub fn warm(entities: &[Option<&Arc<Entity>>]) {
    let present = || entities.iter().flatten();
    let fields = || present().filter_map(|entity| entity.fields.as_ref());
    let mut sum = present().map(|entity| entity.counts.slots.len()).sum::<usize>();
    sum += fields().map(|fields| fields.slots.len()).sum::<usize>();
    let events =
        |values: &Values| values.values.iter().map(|stored| stored.event as usize).fold(0, usize::wrapping_add);
    sum = sum.wrapping_add(fields().map(|fields| events(fields)).fold(0, usize::wrapping_add));
    sum = sum.wrapping_add(present().map(|entity| events(&entity.counts)).fold(0, usize::wrapping_add));
    std::hint::black_box(sum);
}

impl Entity {
    /// An entity with one value.
    pub fn one(slot: Slot, stored: Stored) -> Self {
        let mut entity = Self::default();
        entity.insert(slot, stored);
        entity
    }

    /// From values in order of their slots; `None` where they are not.
    pub fn from_values(values: Vec<(Slot, Stored)>) -> Option<Self> {
        let mut ordered = Ordered::default();
        values.into_iter().all(|(slot, stored)| ordered.push(slot, stored)).then(|| ordered.entity())
    }

    /// All values in order of their slots.
    pub fn values(&self) -> impl Iterator<Item = (Slot, &Stored)> {
        let mut fields = self.fields.iter().flat_map(|fields| fields.iter()).peekable();
        let mut counts = self.counts.iter().peekable();
        std::iter::from_fn(move || match (fields.peek(), counts.peek()) {
            (Some((field, _)), Some((count, _))) if field < count => fields.next(),
            (Some(_), None) => fields.next(),
            _ => counts.next(),
        })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.fields.as_ref().map_or(0, |fields| fields.values.len()) + self.counts.values.len()
    }

    /// Time of its newest value; the earliest time there is where it has none.
    pub fn newest(&self) -> Timestamp {
        self.values().map(|(_, stored)| stored.at).max().unwrap_or(Timestamp::MIN)
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes in one value.
    pub fn absorb_value(&mut self, slot: Slot, stored: &Stored) {
        if let Some(place) = self.counts.place(slot) {
            self.counts.values[place].absorb(stored);
            let moved = self.counts.take_if(place, |stored| stored.is_field());
            return moved.into_iter().for_each(|stored| self.insert(slot, stored));
        }
        let place = self.fields.as_ref().and_then(|fields| fields.place(slot));
        let (Some(place), Some(fields)) = (place, &mut self.fields) else { return self.insert(slot, stored.clone()) };
        let fields = Arc::make_mut(fields);
        fields.values[place].absorb(stored);
        let moved = fields.take_if(place, |stored| !stored.is_field());
        moved.into_iter().for_each(|stored| self.insert(slot, stored));
    }

    /// Puts a value where there is none.
    fn insert(&mut self, slot: Slot, stored: Stored) {
        match stored.is_field() {
            true => Arc::make_mut(self.fields.get_or_insert_default()).insert(slot, stored),
            false => self.counts.insert(slot, stored),
        }
    }

    /// Takes in all values of another.
    pub fn absorb(&mut self, other: &Self) {
        if self.fields.is_none() && other.fields.is_some() && self.counts.values.is_empty() {
            self.fields.clone_from(&other.fields);
        } else {
            for (slot, stored) in other.fields.iter().flat_map(|fields| fields.iter()) {
                self.absorb_value(slot, stored);
            }
        }
        for (slot, stored) in other.counts.iter() {
            self.absorb_value(slot, stored);
        }
    }

    /// Keeps the values for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(Slot, &Stored) -> bool) {
        if let Some(fields) = &mut self.fields {
            Arc::make_mut(fields).retain(&mut keep);
            if fields.values.is_empty() {
                self.fields = None;
            }
        }
        self.counts.retain(keep);
    }

    /// A counted value, unless it is older than `ttl` at `now`.
    fn count(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<&Stored> {
        self.counts.get(slot).filter(|stored| stored.at >= oldest(now, ttl))
    }

    /// Finds the fields of several slots, in their order, at once: `found` takes the place in `slots` and the value.
    pub fn each_field<'e>(&'e self, slots: &[Slot], mut found: impl FnMut(usize, &'e Stored)) {
        let Some(fields) = &self.fields else { return };
        let mut place = 0;
        for (index, slot) in slots.iter().enumerate() {
            while fields.slots.get(place).is_some_and(|other| other < slot) {
                place += 1;
            }
            if fields.slots.get(place) == Some(slot) {
                found(index, &fields.values[place]);
            }
        }
    }

    /// A field.
    pub fn field(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<&FieldValue> {
        self.field_since(slot, oldest(now, ttl))
    }

    /// A field, unless it is older than `oldest`.
    pub fn field_since(&self, slot: Slot, oldest: Timestamp) -> Option<&FieldValue> {
        self.fields.as_ref()?.get(slot)?.field(oldest)
    }

    /// A counter.
    pub fn counter(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<u64> {
        match &self.count(slot, now, ttl)?.cell {
            Cell::Counter(count) => Some(*count),
            _ => None,
        }
    }

    /// Counters by period.
    pub fn windows(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<&Windows> {
        match &self.count(slot, now, ttl)?.cell {
            Cell::Windows(windows) => Some(windows),
            _ => None,
        }
    }

    /// The newest interactions.
    pub fn recent(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<&Recent> {
        match &self.count(slot, now, ttl)?.cell {
            Cell::Recent(recent) => Some(recent),
            _ => None,
        }
    }

    /// The newest items, whatever the time.
    pub fn items(&self, slot: Slot) -> Option<&Recent> {
        match &self.counts.get(slot)?.cell {
            Cell::Items(items) => Some(items),
            _ => None,
        }
    }

    /// A set of small numbers.
    pub fn flags(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<u64> {
        match &self.count(slot, now, ttl)?.cell {
            Cell::Flags(flags) => Some(*flags),
            _ => None,
        }
    }

    /// Blobs by time and event.
    pub fn parts(&self, slot: Slot) -> &[Part] {
        match self.counts.get(slot).map(|stored| &stored.cell) {
            Some(Cell::Parts(parts)) => parts.all(),
            _ => &[],
        }
    }

    /// Bytes.
    pub fn blob(&self, slot: Slot) -> Option<&[u8]> {
        match &self.counts.get(slot)?.cell {
            Cell::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }
}
