//! Loads versions that training has published.
//!
//! A version is served only with the features it was trained on: their columns are compared by fingerprint, so that a
//! changed definition is an error with names, and never a silently wrong score.

use super::trial::warm_up_time;
use super::{Candidate, Found, LoadError, Loader, Trial};
use crate::models::{Loaded, Refused, Served, Version};
use crate::ranker::{FeatureColumns, Ranker};
use rankwright_config as config;
use rankwright_event::json::decode_batch;
use rankwright_event::{Event, Ranking, Timestamp};
use rankwright_feature::{Encoded, Encoders, NoEncoders, Plan, Purpose, Texts};
use rankwright_model::{
    Alone, Column, Contributions, Fleet, Model, NoContributions, Recommender, Serves, Shuffle, StoreError, Turn,
    VersionId, VersionStore,
};
use rankwright_state::{BoxFuture, Fetched, Key, Store};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Loads models from a store of versions.
pub struct Published {
    features: Vec<config::Feature>,
    state: Arc<dyn Store>,
    versions: Arc<dyn VersionStore>,
    encoders: Arc<dyn Encoders>,
    fleet: Arc<dyn Fleet>,
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
        Self {
            features: features.to_vec(),
            state,
            versions,
            encoders: Arc::new(NoEncoders),
            fleet: Arc::new(Alone::default()),
        }
    }

    /// The same with models of texts that features compute with.
    #[must_use]
    pub fn with_encoders(self, encoders: Arc<dyn Encoders>) -> Self {
        Self { encoders, ..self }
    }

    /// The same beside other servers that share the versions.
    #[must_use]
    pub fn with_fleet(self, fleet: Arc<dyn Fleet>) -> Self {
        Self { fleet, ..self }
    }

    /// The version of a model that learns.
    async fn trained(
        &self,
        name: &str,
        model: &config::Model,
        learning: &config::model::Learning,
        current: Option<&Version>,
    ) -> Result<Found, LoadError> {
        let pinned = learning.version.as_deref();
        let Some(id) = self.wanted(name, pinned).await? else { return Ok(Found::Nothing) };
        if current.is_some_and(|current| current.id.as_deref() == Some(id.as_str())) {
            return Ok(Found::Unchanged);
        }
        if pinned.is_some() {
            // all servers are replaced for it, one after the other
            return Ok(self.stored(name, model, id).await?.map_or(Found::Nothing, Found::Version));
        }
        let found = self.tried(name, model, id.clone()).await?;
        if current.is_some() || !matches!(found, Found::Refused(..) | Found::Unchanged) {
            return Ok(found);
        }
        // one that others go on with serves here as well
        let earlier = self.earlier(name, model, &id).await?;
        Ok(match (found, earlier) {
            (Found::Refused(refused, _), earlier) => Found::Refused(refused, earlier),
            (_, Some(earlier)) => Found::Version(earlier),
            (_, None) => self.stored(name, model, id).await?.map_or(Found::Nothing, Found::Version),
        })
    }

    /// The newest version before this one that serves.
    async fn earlier(&self, name: &str, model: &config::Model, id: &VersionId) -> Result<Option<Candidate>, LoadError> {
        let mut earlier = self.blocking(name, |versions, name| versions.list(name)).await?;
        earlier.retain(|one| one < id);
        while let Some(id) = earlier.pop() {
            match self.tried(name, model, id).await {
                Ok(Found::Version(candidate)) => return Ok(Some(candidate)),
                Ok(Found::Refused(..) | Found::Nothing | Found::Unchanged) => {}
                Err(error) if error.of_version => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// A version, if it is this server's turn to try it, or it works; nothing new while another server tries it.
    async fn tried(&self, name: &str, model: &config::Model, id: VersionId) -> Result<Found, LoadError> {
        let (subject, version) = (self.subject(name, model, &id), id.to_string());
        let trial = Trial(subject.clone());
        // a server that may only read goes by itself
        let takes = warm_up_time(model);
        let turn = self.ask_fleet(move |fleet| fleet.turn(&subject, takes)).await.unwrap_or_else(|error| {
            tracing::debug!(%error, model = name, "what other servers found of a version is not known");
            Turn::Fit
        });
        match turn {
            Turn::Unfit(reason) => return Ok(Found::Refused(Refused { version, reason }, None)),
            Turn::Others => return Ok(Found::Unchanged),
            Turn::Mine | Turn::Fit => {}
        }
        let stored = self.stored(name, model, id).await;
        match (stored, turn) {
            (Ok(Some(candidate)), turn) => {
                let trial = (turn == Turn::Mine).then_some(trial);
                Ok(Found::Version(Candidate { trial, ..candidate }))
            }
            (Ok(None), turn) => {
                if turn == Turn::Mine {
                    self.judge(trial, None).await?;
                }
                Ok(Found::Nothing)
            }
            (Err(error), Turn::Mine) => {
                let verdict = error.of_version.then(|| Err(error.to_string()));
                self.judge(trial, verdict).await.and(Err(error))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// What names a version among servers: what it does on one may differ where features or programs do.
    fn subject(&self, name: &str, model: &config::Model, id: &VersionId) -> String {
        let features = self.listed(model.features()).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        (env!("CARGO_PKG_VERSION"), format!("{model:?} {features:?}")).hash(&mut hasher);
        format!("{name}:{id}:{:016x}", hasher.finish())
    }

    /// A version that is stored, and rankings to replay with it; nothing where it is of a type that the model had before.
    async fn stored(&self, name: &str, model: &config::Model, id: VersionId) -> Result<Option<Candidate>, LoadError> {
        let stored = self.blocking(name, move |versions, name| versions.load(name, Some(&id))).await?;
        let is_its_own = |stored: &rankwright_model::Version| stored.metadata().kind.type_name() == model.type_name();
        let Some(stored) = stored.filter(is_its_own) else { return Ok(None) };
        let (version, samples) = (version(&stored), samples(stored.warmup()));
        let model = match model.recommends() {
            false => Served::Ranker(self.ranker(model.features(), &stored).await?),
            // it takes a while where there are many items
            true => {
                let loaded = self.apart(move || Recommender::load(&stored)).await?;
                Served::Recommender(Box::new(loaded.map_err(LoadError::of_version)?))
            }
        };
        Ok(Some(Candidate { loaded: Loaded { version, model }, samples, trial: None }))
    }

    async fn ranker(
        &self,
        features: &[String],
        stored: &rankwright_model::Version,
    ) -> Result<Box<dyn Ranker>, LoadError> {
        let plan = self.plan(features).await?;
        stored.check_columns(&columns(&plan)).map_err(LoadError::of_version)?;
        let model = Model::load(stored).map_err(LoadError::of_version)?;
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
        self.apart(move || ask(&*versions, &name)).await?.map_err(load_error)
    }

    /// Asks what is known among servers, in the same way.
    async fn ask_fleet<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Fleet) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LoadError> {
        let fleet = self.fleet.clone();
        self.apart(move || ask(&*fleet)).await?.map_err(LoadError::new)
    }

    /// Works on a thread that may wait.
    async fn apart<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, LoadError> {
        tokio::task::spawn_blocking(work).await.map_err(LoadError::new)
    }

    async fn plan(&self, features: &[String]) -> Result<Plan, LoadError> {
        let features = self.listed(features)?;
        Plan::compile_with(&features, &*self.state, &*self.encoders).await.map_err(LoadError::new)
    }

    /// The features that a model lists, in its order.
    fn listed(&self, names: &[String]) -> Result<Vec<config::Feature>, LoadError> {
        let named: HashMap<&str, _> = self.features.iter().map(|feature| (feature.name.as_str(), feature)).collect();
        let find = |name: &String| named.get(name.as_str()).copied().cloned();
        names.iter().map(|name| find(name).ok_or_else(|| LoadError::new(Undefined(name.clone())))).collect()
    }
}

/// What a model that needs no training orders items by.
pub fn untrained(model: &config::Model) -> Model {
    match model {
        config::Model::Shuffle { max_position_change } => {
            Model::Shuffle(Shuffle { max_position_change: *max_position_change, seed: 0 })
        }
        _ => Model::Noop,
    }
}

fn load_error(error: StoreError) -> LoadError {
    match error {
        StoreError::Decode { .. } | StoreError::Inconsistent { .. } => LoadError::of_version(error),
        error => LoadError::new(error),
    }
}

impl Loader for Published {
    fn load<'a>(
        &'a self,
        name: &'a str,
        model: &'a config::Model,
        current: Option<&'a Version>,
    ) -> BoxFuture<'a, Result<Found, LoadError>> {
        Box::pin(async move {
            match (model.learning(), current) {
                (Some(learning), _) => self.trained(name, model, learning, current).await,
                (None, Some(_)) => Ok(Found::Unchanged),
                (None, None) => {
                    let loaded = Loaded::untrained(Box::new(Baseline(untrained(model))));
                    Ok(Found::Version(Candidate { loaded, samples: Vec::new(), trial: None }))
                }
            }
        })
    }

    fn without_version<'a>(&'a self, model: &'a config::Model) -> BoxFuture<'a, Result<Box<dyn Ranker>, LoadError>> {
        Box::pin(async move {
            Ok(match model.features() {
                [] => Box::new(Baseline(Model::Noop)) as Box<dyn Ranker>,
                features => Box::new(Trained::new(self.plan(features).await?, Model::Noop)),
            })
        })
    }

    fn versions<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Option<Vec<String>>, LoadError>> {
        Box::pin(async move {
            let versions = self.blocking(model, |versions, name| versions.list(name)).await?;
            Ok(Some(versions.iter().map(ToString::to_string).collect()))
        })
    }

    fn tell(&self, serves: Serves) -> BoxFuture<'_, Result<Vec<Serves>, LoadError>> {
        Box::pin(self.ask_fleet(move |fleet| fleet.tell(&serves)))
    }

    fn leave(&self) -> BoxFuture<'_, Result<(), LoadError>> {
        Box::pin(self.ask_fleet(|fleet| fleet.leave()))
    }

    fn judge(&self, trial: Trial, verdict: Option<Result<(), String>>) -> BoxFuture<'_, Result<(), LoadError>> {
        Box::pin(self.ask_fleet(move |fleet| match verdict {
            Some(verdict) => fleet.judge(&trial.0, verdict.as_ref().copied().map_err(String::as_str)),
            None => fleet.pass(&trial.0),
        }))
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

    fn newest(&self, ranking: &Ranking, fetched: &Fetched) -> Vec<BTreeMap<&str, Timestamp>> {
        self.plan.newest(ranking, fetched)
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
