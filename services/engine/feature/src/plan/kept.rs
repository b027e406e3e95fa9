//! Values that rates are kept by.

use crate::effect::Lately;
use crate::extractor::field::{FieldReader, Sources};
use crate::slot::{Meaning, Numbered, Target};
use rankwright_config::feature::Source;
use rankwright_state::Slot;
use std::time::Duration;

/// Ranking fields: the slot of each, and how it is found.
pub(super) type ByRanking = Vec<(Slot, FieldReader)>;

/// Those of item fields, and those of ranking fields.
pub(super) fn kept_by(slots: &Numbered, sources: &mut Sources) -> (Vec<Lately>, ByRanking) {
    let (mut items, mut rankings) = (Vec::new(), Vec::new());
    for target in targets(slots) {
        match target {
            Target::ItemField(field) => {
                let (updates, ttl) = slots.kept(&Meaning::ItemUpdates(field.clone()));
                let slot = slots.slot(&Meaning::ItemField(field.clone()));
                items.push(Lately { name: field.into(), slot, updates, ttl });
            }
            Target::RankingField(field) => {
                let slot = slots.slot(&Meaning::RankingField(field.clone()));
                rankings.push((slot, FieldReader::new(&Source::ranking(field), Duration::MAX, slots, sources)));
            }
            Target::Global | Target::Item => {}
        }
    }
    (items, rankings)
}

/// Targets of rates, each once.
fn targets(slots: &Numbered) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for (meaning, ..) in slots.iter() {
        if let Meaning::Shown { target, .. } | Meaning::ShownCount { target, .. } = meaning
            && !targets.contains(target)
        {
            targets.push(target.clone());
        }
    }
    targets
}
