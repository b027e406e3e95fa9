//! The models of the configuration, and what of each is loaded.
//!
//! A version never changes. A newer one takes its place by swapping an [`Arc`]: requests that run keep the one they
//! began with, and the old one goes when the last of them has ended.

pub(crate) mod unknown;

pub use unknown::Unknown;

use crate::metrics::{Metrics, ModelMetrics};
use crate::ranker::Ranker;
use parking_lot::RwLock;
use rankwright_config as config;
use rankwright_model::{ColumnMismatch, Recommender, Serves};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// All models of the configuration, by name: those that rank, and those that recommend.
pub struct Models {
    slots: BTreeMap<String, Slot>,
}

/// A model: which version of it answers.
pub struct Slot {
    name: String,
    current: RwLock<Current>,
    pub(crate) definition: config::Model,
    pub(crate) loading: tokio::sync::Mutex<()>,
    /// Where the state keeps what visitors took, of a model that leaves it out.
    seen: Option<rankwright_state::Slot>,
    /// Computes the features for answers without a version, once that was needed.
    bare: OnceLock<Box<dyn Ranker>>,
    /// What was said of a version that could not be loaded, until one is.
    said: RwLock<Option<String>>,
    registry: RwLock<Registry>,
    pub(crate) metrics: Arc<ModelMetrics>,
}

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelPurpose")]
pub enum Purpose {
    /// It orders lists, and learns nothing.
    Order,
    /// It learns from features how to order lists.
    LearnedOrder,
    /// It recommends what many visitors want.
    Popular,
    /// It recommends items that go with those of the request.
    Similar,
}

/// What a model answers with.
#[derive(Clone)]
pub enum Current {
    /// The incoming order, for this reason.
    Missing(Arc<str>),
    /// A version.
    Loaded(Arc<Loaded>),
}

/// What is known of a model's versions, beside the one that answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registry {
    /// Those that there are, from the oldest on; nothing before that was asked.
    pub versions: Option<Arc<[String]>>,
    /// One that should answer, and does not.
    pub refused: Option<Refused>,
}

/// A version that does not answer, because it did not work when it was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Refused {
    /// Which one.
    pub version: String,
    /// Why.
    pub reason: String,
}

/// A version of a model, ready to serve.
pub struct Loaded {
    /// Which one.
    pub version: Version,
    /// What it does.
    pub model: Served,
}

/// What a version does.
pub enum Served {
    /// It orders items.
    Ranker(Box<dyn Ranker>),
    /// It names items.
    Recommender(Box<Recommender>),
}

/// What is told about a version.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelVersion")]
pub struct Version {
    /// Its identity; absent for models without training.
    #[serde(rename = "version")]
    pub id: Option<String>,
    /// When it was trained, as RFC 3339.
    pub trained_at: Option<String>,
    /// Metrics of its training, by name.
    #[schemars(with = "BTreeMap<String, Option<f64>>")] // JSON has no NaN
    pub metrics: BTreeMap<String, f64>,
}

impl Models {
    /// The configured models, none of them loaded yet.
    pub fn new(configured: &BTreeMap<String, config::Model>, metrics: &Metrics) -> Self {
        let slot = |(name, model): (&String, &config::Model)| {
            let metrics = metrics.model(name)?;
            Some((name.clone(), Slot::new(name, model, metrics)))
        };
        Self { slots: configured.iter().filter_map(slot).collect() }
    }

    /// The same, with where the state keeps what visitors took, by the name of the model that leaves it out.
    #[must_use]
    pub fn with_seen(mut self, seen: &BTreeMap<String, rankwright_state::Slot>) -> Self {
        self.slots.iter_mut().for_each(|(name, slot)| slot.seen = seen.get(name).copied());
        self
    }

    /// A model that ranks.
    pub fn ranker(&self, name: &str) -> Result<&Slot, Unknown> {
        self.of_kind(name, false)
    }

    /// A model that recommends.
    pub fn recommender(&self, name: &str) -> Result<&Slot, Unknown> {
        self.of_kind(name, true)
    }

    /// A model, of whatever type.
    pub fn get(&self, name: &str) -> Result<&Slot, Unknown> {
        self.slots.get(name).ok_or_else(|| Unknown::Name {
            name: name.chars().take(100).collect(),
            known: self.slots.keys().cloned().collect(),
        })
    }

    /// All models, in order of their names.
    pub fn all(&self) -> impl Iterator<Item = &Slot> {
        self.slots.values()
    }

    /// Names of those that rank, or of those that recommend.
    pub(crate) fn names(&self, recommends: bool) -> impl Iterator<Item = &str> {
        self.all().filter(move |slot| slot.definition.recommends() == recommends).map(Slot::name)
    }

    fn of_kind(&self, name: &str, recommends: bool) -> Result<&Slot, Unknown> {
        let slot = self.get(name)?;
        if slot.definition.recommends() == recommends {
            return Ok(slot);
        }
        let path = if recommends { "rank" } else { "recommend" };
        Err(Unknown::Kind { name: name.into(), kind: slot.kind(), path: format!("/{path}/{name}") })
    }
}

impl Slot {
    fn new(name: &str, model: &config::Model, metrics: Arc<ModelMetrics>) -> Self {
        Self {
            name: name.to_owned(),
            current: RwLock::new(Current::Missing(format!("model {name} is not loaded yet").into())),
            definition: model.clone(),
            loading: tokio::sync::Mutex::default(),
            seen: None,
            bare: OnceLock::new(),
            said: RwLock::new(None),
            registry: RwLock::default(),
            metrics,
        }
    }

    /// Name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Type in the configuration.
    pub fn kind(&self) -> &'static str {
        self.definition.type_name()
    }

    /// What it is for.
    pub fn purpose(&self) -> Purpose {
        match &self.definition {
            model if model.learns_order() => Purpose::LearnedOrder,
            model if model.holds_vectors() => Purpose::Similar,
            model if model.recommends() => Purpose::Popular,
            _ => Purpose::Order,
        }
    }

    /// What answers now.
    pub fn current(&self) -> Current {
        self.current.read().clone()
    }

    /// Where the state keeps what visitors took, if the model leaves it out.
    pub(crate) fn seen(&self) -> Option<rankwright_state::Slot> {
        self.seen
    }

    /// What computes the features while no version does.
    pub(crate) fn bare(&self) -> Option<&dyn Ranker> {
        self.bare.get().map(|ranker| &**ranker)
    }

    /// Keeps what computes the features while no version does.
    pub(crate) fn keep_bare(&self, ranker: Box<dyn Ranker>) {
        let _ = self.bare.set(ranker); // one is as good as the other
    }

    /// Lets another version answer from now on.
    pub fn swap(&self, loaded: Arc<Loaded>) {
        *self.current.write() = Current::Loaded(loaded);
        self.registry.write().refused = None;
        self.metrics.loaded.set(1);
    }

    /// The version that answers, of a model that learns.
    pub fn version(&self) -> Option<String> {
        match self.current() {
            Current::Loaded(loaded) => loaded.version.id.clone(),
            Current::Missing(_) => None,
        }
    }

    /// The version that the configuration names.
    pub(crate) fn pinned(&self) -> Option<String> {
        self.definition.learning()?.version.clone()
    }

    /// What is known of its versions.
    pub fn registry(&self) -> Registry {
        self.registry.read().clone()
    }

    /// Whether a version answers that is in memory alone: where versions are kept, none is left.
    pub fn is_lost(&self) -> bool {
        let none_left = self.registry.read().versions.as_ref().is_some_and(|versions| versions.is_empty());
        none_left && self.version().is_some()
    }

    /// Takes note of which versions there are.
    pub(crate) fn know(&self, versions: Vec<String>) {
        self.registry.write().versions = Some(versions.into());
        let (before, lost) = (self.metrics.lost.get() == 1, self.is_lost());
        self.metrics.lost.set(lost.into());
        if lost && !before {
            tracing::error!(
                model = self.name,
                "the versions of a model are gone: the one in memory answers until this process ends"
            );
        }
    }

    /// Why no version answers, where one should: it could not be loaded, or did not work.
    pub fn failure(&self) -> Option<String> {
        match self.current() {
            Current::Loaded(_) => None,
            Current::Missing(_) => {
                self.said.read().clone().or_else(|| self.registry().refused.map(|refused| refused.reason))
            }
        }
    }

    /// Takes note of a version that does not work; whether that is news.
    pub(crate) fn refuse(&self, refused: Refused) -> bool {
        let mut registry = self.registry.write();
        let news = registry.refused.as_ref() != Some(&refused);
        registry.refused = Some(refused);
        news
    }

    /// Forgets the refused version: it is no longer the one that should answer.
    pub(crate) fn forget_refused(&self) {
        self.registry.write().refused = None;
    }

    /// Why this server should not take the place of others, which serve this. An answer without the model is better than none,
    /// so where no other server has it, nothing is lacking.
    pub(crate) fn lacks(&self, others: &[Serves]) -> Option<String> {
        self.definition.learning()?;
        let pinned = self.pinned();
        let (name, served) = (&self.name, self.version());
        let serve = others.iter().filter(|serves| serves.contains_key(name)).count();
        if serve == 0 {
            return None;
        }
        let why = || match self.current() {
            Current::Missing(reason) => reason.to_string(),
            Current::Loaded(_) => "another one is served".to_owned(),
        };
        if let Some(pinned) = pinned.filter(|pinned| served.as_ref() != Some(pinned)) {
            let there = self.registry.read().versions.as_ref().map(|versions| versions.join(", "));
            let there = there.filter(|versions| !versions.is_empty()).unwrap_or_else(|| "none".to_owned());
            return Some(format!(
                "model {name} is pinned to {pinned}, which is not served: {}; there are: {there}",
                why()
            ));
        }
        if served.is_none() {
            return Some(format!(
                "model {name} is served by {serve} other servers, and would not be by this one: {}",
                why()
            ));
        }
        // an earlier version is the right one where the configuration lists other features, as after a change that is taken back
        let refused = self.registry().refused.filter(|refused| !ColumnMismatch::is_told_by(&refused.reason));
        let Refused { version, reason } = refused?;
        let serve = others.iter().filter(|serves| serves.get(name) == Some(&version)).count();
        (serve > 0).then(|| {
            let what = format!("version {version} of model {name}");
            format!("{what} is served by {serve} other servers, and did not work on this one: {reason}")
        })
    }

    /// Tells why nothing is loaded; a version that is there stays.
    pub fn explain_missing(&self, reason: String) {
        let mut current = self.current.write();
        if let Current::Missing(_) = *current {
            *current = Current::Missing(reason.into());
        }
    }

    /// Whether that is news: the same was not said by the last look for a version.
    pub(crate) fn is_news(&self, failure: Option<String>) -> bool {
        let mut said = self.said.write();
        let news = *said != failure;
        *said = failure;
        news
    }
}

impl Served {
    /// What orders items, if this does.
    pub(crate) fn ranker(&self) -> Option<&dyn Ranker> {
        match self {
            Self::Ranker(ranker) => Some(&**ranker),
            Self::Recommender(_) => None,
        }
    }

    /// What names items, if this does.
    pub(crate) fn recommender(&self) -> Option<&Recommender> {
        match self {
            Self::Recommender(recommender) => Some(recommender),
            Self::Ranker(_) => None,
        }
    }
}

impl Loaded {
    /// A model that needs no training.
    pub fn untrained(ranker: Box<dyn Ranker>) -> Self {
        let version = Version { id: None, trained_at: None, metrics: BTreeMap::new() };
        Self { version, model: Served::Ranker(ranker) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::Registry;

    #[test]
    fn a_failure_is_news_until_it_was_said() {
        let configured = config::Config::parse("models: {m: {type: noop}}", "test").expect("a configuration").0.models;
        let metrics = Metrics::new(&configured, std::iter::empty(), Registry::new()).expect("new names");
        let models = Models::new(&configured, &metrics);
        let slot = models.ranker("m").unwrap_or_else(|_| panic!("it ranks"));
        let looks = ["cut short", "cut short", "other features", ""];
        let news = looks.map(|text| slot.is_news(Some(text.to_owned()).filter(|text| !text.is_empty())));
        assert_eq!(news, [true, false, true, true]);
        assert!(!slot.is_news(None) && slot.is_news(Some("cut short".to_owned())));
    }
}
