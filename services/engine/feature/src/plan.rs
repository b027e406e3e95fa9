//! The compiled features: names have become numbers, once, at start.

use crate::candidates::{Candidates, Purpose};
use crate::column::{Column, digest};
use crate::effect::{Capture, Captured, Closed, ClosedInteraction, Effects, Rules};
use crate::extractor::field::FieldReader;
use crate::extractor::rate::{Normal, RateTarget};
use crate::extractor::{
    Columns, Extractor, boolean, diversity, interacted_with, interaction_count, item_age, list_size,
};
use crate::extractor::{local_time, number, position, rate, referer, relevancy, string, time_diff};
use crate::extractor::{user_agent, vector, window_count, word_count};
use crate::lexicon::referrer::Medium;
use crate::slot::{Meaning, Numbered, Owner, Slots, Target};
use crate::snapshot::Snapshot;
use compact_str::CompactString;
use rankwright_config::feature::{AgeSource, Encoding, Entity, Feature, Kind, LocalTimeSource, RateScope, Source};
use rankwright_event::{Event, Interaction, RankedItem, Ranking};
use rankwright_state::{Key, Scope, Slot, Store, View};
use std::time::Duration;

/// What can go wrong when features are compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A feature that this version does not compute.
    #[error("feature '{feature}': {what} is not available in this version")]
    NotYet {
        /// Its name.
        feature: String,
        /// Its type.
        what: &'static str,
    },
    /// The store gave no slots.
    #[error("failed to get slots for the features")]
    Slots(#[from] rankwright_state::Error),
}

/// Compiled features: what events do to state, what a ranking reads, what its matrix looks like.
pub struct Plan {
    columns: Vec<Column>,
    steps: Vec<Step>,
    rules: Rules,
    captures: Vec<Capture>,
    /// Names of request fields that features look at.
    names: Vec<CompactString>,
    global: bool,
    retention: Vec<(Slot, Duration)>,
}

struct Step {
    first: usize,
    extractor: Box<dyn Extractor>,
}

/// A feature as it is being compiled.
struct Compiler<'a> {
    slots: &'a Numbered,
    names: Vec<CompactString>,
}

impl Plan {
    /// Compiles features, in the order of their columns, over the slots of a store.
    ///
    /// # Errors
    /// Names a feature that is not available, and says when the store gives no slots.
    pub async fn compile(features: &[Feature], store: &dyn Store) -> Result<Self, Error> {
        let mut slots = Slots::default();
        features.iter().for_each(|feature| need(feature, &mut slots));
        let slots = slots.number(store).await?;
        let mut compiler = Compiler { slots: &slots, names: Vec::new() };
        let (mut columns, mut steps) = (Vec::new(), Vec::new());
        for feature in features {
            let first = columns.len();
            columns.extend(feature_columns(feature));
            steps.push(Step { first, extractor: compiler.extractor(feature)? });
        }
        let targets = targets(&slots);
        let captures = targets.iter().filter_map(|target| compiler.capture(target)).collect();
        let rules = Rules::new(&slots, &targets);
        let global = slots.iter().any(|(meaning, ..)| is_global(meaning));
        let retention = slots.iter().map(|(_, slot, kept)| (slot, kept.ttl)).collect();
        Ok(Self { columns, steps, rules, captures, names: compiler.names, global, retention })
    }

    /// Columns of the matrix, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// How long values of each slot count.
    pub fn retention(&self) -> &[(Slot, Duration)] {
        &self.retention
    }

    /// Keys that a ranking reads first: its items, visitor and visit, and the global row where a feature needs it.
    pub fn reads(&self, ranking: &Ranking) -> Vec<Key> {
        let key = |scope| Key::new(&ranking.tenant, scope);
        let mut keys = Vec::with_capacity(ranking.items.len() + 3);
        keys.extend(ranking.items.iter().map(|item| key(Scope::Item(item.id.clone()))));
        keys.extend(ranking.user.as_ref().map(|user| key(Scope::User(user.clone()))));
        keys.extend(ranking.session.as_ref().map(|session| key(Scope::Session(session.clone()))));
        keys.extend(self.global.then(|| key(Scope::Global)));
        keys
    }

    /// Keys that depend on what the first ones hold (rows of field values, the visitor's earlier items), in order
    /// and each once; those that the view holds are left out.
    pub fn follow(&self, ranking: &Ranking, view: &dyn View) -> Vec<Key> {
        let mut keys = self.dependent(ranking, view);
        keys.retain(|key| view.entity(key).is_none());
        keys
    }

    /// As [`Plan::follow`], with those that the view holds.
    pub fn dependent(&self, ranking: &Ranking, view: &dyn View) -> Vec<Key> {
        let candidates = Candidates::new(ranking, view, Purpose::Serving, &self.names);
        let mut keys = Vec::new();
        self.steps.iter().for_each(|step| step.extractor.follow(&candidates, &mut keys));
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Holds on to what the rows of a ranking are computed from; `keys` are those of [`Plan::dependent`].
    pub fn snapshot(&self, ranking: &Ranking, view: &dyn View, keys: Vec<Key>) -> Snapshot {
        Snapshot::new(ranking, view, keys)
    }

    /// As [`Plan::rows`], of a snapshot.
    pub fn rows_of(&self, ranking: &Ranking, snapshot: &Snapshot, purpose: Purpose) -> Vec<f32> {
        self.fill(&Candidates::of(ranking, snapshot, purpose, &self.names))
    }

    /// The matrix of a ranking: a row for each item in order, NaN where a value is missing.
    pub fn rows(&self, ranking: &Ranking, view: &dyn View, purpose: Purpose) -> Vec<f32> {
        self.fill(&Candidates::new(ranking, view, purpose, &self.names))
    }

    /// Keys that [`Plan::captured`] needs to be fetched.
    pub fn capture_reads(&self, ranking: &Ranking) -> Vec<Key> {
        if !self.rules.captures_item_fields() {
            return Vec::new();
        }
        let key = |item: &RankedItem| Key::new(&ranking.tenant, Scope::Item(item.id.clone()));
        ranking.items.iter().map(key).collect()
    }

    /// What a ranking's items are counted under by [`Plan::closed`], by their field values of now.
    pub fn captured(&self, ranking: &Ranking, view: &dyn View) -> Captured {
        if self.captures.is_empty() {
            return Captured::default();
        }
        Captured::of(&self.captures, &Candidates::new(ranking, view, Purpose::Training, &self.names))
    }

    fn fill(&self, candidates: &Candidates<'_>) -> Vec<f32> {
        let mut rows = vec![f32::NAN; candidates.len() * self.width()];
        if self.width() == 0 {
            return rows;
        }
        for step in &self.steps {
            step.extractor.fill(candidates, &mut Columns { rows: &mut rows, width: self.width(), first: step.first });
        }
        rows
    }

    /// Effects of an event as such.
    pub fn event(&self, event: &Event, effects: &mut impl Effects) {
        self.rules.event(event, effects);
    }

    /// Effects of a ranking being shown, as [`Plan::event`].
    pub fn shown(&self, ranking: &Ranking, effects: &mut impl Effects) {
        self.rules.ranking(ranking, effects);
    }

    /// Effects of a ranking's end on rates and impressions; interactions in order of time.
    pub fn closed(&self, ranking: &Closed<'_>, interactions: &[ClosedInteraction], effects: &mut impl Effects) {
        self.rules.closed(ranking, interactions, effects);
    }

    /// Key that [`Plan::unranked`] needs to be fetched.
    pub fn unranked_reads(&self, interaction: &Interaction) -> Option<Key> {
        let item = || Key::new(&interaction.tenant, Scope::Item(interaction.item.clone()));
        self.rules.captures_item_fields().then(item)
    }

    /// Effects on rates and impressions of an interaction that belongs to no known ranking.
    pub fn unranked(&self, interaction: &Interaction, view: &dyn View, effects: &mut impl Effects) {
        let ranking = alone(interaction);
        let candidates = Candidates::new(&ranking, view, Purpose::Training, &self.names);
        let values: Vec<_> = self.captures.iter().map(|capture| capture.values(&candidates, 0)).collect();
        let counted = ClosedInteraction {
            timestamp: interaction.timestamp,
            event: interaction.id.digest(),
            kind: interaction.kind.clone(),
            item: interaction.item.clone(),
        };
        self.rules.unranked(&interaction.tenant, &counted, |capture| &values[capture], effects);
    }
}

/// A ranking of an interaction's item alone.
fn alone(interaction: &Interaction) -> Ranking {
    let item = RankedItem { id: interaction.item.clone(), fields: vec![], label: None, score: None };
    Ranking {
        id: interaction.id.as_str().into(),
        timestamp: interaction.timestamp,
        tenant: interaction.tenant.clone(),
        user: None,
        session: None,
        fields: vec![],
        items: vec![item],
    }
}

fn is_global(meaning: &Meaning) -> bool {
    match meaning {
        Meaning::Count { scope, .. } | Meaning::Windows { scope, .. } => *scope == Owner::Global,
        Meaning::Shown { target, .. } => *target == Target::Global,
        _ => false,
    }
}

/// Targets whose field values are captured.
fn targets(slots: &Numbered) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for (meaning, ..) in slots.iter() {
        if let Meaning::Shown { target: target @ (Target::ItemField(_) | Target::RankingField(_)), .. } = meaning
            && !targets.contains(target)
        {
            targets.push(target.clone());
        }
    }
    targets
}

/// Collects what a feature stores.
fn need(feature: &Feature, slots: &mut Slots) {
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
            slots.need(Meaning::Count { interaction: interaction.clone(), scope: (*scope).into() }, ttl, 0);
        }
        Kind::WindowCount { interaction, scope, bucket, windows } => {
            let (interaction, bucket) = (interaction.clone(), millis(*bucket));
            let keep = windows.iter().copied().max().unwrap_or(1);
            slots.need(Meaning::Windows { interaction, scope: (*scope).into(), bucket }, ttl, keep);
        }
        Kind::Rate { top, bottom, bucket, periods, scope, normalize } => {
            let keep = periods.iter().copied().max().unwrap_or(1);
            for interaction in [top, bottom] {
                slots.need(shown(interaction, Target::from(scope), *bucket), ttl, keep);
                if normalize.is_some() {
                    slots.need(shown(interaction, Target::Global, *bucket), ttl, keep);
                }
            }
            match scope {
                RateScope::Item => {}
                RateScope::ItemField(field) => slots.need(Meaning::ItemField(field.clone()), ttl, 0),
                RateScope::RankingField(field) => slots.need(Meaning::RankingField(field.clone()), ttl, 0),
            }
        }
        Kind::ItemAge(AgeSource::Field(field)) => slots.need(Meaning::ItemField(field.clone()), ttl, 0),
        Kind::ItemAge(AgeSource::Updated) => slots.need(Meaning::ItemUpdated, ttl, 0),
        Kind::LocalTime { .. } | Kind::Position(_) | Kind::Relevancy | Kind::FieldMatch(_) => {}
    }
}

fn shown(interaction: &str, target: Target, bucket: Duration) -> Meaning {
    Meaning::Shown { interaction: interaction.to_string(), target, bucket: millis(bucket) }
}

fn mediums(source: &Source, scope: Owner) -> Meaning {
    Meaning::Mediums { source: named(source), scope }
}

fn named(source: &Source) -> String {
    let entity = match source.entity {
        Entity::Item => "item",
        Entity::User => "user",
        Entity::Ranking => "ranking",
        Entity::Interaction => "interaction",
    };
    format!("{entity}.{}", source.field)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).max(1)
}

impl Compiler<'_> {
    fn reader(&mut self, source: &Source, ttl: Duration) -> FieldReader {
        FieldReader::new(source, ttl, self.slots, &mut self.names)
    }

    fn item(&mut self, field: &str, ttl: Duration) -> FieldReader {
        FieldReader::item(field, ttl, self.slots, &mut self.names)
    }

    fn request(&mut self, field: &str, ttl: Duration) -> FieldReader {
        self.reader(&Source { entity: Entity::Ranking, field: field.to_string() }, ttl)
    }

    fn capture(&mut self, target: &Target) -> Option<Capture> {
        match target {
            Target::ItemField(field) => Some(Capture::ItemField(self.item(field, Duration::MAX))),
            Target::RankingField(field) => Some(Capture::RankingField(self.request(field, Duration::MAX))),
            Target::Global | Target::Item => None,
        }
    }

    fn extractor(&mut self, feature: &Feature) -> Result<Box<dyn Extractor>, Error> {
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
            Kind::UserAgent { source, field } => {
                Box::new(user_agent::UserAgent { reader: self.reader(source, ttl), field: *field })
            }
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
                let reader = (source.entity == Entity::Ranking).then(|| self.reader(source, ttl));
                Box::new(referer::Referer { slot, owner, ttl, reader })
            }
            Kind::InteractionCount { interaction, scope } => {
                let owner = Owner::from(*scope);
                let slot = self.slots.slot(&Meaning::Count { interaction: interaction.clone(), scope: owner });
                Box::new(interaction_count::InteractionCount { slot, owner, ttl })
            }
            Kind::WindowCount { interaction, scope, bucket, windows } => {
                let (owner, bucket, windows) = (Owner::from(*scope), millis(*bucket), windows.clone());
                let meaning = Meaning::Windows { interaction: interaction.clone(), scope: owner, bucket };
                let slot = self.slots.slot(&meaning);
                Box::new(window_count::WindowCount { slot, owner, bucket, windows, ttl })
            }
            Kind::Rate { top, bottom, bucket, periods, scope, normalize } => {
                let slot = |interaction, target| self.slots.slot(&shown(interaction, target, *bucket));
                let (top_slot, bottom_slot) = (slot(top, Target::from(scope)), slot(bottom, Target::from(scope)));
                let normal = normalize.map(|weight| Normal {
                    weight,
                    top: slot(top, Target::Global),
                    bottom: slot(bottom, Target::Global),
                });
                let target = self.rate_target(scope, ttl);
                let (bucket, periods) = (millis(*bucket), periods.clone());
                Box::new(rate::Rate { top: top_slot, bottom: bottom_slot, bucket, periods, ttl, target, normal })
            }
            other => unreachable!("{other:?} keeps no counters"),
        }
    }

    fn rate_target(&mut self, scope: &RateScope, ttl: Duration) -> RateTarget {
        match scope {
            RateScope::Item => RateTarget::Item,
            RateScope::ItemField(field) => {
                let slot = self.slots.slot(&Meaning::ItemField(field.clone()));
                RateTarget::ItemField(slot, self.item(field, ttl))
            }
            RateScope::RankingField(field) => {
                let slot = self.slots.slot(&Meaning::RankingField(field.clone()));
                RateTarget::RankingField(slot, self.request(field, ttl))
            }
        }
    }
}

/// Columns of a feature, in order.
fn feature_columns(feature: &Feature) -> Vec<Column> {
    let suffixes: Vec<String> = match &feature.kind {
        Kind::Vector { reduce, .. } => reduce.iter().flat_map(|&reducer| vector::suffixes(reducer)).collect(),
        Kind::Text { values, encode: Encoding::OneHot, .. } => values.clone(),
        Kind::UserAgent { field, .. } => user_agent::suffixes(*field),
        Kind::InteractedWith { fields, .. } => fields.clone(),
        Kind::Referer { .. } => Medium::NAMES.iter().map(ToString::to_string).collect(),
        Kind::WindowCount { windows: periods, .. } | Kind::Rate { periods, .. } => {
            periods.iter().map(ToString::to_string).collect()
        }
        _ => vec![String::new()],
    };
    let categorical = matches!(&feature.kind, Kind::Text { encode: Encoding::Index, .. });
    let meaning = meaning(&feature.kind);
    let column = |suffix: String| Column {
        name: if suffix.is_empty() { feature.name.clone() } else { format!("{}_{suffix}", feature.name) },
        feature: feature.name.clone(),
        fingerprint: digest(&format!("{meaning} {suffix}")),
        categorical,
    };
    suffixes.into_iter().map(column).collect()
}

/// What a feature's numbers mean, in words that stay the same in every version.
fn meaning(kind: &Kind) -> String {
    match kind {
        Kind::Number(source) => format!("number {}", named(source)),
        Kind::Boolean(source) => format!("boolean {}", named(source)),
        Kind::Vector { source, .. } => format!("vector {}", named(source)),
        Kind::Text { source, values, encode: Encoding::OneHot } => format!("onehot {} {values:?}", named(source)),
        Kind::Text { source, values, encode: Encoding::Index } => format!("index {} {values:?}", named(source)),
        Kind::WordCount(source) => format!("word_count {}", named(source)),
        Kind::ListSize(source) => format!("list_size {}", named(source)),
        Kind::TimeDiff(source) => format!("time_diff {}", named(source)),
        Kind::FieldMatch(of) => format!("field_match {} {}", of.ranking_field, of.item_field),
        Kind::UserAgent { source, .. } => format!("ua {}", named(source)),
        Kind::InteractedWith { interaction, scope, count, duration, .. } => {
            let owner = Owner::from(*scope);
            format!("interacted_with {interaction:?} {owner:?} {count} {}", millis(*duration))
        }
        Kind::Referer { source, scope } => format!("referer {} {:?}", named(source), Owner::from(*scope)),
        Kind::Relevancy => "relevancy".to_string(),
        Kind::Position(_) => "position".to_string(),
        Kind::Diversity { field, top } => format!("diversity {field:?} {top:?}"),
        Kind::InteractionCount { interaction, scope } => format!("count {interaction:?} {:?}", Owner::from(*scope)),
        Kind::WindowCount { interaction, scope, bucket, .. } => {
            format!("window_count {interaction:?} {:?} {}", Owner::from(*scope), millis(*bucket))
        }
        Kind::Rate { top, bottom, bucket, scope, normalize, .. } => {
            format!("rate {top:?} {bottom:?} {} {:?} {normalize:?}", millis(*bucket), Target::from(scope))
        }
        Kind::LocalTime { source, parse } => format!("local_time {source:?} {parse:?}"),
        Kind::ItemAge(source) => format!("item_age {source:?}"),
    }
}
