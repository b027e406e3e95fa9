//! A feature's definition becomes its extractor, with slots for what it stores and numbers for names.

use super::Error;
use super::need::{self, mediums, millis, shown};
use crate::extractor::field::{FieldReader, Sources};
use crate::extractor::field_scope::{FieldScope, Holder};
use crate::extractor::rate::Normal;
use crate::extractor::{
    Extractor, boolean, diversity, interacted_with, interaction_count, item_age, list_size, local_time, number,
    position, random, rate, referer, relevancy, string, time_diff, user_agent, vector, window_count, word_count,
};
use crate::slot::{Counted, Meaning, Numbered, Owner, Target};
use rankwright_config::feature::{AgeSource, Entity, Feature, Kind, LocalTimeSource, Scope, Source};
use rankwright_state::Slot;
use std::time::Duration;

/// Values that rates are kept by: the slot of each, and how it is found.
pub(super) type Kept = Vec<(Slot, FieldReader)>;

/// A feature as it is being compiled.
pub(super) struct Compiler<'a> {
    pub(super) slots: &'a Numbered,
    pub(super) sources: Sources,
}

impl Compiler<'_> {
    fn reader(&mut self, source: &Source, ttl: Duration) -> FieldReader {
        FieldReader::new(source, ttl, self.slots, &mut self.sources)
    }

    fn item(&mut self, field: &str, ttl: Duration) -> FieldReader {
        FieldReader::item(field, ttl, self.slots, &mut self.sources)
    }

    fn request(&mut self, field: &str, ttl: Duration) -> FieldReader {
        self.reader(&Source { entity: Entity::Ranking, field: field.to_string() }, ttl)
    }

    /// How the values are found that rates are kept by: those of item fields, and those of ranking fields, by their slots.
    pub(super) fn kept_by(&mut self) -> (Kept, Kept) {
        let (mut items, mut rankings) = (Vec::new(), Vec::new());
        for target in need::targets(self.slots) {
            match target {
                Target::ItemField(field) => {
                    let (slot, ttl) = self.slots.kept(&Meaning::ItemField(field.clone()));
                    items.push((slot, self.item(&field, ttl)));
                }
                Target::RankingField(field) => {
                    let reader = self.request(&field, Duration::MAX);
                    rankings.push((self.slots.slot(&Meaning::RankingField(field)), reader));
                }
                Target::Global | Target::Item => {}
            }
        }
        (items, rankings)
    }

    /// What computes a feature.
    pub(super) fn extractor(&mut self, feature: &Feature) -> Result<Box<dyn Extractor>, Error> {
        let ttl = feature.ttl;
        Ok(match &feature.kind {
            Kind::Number(source) => Box::new(number::Number(self.reader(source, ttl))),
            Kind::Boolean(source) => Box::new(boolean::Boolean(self.reader(source, ttl))),
            Kind::Vector { source, reduce } => {
                Box::new(vector::Vector { reader: self.reader(source, ttl), reduce: reduce.clone() })
            }
            Kind::Text { source, values, encode } => {
                Box::new(string::Text::new(self.reader(source, ttl), values, *encode))
            }
            Kind::WordCount(source) => Box::new(word_count::WordCount(self.reader(source, ttl))),
            Kind::ListSize(source) => Box::new(list_size::ListSize(self.reader(source, ttl))),
            Kind::TimeDiff(source) => Box::new(time_diff::TimeDiff(self.reader(source, ttl))),
            Kind::UserAgent { source, field } => Box::new(user_agent::UserAgent::new(self.reader(source, ttl), *field)),
            Kind::Relevancy => Box::new(relevancy::Relevancy::new(self.reader(&relevancy::Relevancy::source(), ttl))),
            Kind::Position(constant) => Box::new(position::Position(*constant)),
            Kind::Diversity { field, top } => {
                Box::new(diversity::Diversity { reader: self.item(field, ttl), top: *top })
            }
            Kind::ItemAge(AgeSource::Field(field)) => Box::new(item_age::ItemAge::Field(self.item(field, ttl))),
            Kind::ItemAge(AgeSource::Updated) => {
                Box::new(item_age::ItemAge::Updated(self.slots.slot(&Meaning::ItemUpdated), ttl))
            }
            Kind::LocalTime { source, parse } => {
                let reader = match source {
                    LocalTimeSource::Field(field) => Some(self.request(field, ttl)),
                    LocalTimeSource::Timestamp => None,
                };
                Box::new(local_time::LocalTime { reader, part: *parse })
            }
            Kind::Random => Box::new(random::Random::new(&feature.name)),
            Kind::FieldMatch(_) => {
                return Err(Error::NotYet { feature: feature.name.clone(), what: "field_match" });
            }
            _ => self.counter(feature),
        })
    }

    /// Extractors of what interactions leave behind.
    fn counter(&mut self, feature: &Feature) -> Box<dyn Extractor> {
        let ttl = feature.ttl;
        match &feature.kind {
            Kind::InteractedWith { interaction, fields, scope, count, duration } => {
                let owner = Owner::from(*scope);
                let history = self.slots.slot(&Meaning::Recent { interaction: interaction.clone(), scope: owner });
                let fields = fields.iter().map(|field| self.item(field, ttl)).collect();
                let (count, duration) = (*count, *duration);
                Box::new(interacted_with::InteractedWith { history, owner, fields, count, duration, ttl })
            }
            Kind::Referer { source, scope } => {
                let owner = Owner::from(*scope);
                let slot = self.slots.slot(&mediums(source, owner));
                let is_asked = matches!(source.entity, Entity::Ranking | Entity::Any);
                let reader = is_asked.then(|| self.request(&source.field, ttl));
                Box::new(referer::Referer { slot, owner, ttl, reader })
            }
            Kind::InteractionCount { interaction, scope } => {
                let (slot, holder) = (self.slots.slot(&Meaning::count(interaction, scope)), self.holder(scope, ttl));
                Box::new(interaction_count::InteractionCount { slot, holder, ttl })
            }
            Kind::WindowCount { interaction, scope, bucket, windows } => {
                let (holder, bucket, windows) = (self.holder(scope, ttl), millis(*bucket), windows.clone());
                let slot = self.slots.slot(&Meaning::windows(interaction, scope, bucket));
                Box::new(window_count::WindowCount { slot, holder, bucket, windows, ttl })
            }
            Kind::Rate { top, bottom, bucket, periods, scope, normalize } => {
                let slot = |interaction, target| self.slots.slot(&shown(interaction, target, *bucket));
                let (top_slot, bottom_slot) = (slot(top, Target::from(scope)), slot(bottom, Target::from(scope)));
                let normal = normalize.map(|weight| Normal {
                    weight,
                    top: slot(top, Target::Global),
                    bottom: slot(bottom, Target::Global),
                });
                let scope = self.field_scope(&Target::from(scope), ttl);
                let (bucket, periods) = (millis(*bucket), periods.clone());
                Box::new(rate::Rate { top: top_slot, bottom: bottom_slot, bucket, periods, ttl, scope, normal })
            }
            other => unreachable!("{other:?} keeps no counters"),
        }
    }

    /// By which field's values the counters of a target are kept; nothing where it has none.
    fn field_scope(&mut self, target: &Target, ttl: Duration) -> Option<FieldScope> {
        match target {
            Target::ItemField(field) => {
                let slot = self.slots.slot(&Meaning::ItemField(field.clone()));
                Some(FieldScope::Item(slot, self.item(field, ttl)))
            }
            Target::RankingField(field) => {
                let slot = self.slots.slot(&Meaning::RankingField(field.clone()));
                Some(FieldScope::Ranking(slot, self.request(field, ttl)))
            }
            Target::Global | Target::Item => None,
        }
    }

    fn holder(&mut self, scope: &Scope, ttl: Duration) -> Holder {
        match Counted::from(scope) {
            Counted::By(owner) => Holder::Owner(owner),
            Counted::Under(target) => {
                Holder::Field(self.field_scope(&target, ttl).expect("a count is under the values of a field"))
            }
        }
    }
}
