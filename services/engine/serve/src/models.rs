//! The models of the configuration, and what of each is loaded.
//!
//! A version never changes. A newer one takes its place by swapping an [`Arc`]: requests that run keep the one they
//! began with, and the old one goes when the last of them has ended.

pub(crate) mod unknown;

pub use unknown::Unknown;

use crate::metrics::{Metrics, RankMetrics};
use crate::ranker::Ranker;
use parking_lot::RwLock;
use rankwright_config as config;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// All models of the configuration, by name.
pub struct Models {
    rankers: BTreeMap<String, Slot>,
    recommenders: BTreeMap<String, &'static str>,
}

/// A ranking model: which version of it answers.
pub struct Slot {
    name: String,
    kind: &'static str,
    current: RwLock<Current>,
    pub(crate) definition: config::Model,
    pub(crate) loading: tokio::sync::Mutex<()>,
    /// Computes the features for answers without a version, once that was needed.
    bare: OnceLock<Box<dyn Ranker>>,
    /// What was said of a version that could not be loaded, until one is.
    said: RwLock<Option<String>>,
    pub(crate) metrics: Arc<RankMetrics>,
}

/// What a model answers with.
#[derive(Clone)]
pub enum Current {
    /// The incoming order, for this reason.
    Missing(Arc<str>),
    /// A version.
    Loaded(Arc<Loaded>),
}

/// A version of a model, ready to serve.
pub struct Loaded {
    /// Which one.
    pub version: Version,
    /// What it does.
    pub ranker: Box<dyn Ranker>,
}

/// What is told about a version.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// Its identity; absent for models without training.
    #[serde(rename = "version")]
    pub id: Option<String>,
    /// When it was trained, as RFC 3339.
    pub trained_at: Option<String>,
    /// Metrics of its training, by name.
    pub metrics: BTreeMap<String, f64>,
}

impl Models {
    /// The configured models, none of them loaded yet.
    pub fn new(configured: &BTreeMap<String, config::Model>, metrics: &Metrics) -> Self {
        let mut models = Self { rankers: BTreeMap::new(), recommenders: BTreeMap::new() };
        for (name, model) in configured {
            match metrics.model(name).filter(|_| is_ranker(model)) {
                Some(metrics) => drop(models.rankers.insert(name.clone(), Slot::new(name, model, metrics))),
                None => drop(models.recommenders.insert(name.clone(), model.type_name())),
            }
        }
        models
    }

    /// Names of the models that rank.
    pub fn ranking(configured: &BTreeMap<String, config::Model>) -> impl Iterator<Item = &str> {
        configured.iter().filter(|(_, model)| is_ranker(model)).map(|(name, _)| name.as_str())
    }

    /// A model that ranks.
    pub fn ranker(&self, name: &str) -> Result<&Slot, Unknown> {
        self.rankers.get(name).ok_or_else(|| match self.recommenders.get(name) {
            Some(kind) => Unknown::Kind { name: name.into(), kind, path: format!("/recommend/{name}") },
            None => self.unknown(name),
        })
    }

    /// The type of a model that recommends.
    pub fn recommender(&self, name: &str) -> Result<&'static str, Unknown> {
        self.recommenders.get(name).copied().ok_or_else(|| match self.rankers.get(name) {
            Some(slot) => Unknown::Kind { name: name.into(), kind: slot.kind, path: format!("/rank/{name}") },
            None => self.unknown(name),
        })
    }

    /// Whether a model is configured, of whatever type.
    pub fn check(&self, name: &str) -> Result<(), Unknown> {
        let known = self.rankers.contains_key(name) || self.recommenders.contains_key(name);
        known.then_some(()).ok_or_else(|| self.unknown(name))
    }

    /// The models that rank, in order of their names.
    pub fn rankers(&self) -> impl Iterator<Item = &Slot> {
        self.rankers.values()
    }

    /// The models that recommend, each with its type, in order of their names.
    pub fn recommenders(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.recommenders.iter().map(|(name, kind)| (name.as_str(), *kind))
    }

    fn unknown(&self, name: &str) -> Unknown {
        let known = self.rankers.keys().chain(self.recommenders.keys()).cloned().collect();
        Unknown::Name { name: name.chars().take(100).collect(), known }
    }
}

impl Slot {
    fn new(name: &str, model: &config::Model, metrics: Arc<RankMetrics>) -> Self {
        Self {
            name: name.to_owned(),
            kind: model.type_name(),
            current: RwLock::new(Current::Missing(format!("model {name} is not loaded yet").into())),
            definition: model.clone(),
            loading: tokio::sync::Mutex::default(),
            bare: OnceLock::new(),
            said: RwLock::new(None),
            metrics,
        }
    }

    /// Name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Type in the configuration.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// What answers now.
    pub fn current(&self) -> Current {
        self.current.read().clone()
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

impl Loaded {
    /// A model that needs no training.
    pub fn untrained(ranker: Box<dyn Ranker>) -> Self {
        Self { version: Version { id: None, trained_at: None, metrics: BTreeMap::new() }, ranker }
    }
}

fn is_ranker(model: &config::Model) -> bool {
    use config::Model::{LambdaMart, Noop, Shuffle};
    matches!(model, LambdaMart(_) | Shuffle { .. } | Noop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::Registry;

    #[test]
    fn a_failure_is_news_until_it_was_said() {
        let configured = config::Config::parse("models: {m: {type: noop}}", "test").expect("a configuration").0.models;
        let metrics = Metrics::new(["m"], Registry::new()).expect("new names");
        let models = Models::new(&configured, &metrics);
        let slot = models.ranker("m").unwrap_or_else(|_| panic!("it ranks"));
        let looks = ["cut short", "cut short", "other features", ""];
        let news = looks.map(|text| slot.is_news(Some(text.to_owned()).filter(|text| !text.is_empty())));
        assert_eq!(news, [true, false, true, true]);
        assert!(!slot.is_news(None) && slot.is_news(Some("cut short".to_owned())));
    }
}
