//! Kinds of stored values, each with the rule by which two of them become one.
//!
//! Every rule commutes and associates: a store may fold writes together, and writers may come in any order.

mod windows;

pub use windows::Windows;

use crate::codec::wire;
use crate::{Term, Terms};
use compact_str::CompactString;
use rankwright_event::{ItemId, Timestamp, Value};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::sync::Arc;

/// One stored value. The order of variants is part of the stored format: new ones go to the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    /// A field as it was sent last.
    Field(FieldValue),
    /// A counter that only grows.
    Counter(u64),
    /// Counters by period.
    Windows(Windows),
    /// The newest of many.
    Recent(Recent),
    /// A set of small numbers (below 64), as bits.
    Flags(u64),
    /// Bytes whose meaning only their writer knows; the newest stay.
    Blob(#[serde(with = "wire::bytes")] Arc<[u8]>),
    /// Many such, each with its time and event; all stay.
    Parts(Parts),
    /// The newest of many items, each once: of the interactions with an item the newest stays.
    Items(Recent),
}

/// A field's value, ready to be computed with. The order of variants is part of the stored format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldValue {
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(#[serde(with = "wire::number")] f64),
    /// A string.
    Text(Term),
    /// A list of numbers.
    Numbers(#[serde(with = "wire::numbers")] Arc<[f64]>),
    /// A list of strings.
    Texts(Terms),
    /// What was computed from a field when it came in, in bytes that only its reader knows.
    Bytes(#[serde(with = "wire::bytes")] Arc<[u8]>),
}

/// The newest interactions of a visitor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recent {
    /// How many are kept.
    keep: u32,
    /// Newest first; no two of the same time and event.
    visits: Vec<Visit>,
}

/// Bytes by time and event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parts(Vec<Part>);

/// Bytes of one event, whose meaning only their writer knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Part {
    /// When.
    pub at: Timestamp,
    /// Digest of the event, which tells parts of equal time apart.
    pub event: u64,
    /// The bytes.
    #[serde(with = "wire::bytes")]
    pub bytes: Arc<[u8]>,
}

/// One interaction of a visitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// When.
    pub at: Timestamp,
    /// Digest of the event, which orders visits of equal time.
    pub event: u64,
    /// With what.
    pub item: ItemId,
}

impl From<&Value> for FieldValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => Self::Number(*number),
            Value::Text(text) => Self::Text(Term::from(text)),
            Value::Numbers(numbers) => Self::Numbers(numbers.as_slice().into()),
            Value::Texts(texts) => Self::Texts(texts.iter().collect()),
        }
    }
}

impl FieldValue {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The strings: one of a string, all of a list, none of anything else.
    pub fn texts(&self) -> &[CompactString] {
        match self {
            Self::Text(term) => term.one().1,
            Self::Texts(terms) => terms.texts(),
            _ => &[],
        }
    }

    /// The bytes of what was computed from a field.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The hashes of the strings.
    pub fn hashes(&self) -> &[u64] {
        match self {
            Self::Text(term) => term.one().0,
            Self::Texts(terms) => terms.hashes(),
            _ => &[],
        }
    }

    /// The numbers: one of a number, all of a list, none of anything else.
    pub fn numbers(&self) -> &[f64] {
        match self {
            Self::Number(number) => std::slice::from_ref(number),
            Self::Numbers(numbers) => numbers,
            _ => &[],
        }
    }
}

impl Recent {
    /// One interaction; `keep` are remembered.
    pub fn one(visit: Visit, keep: u32) -> Self {
        Self { keep, visits: vec![visit] }
    }

    /// From its parts; `None` where visits are not newest first.
    pub fn from_parts(keep: u32, visits: Vec<Visit>) -> Option<Self> {
        let ordered = visits.windows(2).all(|pair| pair[0].rank() > pair[1].rank());
        ordered.then_some(Self { keep, visits })
    }

    /// How many are remembered.
    pub fn keep(&self) -> u32 {
        self.keep
    }

    /// Newest first.
    pub fn visits(&self) -> &[Visit] {
        &self.visits
    }

    fn absorb(&mut self, other: &Self) {
        self.keep = self.keep.max(other.keep);
        for visit in &other.visits {
            let place = self.visits.partition_point(|known| known.rank() > visit.rank());
            if self.visits.get(place) != Some(visit) {
                self.visits.insert(place, visit.clone());
            }
        }
        self.visits.truncate(self.keep as usize);
    }

    /// The same where each item stands once. An item that had to go stays away: as many newer ones are in both.
    fn absorb_items(&mut self, other: &Self) {
        self.keep = self.keep.max(other.keep);
        for visit in &other.visits {
            match self.visits.iter().position(|known| known.item == visit.item) {
                Some(place) if self.visits[place].rank() >= visit.rank() => continue,
                Some(place) => drop(self.visits.remove(place)),
                None => {}
            }
            let place = self.visits.partition_point(|known| known.rank() > visit.rank());
            self.visits.insert(place, visit.clone());
        }
        self.visits.truncate(self.keep as usize);
    }
}

impl Parts {
    /// Parts that are kept, the oldest ones. Each further part makes its writer write all of them again: without a limit they
    /// grow until no answer comes in time.
    pub const MOST: usize = 1000;

    /// One part.
    pub fn one(part: Part) -> Self {
        Self(vec![part])
    }

    /// From its parts; `None` where they are not in order.
    pub fn from_parts(parts: Vec<Part>) -> Option<Self> {
        let ordered = parts.windows(2).all(|pair| pair[0].rank() < pair[1].rank());
        ordered.then_some(Self(parts))
    }

    /// All parts in order of time and event.
    pub fn all(&self) -> &[Part] {
        &self.0
    }

    /// Of two parts of one time and event the one whose bytes are greater stays, and of more than [`Parts::MOST`] the oldest.
    fn absorb(&mut self, other: &Self) {
        for part in &other.0 {
            match self.0.binary_search_by_key(&part.rank(), Part::rank) {
                Ok(place) if self.0[place].bytes < part.bytes => self.0[place] = part.clone(),
                Ok(_) => {}
                Err(place) => self.0.insert(place, part.clone()),
            }
        }
        self.0.truncate(Self::MOST);
    }
}

impl Part {
    fn rank(&self) -> (Timestamp, u64) {
        (self.at, self.event)
    }
}

impl Visit {
    fn rank(&self) -> (Timestamp, u64, &ItemId) {
        (self.at, self.event, &self.item)
    }
}

impl Cell {
    /// Takes in another value of the same slot; `age` compares the other one's time and event with this one's.
    ///
    /// Of two single values written by the same event the one whose bytes are greater stays, whichever came first.
    /// A slot's fingerprint names its kind, so kinds differ only in a damaged store; the newer one stays then.
    pub(crate) fn absorb(&mut self, other: &Self, age: Ordering) {
        match (self, other) {
            (Self::Counter(count), Self::Counter(more)) => *count = count.saturating_add(*more),
            (Self::Windows(windows), Self::Windows(more)) => windows.absorb(more),
            (Self::Recent(recent), Self::Recent(more)) => recent.absorb(more),
            (Self::Flags(flags), Self::Flags(more)) => *flags |= more,
            (Self::Parts(parts), Self::Parts(more)) => parts.absorb(more),
            (Self::Items(items), Self::Items(more)) => items.absorb_items(more),
            (this, other) if age.then_with(|| wire::compare(other, this)).is_gt() => *this = other.clone(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(numbers: impl Iterator<Item = u64>) -> Parts {
        let part = |number: u64| Part { at: Timestamp::from_millis(number as i64), event: number, bytes: [0].into() };
        Parts::from_parts(numbers.map(part).collect()).expect("in order")
    }

    fn visit(at: i64, item: &str) -> Recent {
        Recent::one(Visit { at: Timestamp::from_millis(at), event: 0, item: item.into() }, 3)
    }

    #[test]
    fn the_newest_items_stay_each_once_in_whatever_order_they_come() {
        let visits = [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "a"), (6, "d"), (6, "d")];
        let kept = |visits: &mut dyn Iterator<Item = &(i64, &str)>| {
            let mut items = Recent::default();
            visits.for_each(|(at, item)| items.absorb_items(&visit(*at, item)));
            items
        };
        let forwards = kept(&mut visits.iter());
        let found: Vec<_> = forwards.visits().iter().map(|visit| (visit.at.millis(), visit.item.as_str())).collect();
        assert_eq!(found, [(6, "d"), (5, "a"), (3, "c")], "b is the fourth, whatever came after it");
        assert_eq!(kept(&mut visits.iter().rev()), forwards);
        assert_eq!(kept(&mut visits.iter().skip(3).chain(&visits[..3])), forwards);
    }

    #[test]
    fn of_too_many_parts_the_oldest_stay_in_whatever_order_they_come() {
        let many = Parts::MOST as u64;
        let pieces = [parts((0..many).map(|n| 3 * n)), parts((0..many).map(|n| 3 * n + 1)), parts(many / 2..many)];
        let merged = |order: [usize; 3]| {
            let mut all = pieces[order[0]].clone();
            order[1..].iter().for_each(|place| all.absorb(&pieces[*place]));
            all
        };
        let first = merged([0, 1, 2]);
        assert_eq!(first.all().len(), Parts::MOST);
        assert!(first.all().windows(2).all(|pair| pair[0].rank() < pair[1].rank()));
        assert_eq!(first.all()[0].event, 0);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(merged(order), first, "{order:?}");
        }
    }
}
