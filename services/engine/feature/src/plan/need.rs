//! What features need to be stored.

use crate::extractor::field::FieldReader;
use crate::slot::{Counted, Meaning, Numbered, Owner, Slots, Target};
use rankwright_config::feature::{AgeSource, Entity, Feature, Kind, RateScope, Source};
use std::time::Duration;

/// Whether a value lies in the global row.
pub(super) fn is_global(meaning: &Meaning) -> bool {
    match meaning {
        Meaning::Count { scope, .. } | Meaning::Windows { scope, .. } => *scope == Owner::Global,
        Meaning::Shown { target, .. } => *target == Target::Global,
        _ => false,
    }
}

/// Whether a feature reads keys that depend on what was read first.
pub(super) fn follows(kind: &Kind) -> bool {
    match kind {
        Kind::InteractedWith { .. } => true,
        Kind::Rate { scope, .. } => *scope != RateScope::Item,
        Kind::InteractionCount { scope, .. } | Kind::WindowCount { scope, .. } => {
            matches!(Counted::from(scope), Counted::Under(_))
        }
        _ => false,
    }
}

/// Targets that have rates by the values of a field.
pub(super) fn targets(slots: &Numbered) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for (meaning, ..) in slots.iter() {
        if let Meaning::Shown { target, .. } | Meaning::ShownCount { target, .. } = meaning
            && matches!(target, Target::ItemField(_) | Target::RankingField(_))
            && !targets.contains(target)
        {
            targets.push(target.clone());
        }
    }
    targets
}

/// Collects what a feature stores.
pub(super) fn need(feature: &Feature, slots: &mut Slots) {
    let ttl = feature.ttl;
    match &feature.kind {
        Kind::Number(source)
        | Kind::Boolean(source)
        | Kind::Vector { source, .. }
        | Kind::Text { source, .. }
        | Kind::WordCount(source)
        | Kind::ListSize(source)
        | Kind::TimeDiff(source)
        | Kind::UserAgent { source, .. } => FieldReader::need(source, ttl, slots),
        Kind::InteractedWith { interaction, fields, scope, count, .. } => {
            fields.iter().for_each(|field| slots.need(Meaning::ItemField(field.clone()), ttl, 0));
            let meaning = Meaning::Recent { interaction: interaction.clone(), scope: (*scope).into() };
            slots.need(meaning, ttl, u32::try_from(*count).unwrap_or(u32::MAX));
        }
        Kind::Referer { source, scope } => slots.need(mediums(source, (*scope).into()), ttl, 0),
        Kind::Diversity { field, .. } => slots.need(Meaning::ItemField(field.clone()), ttl, 0),
        Kind::InteractionCount { interaction, scope } => {
            slots.need(Meaning::count(interaction, scope), ttl, 0);
            counted_under(&Counted::from(scope), ttl, slots);
        }
        Kind::WindowCount { interaction, scope, bucket, windows } => {
            let keep = windows.iter().copied().max().unwrap_or(1);
            slots.need(Meaning::windows(interaction, scope, millis(*bucket)), ttl, keep);
            counted_under(&Counted::from(scope), ttl, slots);
        }
        Kind::Rate { top, bottom, bucket, periods, scope, normalize } => {
            let keep = periods.iter().copied().max().unwrap_or(1);
            for interaction in [top, bottom] {
                slots.need(shown(interaction, Target::from(scope), *bucket), ttl, keep);
                if normalize.is_some() {
                    slots.need(shown(interaction, Target::Global, *bucket), ttl, keep);
                }
            }
            counted_under(&Counted::Under(scope.into()), ttl, slots);
        }
        Kind::ItemAge(AgeSource::Field(field)) => slots.need(Meaning::ItemField(field.clone()), ttl, 0),
        Kind::ItemAge(AgeSource::Updated) => slots.need(Meaning::ItemUpdated, ttl, 0),
        Kind::LocalTime { .. } | Kind::Position(_) | Kind::Relevancy | Kind::FieldMatch(_) | Kind::Random => {}
    }
}

/// The field whose values have counters.
fn counted_under(counted: &Counted, ttl: Duration, slots: &mut Slots) {
    match counted {
        Counted::Under(Target::ItemField(field)) => slots.need(Meaning::ItemField(field.clone()), ttl, 0),
        Counted::Under(Target::RankingField(field)) => slots.need(Meaning::RankingField(field.clone()), ttl, 0),
        Counted::Under(Target::Global | Target::Item) | Counted::By(_) => {}
    }
}

pub(super) fn shown(interaction: &str, target: Target, bucket: Duration) -> Meaning {
    Meaning::Shown { interaction: interaction.to_string(), target, bucket: millis(bucket) }
}

pub(super) fn mediums(source: &Source, scope: Owner) -> Meaning {
    Meaning::Mediums { source: named(source), scope }
}

pub(super) fn named(source: &Source) -> String {
    let entity = match &source.entity {
        Entity::Item => "item",
        Entity::User => "user",
        Entity::Ranking => "ranking",
        Entity::Interaction(None) => "interaction",
        Entity::Interaction(Some(kind)) => return format!("interaction:{kind}.{}", source.field),
        Entity::Any => "*",
    };
    format!("{entity}.{}", source.field)
}

pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).max(1)
}
