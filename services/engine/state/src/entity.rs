//! All stored values of one item, visitor, visit or field value.

use crate::{Cell, FieldValue, Recent, Slot, Windows};
use rankwright_event::Timestamp;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
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

/// Values by slot.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entity {
    /// In order of slots.
    values: Vec<(Slot, Stored)>,
    /// The same slots side by side: a look-up touches one or two cache lines instead of every value.
    slots: SmallVec<[Slot; 20]>,
}

impl Stored {
    fn absorb(&mut self, other: &Self) {
        let age = (other.at, other.event).cmp(&(self.at, self.event));
        self.cell.absorb(&other.cell, age);
        if age.is_gt() {
            (self.at, self.event) = (other.at, other.event);
        }
    }
}

impl Entity {
    /// An entity with one value.
    pub fn one(slot: Slot, stored: Stored) -> Self {
        Self { values: vec![(slot, stored)], slots: SmallVec::from_slice(&[slot]) }
    }

    /// From values in order of their slots; `None` where they are not.
    pub fn from_values(values: Vec<(Slot, Stored)>) -> Option<Self> {
        let ordered = values.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let slots = values.iter().map(|(slot, _)| *slot).collect();
        ordered.then_some(Self { values, slots })
    }

    /// All values in order of their slots.
    pub fn values(&self) -> &[(Slot, Stored)] {
        &self.values
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Takes in one value.
    pub fn absorb_value(&mut self, slot: Slot, stored: &Stored) {
        match self.slots.binary_search(&slot) {
            Ok(place) => self.values[place].1.absorb(stored),
            Err(place) => {
                self.values.insert(place, (slot, stored.clone()));
                self.slots.insert(place, slot);
            }
        }
    }

    /// Takes in all values of another.
    pub fn absorb(&mut self, other: &Self) {
        for (slot, stored) in &other.values {
            self.absorb_value(*slot, stored);
        }
    }

    /// Keeps the values for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(Slot, &Stored) -> bool) {
        self.values.retain(|(slot, stored)| keep(*slot, stored));
        self.slots = self.values.iter().map(|(slot, _)| *slot).collect();
    }

    /// A value, unless it is older than `ttl` at `now`.
    pub fn value(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<&Stored> {
        let place = self.slots.iter().position(|other| *other == slot)?;
        let stored = &self.values[place].1;
        (stored.at >= now.minus(ttl)).then_some(stored)
    }

    /// A field.
    pub fn field(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<&FieldValue> {
        match &self.value(slot, now, ttl)?.cell {
            Cell::Field(value) => Some(value),
            _ => None,
        }
    }

    /// A counter.
    pub fn counter(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<u64> {
        match &self.value(slot, now, ttl)?.cell {
            Cell::Counter(count) => Some(*count),
            _ => None,
        }
    }

    /// Counters by period.
    pub fn windows(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<&Windows> {
        match &self.value(slot, now, ttl)?.cell {
            Cell::Windows(windows) => Some(windows),
            _ => None,
        }
    }

    /// The newest interactions.
    pub fn recent(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<&Recent> {
        match &self.value(slot, now, ttl)?.cell {
            Cell::Recent(recent) => Some(recent),
            _ => None,
        }
    }

    /// A set of small numbers.
    pub fn flags(&self, slot: Slot, now: Timestamp, ttl: Duration) -> Option<u64> {
        match &self.value(slot, now, ttl)?.cell {
            Cell::Flags(flags) => Some(*flags),
            _ => None,
        }
    }

    /// Bytes.
    pub fn blob(&self, slot: Slot) -> Option<&[u8]> {
        match &self.values.iter().find(|(other, _)| *other == slot)?.1.cell {
            Cell::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }
}
