//! A ranking together with everything that was read for it.

use crate::encode::Encoded;
use crate::extractor::field::{Name, Sources};
use crate::extractor::field_match::Bags;
use compact_str::CompactString;
use rankwright_event::{RankedItem, Ranking, Timestamp};
use rankwright_state::{Entity, Fetched, FieldValue, Key, Scope, Slot, Stored, View, warm};
use std::sync::Arc;

/// What rows are computed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The order shown is not known yet.
    Serving,
    /// The items stand as they were shown.
    Training,
}

/// Items to be ranked, their entities and those of the visitor, looked up once.
pub struct Candidates<'a> {
    pub(crate) ranking: &'a Ranking,
    pub(crate) purpose: Purpose,
    pub(crate) now: Timestamp,
    pub(crate) items: Vec<Option<&'a Arc<Entity>>>,
    pub(crate) user: Option<&'a Arc<Entity>>,
    pub(crate) session: Option<&'a Arc<Entity>>,
    pub(crate) global: Option<&'a Arc<Entity>>,
    /// For each item field that a feature reads, the value of each item.
    fields: Vec<Option<&'a Stored>>,
    /// Number of the field `id`, and the ids of the items, where a feature reads it.
    ids: Option<(usize, Vec<FieldValue>)>,
    fetched: &'a Fetched,
    /// What models made of its texts, as far as that was asked for.
    pub(crate) encoded: Option<&'a Encoded>,
    /// Terms of its texts.
    pub(crate) bags: Bags,
    /// Request fields by the plan's numbers for their names.
    context: Vec<Option<FieldValue>>,
    /// Fields sent with items, in order of items.
    own: Vec<(u32, Name, FieldValue)>,
    /// Where an item's part of `own` starts; one more than items.
    own_start: Vec<u32>,
}

impl<'a> Candidates<'a> {
    /// What was fetched for a ranking, by the keys of [`crate::Plan::reads`].
    pub(crate) fn new(
        ranking: &'a Ranking,
        fetched: &'a Fetched,
        purpose: Purpose,
        sources: &Sources,
        global: bool,
    ) -> Self {
        let mut named = fetched.named().iter().map(Option::as_ref);
        let mut next = || named.next().flatten();
        let items: Vec<_> = ranking.items.iter().map(|_| next()).collect();
        let user = ranking.user.as_ref().and_then(|_| next());
        let session = ranking.session.as_ref().and_then(|_| next());
        let global = if global { next() } else { None };
        let (context, own) = (vec![None; sources.names.len()], Vec::new());
        let fields = fields(&items, &sources.items);
        let id = |item: &RankedItem| FieldValue::Text(item.id.as_str().into());
        let ids = sources.id.map(|number| (number, ranking.items.iter().map(id).collect()));
        let (now, own_start) = (ranking.timestamp, Vec::with_capacity(ranking.items.len() + 1));
        let mut candidates = Self {
            ranking,
            purpose,
            now,
            items,
            user,
            session,
            global,
            fields,
            ids,
            fetched,
            encoded: None,
            bags: Bags::default(),
            context,
            own,
            own_start,
        };
        candidates.resolve(&sources.names);
        candidates
    }

    fn resolve(&mut self, names: &[CompactString]) {
        let number = |name: &CompactString| names.iter().position(|known| known == name);
        for field in &self.ranking.fields {
            if let Some(name) = number(&field.name) {
                self.context[name] = Some(FieldValue::from(&field.value));
            }
        }
        for (place, item) in self.ranking.items.iter().enumerate() {
            self.own_start.push(self.own.len() as u32);
            for field in &item.fields {
                if let Some(name) = number(&field.name) {
                    self.own.push((place as u32, Name(name as u16), FieldValue::from(&field.value)));
                }
            }
        }
        self.own_start.push(self.own.len() as u32);
    }

    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// A field of the request.
    pub(crate) fn context(&self, name: Name) -> Option<&FieldValue> {
        self.context.get(usize::from(name.0))?.as_ref()
    }

    /// A field that was sent with an item.
    pub(crate) fn own(&self, item: usize, name: Name) -> Option<&FieldValue> {
        if self.own.is_empty() {
            return None;
        }
        let (start, end) = (self.own_start[item] as usize, self.own_start[item + 1] as usize);
        self.own[start..end].iter().rev().find(|(_, other, _)| *other == name).map(|(_, _, value)| value)
    }

    /// The stored field of an item, by its number.
    pub(crate) fn field(&self, item: usize, number: usize) -> Option<&'a Stored> {
        self.column(number)[item]
    }

    /// The stored field of every item, by its number.
    pub(crate) fn column(&self, number: usize) -> &[Option<&'a Stored>] {
        &self.fields[number * self.items.len()..][..self.items.len()]
    }

    /// The id of an item, if this is the number of the field `id`.
    pub(crate) fn id(&self, item: usize, number: usize) -> Option<&FieldValue> {
        self.ids.as_ref().filter(|(id, _)| *id == number).map(|(_, ids)| &ids[item])
    }

    /// Whether this is the number of the field `id`.
    pub(crate) fn is_id(&self, number: usize) -> bool {
        self.ids.as_ref().is_some_and(|(id, _)| *id == number)
    }

    /// Whether any field was sent with an item.
    pub(crate) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// Any other entity that was fetched.
    pub(crate) fn entity(&self, scope: Scope) -> Option<&'a Arc<Entity>> {
        self.fetched.entity(&Key::new(&self.ranking.tenant, scope))
    }
}

/// The values of these fields, for each field one an item: an item's entity is looked at once, not by every feature.
fn fields<'a>(items: &[Option<&'a Arc<Entity>>], slots: &[Slot]) -> Vec<Option<&'a Stored>> {
    warm(items);
    let mut fields = vec![None; items.len() * slots.len()];
    for (item, entity) in items.iter().enumerate() {
        if let Some(entity) = entity {
            entity.each_field(slots, |number, stored| fields[number * items.len() + item] = Some(stored));
        }
    }
    fields
}
