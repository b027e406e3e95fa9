//! Counters that are kept by the values of a field.

use super::compiler::Compiler;
use super::entity;
use super::field::FieldReader;
use crate::candidates::Candidates;
use crate::effect;
use crate::slot::{Counted, Meaning, Owner, Slots};
use compact_str::CompactString;
use rankwright_config::feature::{self, Source};
use rankwright_state::{Entity, FieldValue, Key, Scope, Slot};
use std::sync::Arc;
use std::time::Duration;

/// By which field's values.
pub(crate) enum FieldScope {
    /// Values of an item field; keys carry its slot.
    Item(Slot, FieldReader),
    /// The item within rankings that share a field's value; keys carry the slot that names the field.
    Ranking(Slot, FieldReader),
}

/// Whose counter a count reads.
pub(crate) enum Holder {
    Owner(Owner),
    Field(FieldScope),
}

/// What is stored of the values of a field, which stands for the field's name in keys.
fn values(source: &Source) -> Meaning {
    match source.entity {
        feature::Entity::Ranking => Meaning::RankingField(source.field.clone()),
        _ => Meaning::ItemField(source.field.clone()),
    }
}

/// The field whose values have counters needs this.
pub(crate) fn need_values(source: Option<Source>, ttl: Duration, slots: &mut Slots) {
    if let Some(source) = source {
        slots.need(values(&source), ttl, 0);
        if source.entity != feature::Entity::Ranking {
            slots.need(Meaning::ItemUpdates(source.field), ttl, effect::KEPT);
        }
    }
}

impl FieldScope {
    /// By the values of this field.
    pub(crate) fn new(source: &Source, compiler: &mut Compiler<'_>) -> Self {
        let (slot, reader) = (compiler.slots.slot(&values(source)), compiler.reader(source));
        match source.entity {
            feature::Entity::Ranking => Self::Ranking(slot, reader),
            _ => Self::Item(slot, reader),
        }
    }

    /// Under what the counters of an item's values lie.
    pub(crate) fn each(&self, candidates: &Candidates<'_>, item: usize, mut each: impl FnMut(Scope)) {
        match self {
            Self::Item(slot, reader) => {
                texts(reader, candidates, item).iter().for_each(|text| each(Scope::FieldValue(*slot, text.clone())));
            }
            Self::Ranking(slot, reader) => {
                let id = &candidates.ranking.items[item].id;
                let scope = |text: &CompactString| Scope::ItemWithin(*slot, text.clone(), id.clone());
                texts(reader, candidates, item).iter().for_each(|text| each(scope(text)));
            }
        }
    }

    /// The keys of all items' values, as [`follow`](super::Extractor::follow) has them.
    pub(crate) fn follow(&self, candidates: &Candidates<'_>, keys: &mut Vec<Key>) {
        for item in 0..candidates.len() {
            self.each(candidates, item, |scope| keys.push(Key::new(&candidates.ranking.tenant, scope)));
        }
    }
}

impl Holder {
    /// Of a scope.
    pub(crate) fn new(scope: &feature::Scope, compiler: &mut Compiler<'_>) -> Self {
        match Counted::from(scope) {
            Counted::By(owner) => Self::Owner(owner),
            Counted::Under(_) => {
                let source = scope.source().expect("a count is under the values of a field");
                Self::Field(FieldScope::new(&source, compiler))
            }
        }
    }

    /// As [`follows`](super::Extractor::follows).
    pub(crate) fn follows(&self) -> bool {
        matches!(self, Self::Field(_))
    }

    /// The keys of the second round trip, as [`follow`](super::Extractor::follow) has them.
    pub(crate) fn follow(&self, candidates: &Candidates<'_>, keys: &mut Vec<Key>) {
        if let Self::Field(scope) = self {
            scope.follow(candidates, keys);
        }
    }

    /// What `count` finds for an item: the mean over those of its values that have something.
    pub(crate) fn mean(
        &self,
        candidates: &Candidates<'_>,
        item: usize,
        count: impl Fn(Option<&Arc<Entity>>) -> Option<u64>,
    ) -> Option<f64> {
        match self {
            Self::Owner(owner) => count(entity(candidates, *owner, item)).map(|count| count as f64),
            Self::Field(scope) => {
                let (mut sum, mut values) = (0, 0_u32);
                scope.each(candidates, item, |scope| {
                    if let Some(count) = count(candidates.entity(scope)) {
                        (sum, values) = (sum + count, values + 1);
                    }
                });
                (values > 0).then(|| sum as f64 / f64::from(values))
            }
        }
    }
}

fn texts<'c>(reader: &FieldReader, candidates: &'c Candidates<'_>, item: usize) -> &'c [CompactString] {
    reader.of(candidates, item).map_or(&[], FieldValue::texts)
}
