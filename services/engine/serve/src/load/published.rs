//! Versions as training publishes them, made ready to serve.
//!
//! A version is served only with the features it was trained on: their columns are compared by fingerprint, so that a
//! changed definition is an error with names, and never a silently wrong score.

use super::{Found, LoadError, Loader};
use crate::models::{Loaded, Served, Version};
use crate::ranker::{FeatureColumns, Ranker};
use rankwright_config as config;
use rankwright_event::json::decode_batch;
use rankwright_event::{Event, Ranking};
use rankwright_feature::{Encoded, Encoders, NoEncoders, Plan, Purpose, Texts};
use rankwright_model::{Column, Contributions, Model, NoContributions, Recommender, Shuffle, VersionId, VersionStore};
use rankwright_state::{BoxFuture, Fetched, Key, Store};
use std::collections::HashMap;
use std::sync::Arc;

/// Loads models from a store of versions.
pub struct Published {
    features: Vec<config::Feature>,
    state: Arc<dyn Store>,
    versions: Arc<dyn VersionStore>,
    encoders: Arc<dyn Encoders>,
}

/// A trained model and the features that it reads.
struct Trained {
    plan: Plan,
    model: Model,
    features: Vec<FeatureColumns>,
    /// Why the model's scores say nothing, where they do not.
    fallback: Option<String>,
}

/// A model that looks at no features.
struct Baseline(Model);

/// A feature that a model lists is not defined; configurations are checked for that.
#[derive(Debug, thiserror::Error)]
#[error("feature {0:?} is not defined")]
struct Undefined(String);

impl Published {
    /// Versions of this store, over these features and this state.
    pub fn new(features: &[config::Feature], state: Arc<dyn Store>, versions: Arc<dyn VersionStore>) -> Self {
        Self { features: features.to_vec(), state, versions, encoders: Arc::new(NoEncoders) }
    }

    /// The same with models of texts that features compute with.
    #[must_use]
    pub fn with_encoders(self, encoders: Arc<dyn Encoders>) -> Self {
        Self { encoders, ..self }
    }

    /// The version of a model that learns.
    async fn trained(
        &self,
        name: &str,
        model: &config::Model,
        learning: &config::model::Learning,
        current: Option<&Version>,
    ) -> Result<Found, LoadError> {
        let Some(id) = self.wanted(name, learning.version.as_deref()).await? else { return Ok(Found::Nothing) };
        if current.is_some_and(|current| current.id.as_deref() == Some(id.as_str())) {
            return Ok(Found::Unchanged);
        }
        let stored = self.blocking(name, move |versions, name| versions.load(name, Some(&id))).await?;
        // a version of a type that the model had before is none of this one
        let is_its_own = |stored: &rankwright_model::Version| stored.metadata().kind.type_name() == model.type_name();
        let Some(stored) = stored.filter(is_its_own) else { return Ok(Found::Nothing) };
        let (version, samples) = (version(&stored), samples(stored.warmup()));
        let model = match model {
            config::Model::LambdaMart(definition) => Served::Ranker(self.ranker(definition, &stored).await?),
            // it takes a while where there are many items
            _ => {
                let loaded = self.apart(move || Recommender::load(&stored)).await?;
                Served::Recommender(Box::new(loaded.map_err(LoadError::new)?))
            }
        };
        Ok(Found::Version(Loaded { version, model }, samples))
    }

    async fn ranker(
        &self,
        definition: &config::model::LambdaMart,
        stored: &rankwright_model::Version,
    ) -> Result<Box<dyn Ranker>, LoadError> {
        let plan = self.plan(definition).await?;
        stored.check_columns(&columns(&plan)).map_err(LoadError::new)?;
        let model = Model::load(stored).map_err(LoadError::new)?;
        let fallback = model.is_constant().then(|| stored.metadata().learned_nothing());
        Ok(Box::new(Trained { fallback, ..Trained::new(plan, model) }))
    }

    /// The pinned version, or the current one.
    async fn wanted(&self, name: &str, pinned: Option<&str>) -> Result<Option<VersionId>, LoadError> {
        match pinned {
            Some(id) => id.parse().map(Some).map_err(LoadError::new),
            None => self.blocking(name, |versions, name| versions.current(name)).await,
        }
    }

    /// Asks the store of versions on a thread that may wait.
    async fn blocking<T: Send + 'static>(
        &self,
        name: &str,
        ask: impl FnOnce(&dyn VersionStore, &str) -> Result<T, rankwright_model::StoreError> + Send + 'static,
    ) -> Result<T, LoadError> {
        let (versions, name) = (self.versions.clone(), name.to_owned());
        self.apart(move || ask(&*versions, &name)).await?.map_err(LoadError::new)
    }

    /// Works on a thread that may wait.
    async fn apart<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, LoadError> {
        tokio::task::spawn_blocking(work).await.map_err(LoadError::new)
    }

    async fn plan(&self, definition: &config::model::LambdaMart) -> Result<Plan, LoadError> {
        let features = self.listed(&definition.features)?;
        Plan::compile_with(&features, &*self.state, &*self.encoders).await.map_err(LoadError::new)
    }

    /// The features that a model lists, in its order.
    fn listed(&self, names: &[String]) -> Result<Vec<config::Feature>, LoadError> {
        let named: HashMap<&str, _> = self.features.iter().map(|feature| (feature.name.as_str(), feature)).collect();
        let find = |name: &String| named.get(name.as_str()).copied().cloned();
        names.iter().map(|name| find(name).ok_or_else(|| LoadError::new(Undefined(name.clone())))).collect()
    }
}

impl Loader for Published {
    fn load<'a>(
        &'a self,
        name: &'a str,
        model: &'a config::Model,
        current: Option<&'a Version>,
    ) -> BoxFuture<'a, Result<Found, LoadError>> {
        let baseline = move |model| match current {
            Some(_) => Found::Unchanged,
            None => Found::Version(Loaded::untrained(Box::new(Baseline(model))), Vec::new()),
        };
        Box::pin(async move {
            if let Some(learning) = model.learning() {
                return self.trained(name, model, learning, current).await;
            }
            Ok(match model {
                config::Model::Shuffle { max_position_change } => {
                    baseline(Model::Shuffle(Shuffle { max_position_change: *max_position_change, seed: 0 }))
                }
                _ => baseline(Model::Noop),
            })
        })
    }

    fn without_version<'a>(&'a self, model: &'a config::Model) -> BoxFuture<'a, Result<Box<dyn Ranker>, LoadError>> {
        Box::pin(async move {
            Ok(match model {
                config::Model::LambdaMart(definition) => {
                    Box::new(Trained::new(self.plan(definition).await?, Model::Noop)) as Box<dyn Ranker>
                }
                _ => Box::new(Baseline(Model::Noop)),
            })
        })
    }
}

impl Trained {
    fn new(plan: Plan, model: Model) -> Self {
        let features = FeatureColumns::group(plan.columns().iter().map(|column| column.feature.as_str()));
        Self { plan, model, features, fallback: None }
    }
}

impl Ranker for Trained {
    fn features(&self) -> &[FeatureColumns] {
        &self.features
    }

    fn reads(&self, ranking: &Ranking) -> Vec<Key> {
        self.plan.reads(ranking)
    }

    fn follow(&self, ranking: &Ranking, fetched: &Fetched) -> Vec<Key> {
        self.plan.follow(ranking, fetched)
    }

    fn texts(&self, ranking: &Ranking, fetched: &Fetched) -> Texts {
        self.plan.texts(ranking, fetched)
    }

    fn rows(&self, ranking: &Ranking, fetched: &Fetched, encoded: &Encoded) -> Vec<f32> {
        self.plan.rows_with(ranking, fetched, encoded, Purpose::Serving)
    }

    fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    fn scores(&self, ranking: &Ranking, rows: &[f32]) -> Vec<f64> {
        self.model.score(ranking.id.digest(), rows, self.plan.width(), ranking.items.len())
    }

    fn contributions(&self, rows: &[f32]) -> Result<Option<Contributions>, NoContributions> {
        self.model.contributions(rows, self.plan.width())
    }
}

impl Ranker for Baseline {
    fn features(&self) -> &[FeatureColumns] {
        &[]
    }

    fn reads(&self, _: &Ranking) -> Vec<Key> {
        Vec::new()
    }

    fn follow(&self, _: &Ranking, _: &Fetched) -> Vec<Key> {
        Vec::new()
    }

    fn rows(&self, _: &Ranking, _: &Fetched, _: &Encoded) -> Vec<f32> {
        Vec::new()
    }

    fn scores(&self, ranking: &Ranking, rows: &[f32]) -> Vec<f64> {
        self.0.score(ranking.id.digest(), rows, 0, ranking.items.len())
    }
}

fn columns(plan: &Plan) -> Vec<Column> {
    let column = |column: &rankwright_feature::Column| Column {
        name: column.name.clone(),
        feature: column.feature.clone(),
        fingerprint: column.fingerprint,
        categorical: column.categorical,
    };
    plan.columns().iter().map(column).collect()
}

fn version(stored: &rankwright_model::Version) -> Version {
    let metadata = stored.metadata();
    Version {
        id: Some(stored.id().to_string()),
        trained_at: Some(metadata.created_at.to_string()),
        metrics: metadata.metrics.clone(),
    }
}

/// Rankings to replay, stored as JSON events. Warming up is a help, so unreadable ones are none.
fn samples(bytes: &[u8]) -> Vec<Ranking> {
    let events = if bytes.is_empty() { Ok(Vec::new()) } else { decode_batch(bytes) };
    let events = events.unwrap_or_else(|error| {
        tracing::warn!(%error, "the warm-up requests of a model version cannot be read");
        Vec::new()
    });
    let ranking = |event| if let Event::Ranking(ranking) = event { Some(ranking) } else { None };
    events.into_iter().filter_map(ranking).collect()
}
