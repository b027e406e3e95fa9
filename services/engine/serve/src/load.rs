//! Getting ready: the state store answers, every model that has a version is loaded and warm.
//!
//! A version is warm when requests sampled in its training have been replayed with it, for as long as the configuration
//! allows: caches are filled and pages touched before a visitor waits for them. Only then does it take the place of the
//! one that answers.

mod published;

pub use published::Published;

use crate::app::{App, Phase};
use crate::breaker::chain;
use crate::models::{Current, Loaded, Served, Slot, Version};
use crate::rank::rehearse;
use crate::ranker::Ranker;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use rankwright_config as config;
use rankwright_event::{Ranking, Tenant};
use rankwright_state::{BoxFuture, Key, Scope};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::MissedTickBehavior;

/// Time between two looks at a store that does not answer.
const PAUSE: Duration = Duration::from_secs(1);
/// So many versions are made ready at once: each may take as much memory again as the one that it replaces.
const AT_ONCE: usize = 2;
/// Time from the beginning of one look for newer versions to that of the next: they are to be served within ten seconds.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Knows which version of a model should answer, and makes it ready to.
pub trait Loader: Send + Sync {
    /// The version that should answer, unless it is the `current` one already.
    fn load<'a>(
        &'a self,
        name: &'a str,
        model: &'a config::Model,
        current: Option<&'a Version>,
    ) -> BoxFuture<'a, Result<Found, LoadError>>;

    /// What computes the features that a model lists and keeps the incoming order, for answers without a version.
    fn without_version<'a>(&'a self, model: &'a config::Model) -> BoxFuture<'a, Result<Box<dyn Ranker>, LoadError>>;
}

/// What a [`Loader`] found.
pub enum Found {
    /// Nobody trained this model yet.
    Nothing,
    /// The current version is the right one.
    Unchanged,
    /// Another version, and rankings to replay with it.
    Version(Loaded, Vec<Ranking>),
}

/// A version that is there and cannot be served, or a store of versions that does not answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(String);

impl LoadError {
    /// From its cause, and the causes of that.
    pub fn new(error: impl std::error::Error) -> Self {
        Self(chain(&error))
    }
}

impl App {
    /// Waits for the state store, loads and warms every model that has a version, and calls the service ready.
    pub async fn prepare(&self) {
        while !self.store_answers().await {
            tokio::time::sleep(PAUSE).await;
        }
        self.refresh_all().await;
        self.enter(Phase::Ready);
    }

    /// Looks for newer versions from time to time; never ends. One that warms up keeps no other model's waiting, two do.
    pub(crate) async fn follow(&self) {
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let models = self.models().all().map(|slot| self.follow_model(slot.name().to_owned(), room.clone()));
        join_all(models.collect::<Vec<_>>()).await;
    }

    async fn follow_model(&self, name: String, room: Arc<Semaphore>) {
        let mut looks = tokio::time::interval_at((Instant::now() + LOOK_EVERY).into(), LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let Ok(permit) = room.clone().acquire_owned().await else { return };
            let (app, model) = (self.clone(), name.clone());
            let refreshed = self.pool().run(async move {
                app.refresh(&model).await;
                drop(permit);
            });
            if let Err(error) = refreshed.await {
                tracing::error!(%error, model = name, "looking for a newer version failed");
            }
        }
    }

    async fn refresh_all(&self) {
        stream::iter(self.models().all()).for_each_concurrent(AT_ONCE, |slot| self.refresh_slot(slot)).await;
    }

    /// Serves the version of a model that should answer now, if it is not served yet.
    pub async fn refresh(&self, model: &str) {
        if let Ok(slot) = self.models().get(model) {
            self.refresh_slot(slot).await;
        }
    }

    async fn refresh_slot(&self, slot: &Slot) {
        let _one_at_a_time = slot.loading.lock().await;
        let current = match slot.current() {
            Current::Loaded(loaded) => Some(loaded),
            Current::Missing(_) => None,
        };
        let current = current.as_ref().map(|loaded| &loaded.version);
        let found = self.loader().load(slot.name(), &slot.definition, current).await;
        // it is looked at again and again
        let news = slot.is_news(found.as_ref().err().map(ToString::to_string));
        match found {
            Ok(Found::Unchanged) => {}
            Ok(Found::Nothing) => self.without_version(slot, format!("model {} is not trained yet", slot.name())).await,
            Ok(Found::Version(loaded, samples)) => self.serve_version(slot, loaded, samples).await,
            Err(error) => {
                if news {
                    tracing::error!(model = slot.name(), %error, "failed to load a model");
                }
                self.without_version(slot, format!("model {} could not be loaded, the log says why", slot.name()))
                    .await;
            }
        }
    }

    async fn without_version(&self, slot: &Slot, reason: String) {
        slot.explain_missing(reason);
        let ranks = !slot.definition.recommends();
        if ranks && slot.bare().is_none() && matches!(slot.current(), Current::Missing(_)) {
            match self.loader().without_version(&slot.definition).await {
                Ok(ranker) => slot.keep_bare(ranker),
                Err(error) => {
                    tracing::debug!(model = slot.name(), %error, "the features of a model are computed later")
                }
            }
        }
    }

    async fn serve_version(&self, slot: &Slot, loaded: Loaded, samples: Vec<Ranking>) {
        let began = Instant::now();
        let replayed = self.warm_up(&loaded, &samples, warm_up_time(&slot.definition)).await;
        let elapsed_ms = began.elapsed().as_millis() as u64;
        let version = loaded.version.id.clone().unwrap_or_default();
        slot.swap(Arc::new(loaded));
        tracing::info!(model = slot.name(), version, replayed, elapsed_ms, "serving a model version");
    }

    /// Replays rankings for at most so long; returns how many.
    async fn warm_up(&self, loaded: &Loaded, samples: &[Ranking], time: Duration) -> usize {
        let began = Instant::now();
        let Served::Ranker(ranker) = &loaded.model else { return 0 };
        for (replayed, ranking) in samples.iter().enumerate() {
            if began.elapsed() >= time || rehearse(self, &**ranker, ranking).await.is_err() {
                return replayed;
            }
        }
        samples.len()
    }

    async fn store_answers(&self) -> bool {
        let key = [Key::new(&Tenant::default(), Scope::Global)];
        match self.state().read(&key).await {
            Ok(_) => true,
            Err(error) => {
                tracing::warn!(%error, "waiting for the state store");
                false
            }
        }
    }
}

fn warm_up_time(model: &config::Model) -> Duration {
    match model {
        config::Model::LambdaMart(model) => model.warmup.map_or(Duration::ZERO, |warmup| warmup.duration),
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests;
