//! Where a feature finds a field's value.

use crate::candidates::Candidates;
use crate::slot::{Derived, Meaning, Numbered, Slots};
use compact_str::CompactString;
use rankwright_config::feature::{Entity, Source};
use rankwright_event::Timestamp;
use rankwright_state::{FieldValue, Slot, Stored};
use std::time::Duration;

/// A plan's number for a field name that requests may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) u16);

/// The fields that the features of a plan read, by number.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Names of fields that requests may carry.
    pub(crate) names: Vec<CompactString>,
    /// Slots of item fields, and of what was computed from them, in order.
    pub(crate) items: Vec<Slot>,
    /// Which of them is `item.id`, where a feature reads it.
    pub(crate) id: Option<usize>,
}

/// The field that every item has: its id stands in where no event says otherwise.
pub(crate) const ID: &str = "id";

/// Reads a field: one sent with the item of the request comes before what is stored.
#[derive(Debug, Clone)]
pub(crate) struct FieldReader {
    name: Name,
    place: Place,
    /// In milliseconds.
    ttl: i64,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// An item's field; with its number.
    Item(Slot, usize),
    User(Slot),
    Ranking,
    /// Fields of events that are never read.
    Nowhere,
}

impl Sources {
    /// Of these slots; names come with the readers.
    pub(crate) fn of(slots: &Numbered) -> Self {
        let is_item = |meaning: &Meaning| matches!(meaning, Meaning::ItemField(_) | Meaning::Derived(_));
        let mut items: Vec<Slot> =
            slots.iter().filter(|(meaning, ..)| is_item(meaning)).map(|(_, slot, _)| slot).collect();
        items.sort_unstable();
        let is_id = |meaning: &Meaning| matches!(meaning, Meaning::ItemField(field) if field == ID);
        let id = slots.iter().find(|(meaning, ..)| is_id(meaning)).map(|(_, slot, _)| place(&items, slot));
        Self { names: Vec::new(), items, id }
    }
}

impl FieldReader {
    /// What a source needs to be stored; fields of requests need nothing.
    pub(crate) fn need(source: &Source, ttl: Duration, slots: &mut Slots) {
        if let Some(meaning) = meaning(source) {
            slots.need(meaning, ttl, 0);
        }
    }

    /// A reader of a source.
    pub(crate) fn new(source: &Source, ttl: Duration, slots: &Numbered, sources: &mut Sources) -> Self {
        let place = match (&source.entity, meaning(source)) {
            (Entity::Item, Some(meaning)) => {
                let slot = slots.slot(&meaning);
                Place::Item(slot, place(&sources.items, slot))
            }
            (Entity::User, Some(meaning)) => Place::User(slots.slot(&meaning)),
            (Entity::Ranking, _) => Place::Ranking,
            _ => Place::Nowhere,
        };
        Self { name: name(&source.field, &mut sources.names), place, ttl: in_millis(ttl) }
    }

    /// A reader of what is computed from an item's field. A field that was sent with the item comes as it is.
    pub(crate) fn derived(derived: Derived, ttl: Duration, slots: &Numbered, sources: &mut Sources) -> Self {
        let name = name(&derived.field, &mut sources.names);
        let slot = slots.slot(&Meaning::Derived(derived));
        Self { name, place: Place::Item(slot, place(&sources.items, slot)), ttl: in_millis(ttl) }
    }

    /// The value for one item.
    pub(crate) fn of<'c>(&self, candidates: &'c Candidates<'_>, item: usize) -> Option<&'c FieldValue> {
        let oldest = || self.oldest(candidates);
        match self.place {
            Place::User(slot) => candidates.user?.field_since(slot, oldest()),
            Place::Item(_, number) => {
                let stored = || candidates.field(item, number)?.field(oldest());
                candidates.own(item, self.name).or_else(stored).or_else(|| candidates.id(item, number))
            }
            Place::Ranking => candidates.own(item, self.name).or_else(|| candidates.context(self.name)),
            Place::Nowhere => None,
        }
    }

    /// The values of all items, in order.
    pub(crate) fn all<'c>(&self, candidates: &'c Candidates<'_>) -> Vec<Option<&'c FieldValue>> {
        match self.place {
            Place::Item(_, number) if !candidates.has_own() => {
                let oldest = self.oldest(candidates);
                let value = |(item, stored): (usize, &Option<&'c Stored>)| {
                    stored.and_then(|stored| stored.field(oldest)).or_else(|| candidates.id(item, number))
                };
                candidates.column(number).iter().enumerate().map(value).collect()
            }
            _ => (0..candidates.len()).map(|item| self.of(candidates, item)).collect(),
        }
    }

    /// As [`rankwright_state::oldest`].
    fn oldest(&self, candidates: &Candidates<'_>) -> Timestamp {
        if self.ttl == 0 {
            return Timestamp::MAX;
        }
        Timestamp::from_millis(candidates.now.millis().saturating_sub(self.ttl))
    }

    /// Whether it reads `item.id`.
    pub(crate) fn is_id(&self, candidates: &Candidates<'_>) -> bool {
        matches!(self.place, Place::Item(_, number) if candidates.is_id(number))
    }

    /// The slot of an item field.
    pub(crate) fn item_slot(&self) -> Option<Slot> {
        match self.place {
            Place::Item(slot, _) => Some(slot),
            _ => None,
        }
    }
}

fn in_millis(ttl: Duration) -> i64 {
    Timestamp::from_millis(0).plus(ttl).millis()
}

fn meaning(source: &Source) -> Option<Meaning> {
    match &source.entity {
        Entity::Item => Some(Meaning::ItemField(source.field.clone())),
        Entity::User => Some(Meaning::UserField(source.field.clone())),
        Entity::Ranking | Entity::Interaction(_) | Entity::Any => None,
    }
}

/// Where a slot is among those of item fields.
fn place(items: &[Slot], slot: Slot) -> usize {
    items.partition_point(|other| *other < slot)
}

fn name(field: &str, names: &mut Vec<CompactString>) -> Name {
    let known = names.iter().position(|name| name == field);
    Name(known.unwrap_or_else(|| {
        names.push(field.into());
        names.len() - 1
    }) as u16)
}
