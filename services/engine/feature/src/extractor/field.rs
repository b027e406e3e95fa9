//! Where a feature finds a field's value.

use crate::candidates::Candidates;
use crate::slot::{Meaning, Numbered, Slots};
use compact_str::CompactString;
use rankwright_config::feature::{Entity, Source};
use rankwright_state::{FieldValue, Slot};
use std::time::Duration;

/// A plan's number for a field name that requests may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) u16);

/// Reads a field: one sent with the item of the request comes before what is stored.
#[derive(Debug, Clone)]
pub(crate) struct FieldReader {
    name: Name,
    place: Place,
    ttl: Duration,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Item(Slot),
    User(Slot),
    Ranking,
}

impl FieldReader {
    /// What a source needs to be stored; fields of requests need nothing.
    pub(crate) fn need(source: &Source, ttl: Duration, slots: &mut Slots) {
        if let Some(meaning) = meaning(source) {
            slots.need(meaning, ttl, 0);
        }
    }

    /// A reader of a source.
    pub(crate) fn new(source: &Source, ttl: Duration, slots: &Numbered, names: &mut Vec<CompactString>) -> Self {
        let place = match (source.entity, meaning(source)) {
            (Entity::Item, Some(meaning)) => Place::Item(slots.slot(&meaning)),
            (Entity::User, Some(meaning)) => Place::User(slots.slot(&meaning)),
            _ => Place::Ranking,
        };
        Self { name: name(&source.field, names), place, ttl }
    }

    /// A reader of an item's field.
    pub(crate) fn item(field: &str, ttl: Duration, slots: &Numbered, names: &mut Vec<CompactString>) -> Self {
        Self::new(&Source { entity: Entity::Item, field: field.to_string() }, ttl, slots, names)
    }

    /// The value for one item.
    pub(crate) fn of<'c>(&self, candidates: &'c Candidates<'_>, item: usize) -> Option<&'c FieldValue> {
        let (now, ttl) = (candidates.now, self.ttl);
        match self.place {
            Place::User(slot) => candidates.user?.field(slot, now, ttl),
            Place::Item(slot) => {
                candidates.own(item, self.name).or_else(|| candidates.items[item]?.field(slot, now, ttl))
            }
            Place::Ranking => candidates.own(item, self.name).or_else(|| candidates.context(self.name)),
        }
    }

    /// The slot of an item field.
    pub(crate) fn item_slot(&self) -> Option<Slot> {
        match self.place {
            Place::Item(slot) => Some(slot),
            _ => None,
        }
    }
}

fn meaning(source: &Source) -> Option<Meaning> {
    match source.entity {
        Entity::Item => Some(Meaning::ItemField(source.field.clone())),
        Entity::User => Some(Meaning::UserField(source.field.clone())),
        Entity::Ranking | Entity::Interaction => None,
    }
}

fn name(field: &str, names: &mut Vec<CompactString>) -> Name {
    let known = names.iter().position(|name| name == field);
    Name(known.unwrap_or_else(|| {
        names.push(field.into());
        names.len() - 1
    }) as u16)
}
