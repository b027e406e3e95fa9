//! The compiled features: names have become numbers, once, at start.

mod columns;
mod kept;
mod models;
mod newest;
mod stored;

use crate::candidates::{Candidates, Purpose};
use crate::column::{Column, Tag};
use crate::effect::{ClosedInteraction, Effects, Lately, Rules, texts};
use crate::encode::{Encoded, Encoders, Models, NoEncoders, Texts};
use crate::extractor::compiler::{Compiler, definition};
use crate::extractor::field::Sources;
use crate::extractor::{Columns, Extractor};
use crate::seen;
use crate::slot::{Meaning, Slots};
use compact_str::CompactString;
use kept::ByRanking;
use rankwright_config::api::PageItem;
use rankwright_config::feature::Feature;
use rankwright_config::model::Seen;
use rankwright_config::{Config, Model};
use rankwright_encoder::CacheFileError;
use rankwright_event::{Event, Field, Interaction, ItemId, Ranking, Timestamp};
use rankwright_state::{Entity, Fetched, Fingerprint, Key, Scope, Slot, Store};
use rankwright_text::{DictionaryError, Language};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
pub use stored::readers;

/// What can go wrong when features are compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A dictionary that cannot be read.
    #[error("feature '{feature}': failed to open its term dictionary")]
    Dictionary {
        /// Its name.
        feature: String,
        /// Why.
        source: DictionaryError,
    },
    /// A dictionary of terms that texts of the feature do not have.
    #[error(
        "feature '{feature}': its language is {wanted}, and that of its term dictionary {path} is {found}: terms of one \
         do not match those of the other"
    )]
    Language {
        /// Its name.
        feature: String,
        /// What is configured.
        wanted: Language,
        /// The dictionary.
        path: String,
        /// What it holds.
        found: Language,
    },
    /// A file of embeddings or scores that cannot be read.
    #[error("feature '{feature}': failed to open its cache {path}")]
    Cache {
        /// Its name.
        feature: String,
        /// The file.
        path: String,
        /// Why, with the line where there is one.
        source: CacheFileError,
    },
    /// A model of texts that cannot be opened, or computes something else.
    #[error("feature '{feature}': failed to open its model {model}: {cause}")]
    Model {
        /// Its name.
        feature: String,
        /// The model's handle.
        model: String,
        /// Why.
        cause: String,
    },
    /// The store gave no slots.
    #[error("failed to get slots for the features")]
    Slots(#[from] rankwright_state::Error),
}

/// Compiled features: what events do to state, what a ranking reads, what its matrix looks like.
pub struct Plan {
    columns: Vec<Column>,
    tags: Vec<Tag>,
    steps: Vec<Step>,
    rules: Rules,
    /// Item fields and ranking fields whose values rates are kept by.
    kept_by_item: Vec<Lately>,
    kept_by_ranking: ByRanking,
    sources: Sources,
    global: bool,
    /// Whether any feature reads keys that depend on what was read first.
    follows: bool,
    /// Models of texts, and whether any feature needs them for its rows.
    models: Models,
    encodes: bool,
    retention: Vec<(Slot, Duration)>,
    /// What is kept of visitors for recommenders.
    seen: BTreeMap<Seen, Slot>,
    stored: Vec<StoredAs>,
    readers: BTreeMap<Fingerprint, Vec<String>>,
}

/// What lies under a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAs {
    /// Where.
    pub slot: Slot,
    /// What, as people name it: `item.price`, `count "click" by item`.
    pub name: String,
    /// What, as stores and [`Plan::readers`] know it.
    pub meaning: Fingerprint,
}

struct Step {
    first: usize,
    extractor: Box<dyn Extractor>,
}

impl Plan {
    /// Compiles features, in the order of their columns, over the slots of a store. None of them computes with a model of
    /// texts.
    ///
    /// # Errors
    /// As [`Plan::compile_with`].
    pub async fn compile(features: &[Feature], store: &dyn Store) -> Result<Self, Error> {
        Self::compile_with(features, store, &NoEncoders).await
    }

    /// The same with models of texts.
    ///
    /// # Errors
    /// Names a feature one of whose files or whose model is of no use, and says when the store gives no slots.
    pub async fn compile_with(features: &[Feature], store: &dyn Store, encoders: &dyn Encoders) -> Result<Self, Error> {
        Self::storing(features, &BTreeMap::new(), None, store, encoders).await
    }

    /// All features of a configuration; what its models are trained on, what its recommenders leave out, and what its page for
    /// browsers shows of items is stored as well.
    ///
    /// # Errors
    /// As [`Plan::compile_with`].
    pub async fn of(config: &Config, store: &dyn Store, encoders: &dyn Encoders) -> Result<Self, Error> {
        Self::storing(&config.features, &config.models, config.api.page.shown(), store, encoders).await
    }

    async fn storing(
        features: &[Feature],
        served: &BTreeMap<String, Model>,
        shown: Option<&PageItem>,
        store: &dyn Store,
        encoders: &dyn Encoders,
    ) -> Result<Self, Error> {
        let models = models::of(features, encoders)?;
        let mut slots = Slots::with(&models);
        features.iter().for_each(|feature| definition(&feature.kind).need(feature.ttl, &mut slots));
        served.values().for_each(|model| stored::need(model, &mut slots));
        stored::need_shown(shown, &mut slots);
        let readers = stored::of(features, served, shown, &models);
        let slots = slots.number(store).await?;
        let mut sources = Sources::of(&slots);
        let (mut columns, mut steps) = (Vec::<Column>::new(), Vec::new());
        for feature in features {
            let mut compiler = Compiler {
                name: &feature.name,
                ttl: feature.ttl,
                slots: &slots,
                sources: &mut sources,
                models: &models,
            };
            let (first, extractor) = (columns.len(), definition(&feature.kind).extractor(&mut compiler)?);
            columns.extend(columns::of_feature(feature, &extractor.meaning()));
            steps.push(Step { first, extractor });
        }
        let (kept_by_item, kept_by_ranking) = kept::kept_by(&slots, &mut sources);
        let rules = Rules::new(&slots);
        let global = slots.iter().any(|(meaning, ..)| Meaning::is_global(meaning));
        let follows = steps.iter().any(|step| step.extractor.follows());
        let encodes = steps.iter().any(|step| step.extractor.encodes());
        let retention = slots.iter().map(|(_, slot, kept)| (slot, kept.ttl)).collect();
        let seen = served.values().filter_map(Model::exclude_seen);
        let seen = seen.map(|seen| (seen.clone(), slots.slot(&seen::meaning(seen)))).collect();
        let tags = columns.iter().map(Column::tag).collect();
        let stored = slots.iter().map(|(meaning, slot, _)| StoredAs {
            slot,
            name: meaning.name(),
            meaning: meaning.fingerprint(),
        });
        let stored = stored.collect();
        Ok(Self {
            columns,
            tags,
            steps,
            rules,
            kept_by_item,
            kept_by_ranking,
            sources,
            global,
            follows,
            models,
            encodes,
            retention,
            seen,
            stored,
            readers,
        })
    }

    /// Columns of the matrix, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What tells each column from those of other plans, in order.
    pub fn tags(&self) -> &[Tag] {
        &self.tags
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// What is stored, and under which slots.
    pub fn stored(&self) -> &[StoredAs] {
        &self.stored
    }

    /// Who reads what is stored, as it was compiled: by names of features, `models.<name>`, and `api.page`.
    pub fn readers(&self) -> &BTreeMap<Fingerprint, Vec<String>> {
        &self.readers
    }

    /// How long values of each slot count.
    pub fn retention(&self) -> &[(Slot, Duration)] {
        &self.retention
    }

    /// Where the items lie that a model's recommendations leave out; nothing where it leaves none out, or the plan is not
    /// [that of its configuration](Plan::of).
    pub fn seen(&self, model: &Model) -> Option<Slot> {
        self.seen.get(model.exclude_seen()?).copied()
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

    /// Keys that depend on what was read first (rows of field values, the visitor's earlier items), in order and each
    /// once.
    pub fn follow(&self, ranking: &Ranking, fetched: &Fetched) -> Vec<Key> {
        if !self.follows {
            return Vec::new();
        }
        let candidates = self.candidates(ranking, fetched, Purpose::Serving);
        let mut keys = Vec::new();
        self.steps.iter().for_each(|step| step.extractor.follow(&candidates, &mut keys));
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Texts that models have to compute for a ranking, besides those that were computed when items came in. Nothing where
    /// no feature has a model.
    pub fn texts(&self, ranking: &Ranking, fetched: &Fetched) -> Texts {
        let mut texts = Texts::of(&self.models);
        if self.encodes {
            let candidates = self.candidates(ranking, fetched, Purpose::Serving);
            self.steps.iter().for_each(|step| step.extractor.texts(&candidates, &mut texts));
        }
        texts
    }

    /// Texts that models will have to compute when these events are taken in. They are [computed](Texts::encode) before, by
    /// several threads, so that nothing has to wait for them then.
    pub fn foreseen<'e>(&self, events: impl IntoIterator<Item = &'e Event>) -> Texts {
        let mut texts = Texts::of(&self.models);
        if self.encodes {
            for event in events {
                self.steps.iter().for_each(|step| step.extractor.foreseen(event, &mut texts));
            }
        }
        texts
    }

    /// The matrix of a ranking: a row for each item in order, NaN where a value is missing. Waits for models that compute
    /// texts, if features have some.
    pub fn rows(&self, ranking: &Ranking, fetched: &Fetched, purpose: Purpose) -> Vec<f32> {
        let texts = self.texts(ranking, fetched);
        self.rows_with(ranking, fetched, &texts.encode(None), purpose)
    }

    /// The same where its [texts](Plan::texts) are computed already; without waiting.
    pub fn rows_with(&self, ranking: &Ranking, fetched: &Fetched, encoded: &Encoded, purpose: Purpose) -> Vec<f32> {
        let mut candidates = self.candidates(ranking, fetched, purpose);
        candidates.encoded = Some(encoded);
        let mut rows = vec![f32::NAN; candidates.len() * self.width()];
        if self.width() == 0 {
            return rows;
        }
        for step in &self.steps {
            step.extractor.fill(&candidates, &mut Columns { rows: &mut rows, width: self.width(), first: step.first });
        }
        rows
    }

    fn candidates<'a>(&self, ranking: &'a Ranking, fetched: &'a Fetched, purpose: Purpose) -> Candidates<'a> {
        Candidates::new(ranking, fetched, purpose, &self.sources, self.global)
    }

    /// Whether counters are kept by values of item fields: only when all updates from before an interaction have come is it known
    /// what it counts under.
    pub fn counts_by_values(&self) -> bool {
        !self.kept_by_item.is_empty()
    }

    /// Keys that [`Plan::closed`] needs to be fetched, in the order of the items: of those down to the lowest one interacted with.
    pub fn closed_reads<'i>(&self, ranking: &Ranking, interacted: impl Fn(&ItemId) -> bool + 'i) -> Vec<Key> {
        let lowest =
            if self.counts_by_values() { ranking.items.iter().rposition(|item| interacted(&item.id)) } else { None };
        let seen = lowest.map_or(&[][..], |lowest| &ranking.items[..=lowest]);
        seen.iter().map(|item| Key::new(&ranking.tenant, Scope::Item(item.id.clone()))).collect()
    }

    /// Effects of an event as such. Waits for models that compute its texts, if features have some.
    pub fn event(&self, event: &Event, effects: &mut impl Effects) {
        self.event_with(event, &Encoded::default(), effects);
    }

    /// The same where the [texts](Plan::foreseen) of the event are computed already; without waiting.
    pub fn event_with(&self, event: &Event, encoded: &Encoded, effects: &mut impl Effects) {
        self.rules.event(event, encoded, effects);
    }

    /// Effects of an interaction as such, as [`Plan::event`].
    pub fn interaction(&self, interaction: &Interaction, effects: &mut impl Effects) {
        self.rules.interaction(interaction, effects);
    }

    /// Effects of a ranking being shown, as [`Plan::event`].
    pub fn shown(&self, ranking: &Ranking, effects: &mut impl Effects) {
        self.rules.ranking(ranking, effects);
    }

    /// Effects of a ranking's end on rates and impressions; interactions in order of time. `items` lie under [`Plan::closed_reads`].
    pub fn closed(
        &self,
        ranking: &Ranking,
        items: &[Option<Arc<Entity>>],
        interactions: &[ClosedInteraction],
        effects: &mut impl Effects,
    ) {
        let nothing = Fetched::default();
        let own = (!self.kept_by_ranking.is_empty()).then(|| self.candidates(ranking, &nothing, Purpose::Training));
        let values = |slot, item: usize| {
            let reader = self.kept_by_ranking.iter().find(|(of, _)| *of == slot);
            match (reader, &own) {
                (Some((_, reader)), Some(own)) => texts(reader.of(own, item)),
                _ => {
                    let (shown, stored) = (&ranking.items[item], items.get(item));
                    self.values_at(slot, &shown.id, &shown.fields, stored, ranking.timestamp)
                }
            }
        };
        self.rules.closed(ranking, values, interactions, effects);
    }

    /// Key that [`Plan::unranked`] needs to be fetched.
    pub fn unranked_reads(&self, interaction: &Interaction) -> Option<Key> {
        let item = || Key::new(&interaction.tenant, Scope::Item(interaction.item.clone()));
        self.counts_by_values().then(item)
    }

    /// Effects on rates and impressions of an interaction that belongs to no known ranking; `item` lies under
    /// [`Plan::unranked_reads`].
    pub fn unranked(&self, interaction: &Interaction, item: &[Option<Arc<Entity>>], effects: &mut impl Effects) {
        let values = |slot| self.values_at(slot, &interaction.item, &[], item.first(), interaction.timestamp);
        self.rules.unranked(interaction, values, effects);
    }

    /// What an item counted under at a time, by the slot of the field.
    fn values_at(
        &self,
        slot: Slot,
        item: &ItemId,
        sent: &[Field],
        stored: Option<&Option<Arc<Entity>>>,
        time: Timestamp,
    ) -> Vec<CompactString> {
        let of = self.kept_by_item.iter().find(|of| of.slot == slot);
        of.map(|of| of.of(item, sent, stored.and_then(Option::as_deref), time)).unwrap_or_default()
    }
}
