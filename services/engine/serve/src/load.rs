//! Makes a server ready: the state store answers, and every model that has a version is loaded and warm.
//!
//! A version is warm when requests sampled in its training have been replayed with it, for as long as the configuration
//! allows: caches are filled and pages touched before a visitor waits for them. Only then does it take the place of the
//! one that answers.
//!
//! Where servers share models, a new version is tried by one of them, and the others follow when that one has replayed its
//! rankings ([`Trial`]). A server that would answer with less than the others do is not ready ([`App::prepare`]).

mod published;
mod trial;

pub use published::{Published, untrained};
pub use trial::Trial;

use crate::app::{App, Phase};
use crate::breaker::chain;
use crate::models::{Current, Loaded, Refused, Slot, Version};
use crate::ranker::Ranker;
use futures_util::future::{join, join_all};
use futures_util::stream::{self, StreamExt};
use rankwright_config as config;
use rankwright_event::{Ranking, Tenant};
use rankwright_model::Serves;
use rankwright_state::{BoxFuture, Key, Scope};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::MissedTickBehavior;

/// Time between two looks at a store that does not answer.
const PAUSE: Duration = Duration::from_secs(1);
/// Versions that are made ready at once: each may take as much memory again as the one that it replaces.
const AT_ONCE: usize = 2;
/// Time from the beginning of one look for newer versions to that of the next: they are to be served within ten seconds.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often other servers are told what this one serves: several times while that counts.
const TELL_EVERY: Duration = Duration::from_secs(5);

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

    /// Versions of a model that there are, from the oldest on; nothing where none are kept.
    fn versions<'a>(&'a self, _model: &'a str) -> BoxFuture<'a, Result<Option<Vec<String>>, LoadError>> {
        Box::pin(async { Ok(None) })
    }

    /// Tells other servers what this one serves; what each of them does.
    fn tell(&self, _serves: Serves) -> BoxFuture<'_, Result<Vec<Serves>, LoadError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Takes back what was told, as the server ends.
    fn leave(&self) -> BoxFuture<'_, Result<(), LoadError>> {
        Box::pin(async { Ok(()) })
    }

    /// Tells what was found of a version: that it works, why not, or, with nothing, that it was not found out.
    fn judge(&self, _trial: Trial, _verdict: Option<Result<(), String>>) -> BoxFuture<'_, Result<(), LoadError>> {
        Box::pin(async { Ok(()) })
    }
}

/// What a [`Loader`] found.
pub enum Found {
    /// This model was not trained yet.
    Nothing,
    /// The current version is the right one.
    Unchanged,
    /// Another version.
    Version(Candidate),
    /// Another version, which did not work on the server that tried it; and an earlier one to serve in its place.
    Refused(Refused, Option<Candidate>),
}

/// A version that may answer.
pub struct Candidate {
    /// The version.
    pub loaded: Loaded,
    /// Rankings to replay with it first.
    pub samples: Vec<Ranking>,
    /// Its trial, where other servers wait for the verdict.
    pub trial: Option<Trial>,
}

/// A version that is there and cannot be served, or a store of versions that does not answer.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct LoadError {
    text: String,
    /// Whether it is the version's fault.
    of_version: bool,
}

impl LoadError {
    /// From its cause, and the causes of that.
    pub fn new(error: impl std::error::Error) -> Self {
        Self { text: chain(&error), of_version: false }
    }

    /// The same, where another attempt would end in the same way.
    pub(crate) fn of_version(error: impl std::error::Error) -> Self {
        Self { of_version: true, ..Self::new(error) }
    }
}

impl App {
    /// Waits for the state store, loads and warms every model that has a version, and calls the service ready: at once, or when it
    /// would answer with no less than other servers do.
    pub async fn prepare(&self) {
        while !self.begin().await {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The same once; whether it is ready.
    pub async fn begin(&self) -> bool {
        while !self.store_answers().await {
            tokio::time::sleep(PAUSE).await;
        }
        self.refresh_all().await;
        let lacks = self.lacks().await;
        if let Some(reason) = lacks.as_ref().filter(|_| self.unready() != lacks) {
            tracing::warn!(reason, "not ready");
        }
        let ready = lacks.is_none();
        self.explain_unready(lacks);
        if ready {
            self.enter(Phase::Ready);
        }
        ready
    }

    /// Why requests should go to other servers. Nothing where that is not known: an answer without a model is better than none.
    async fn lacks(&self) -> Option<String> {
        let others = self.others().await;
        self.models().all().find_map(|slot| slot.lacks(&others))
    }

    /// What other servers serve; nothing where this one does not wait for them, or they are not known.
    async fn others(&self) -> Vec<Serves> {
        if !self.is_gated() {
            return Vec::new();
        }
        let others = self.loader().tell(self.serves()).await;
        others.inspect_err(|error| tracing::debug!(%error, "other servers are not known")).unwrap_or_default()
    }

    /// Versions that this server serves, by the names of models.
    fn serves(&self) -> Serves {
        self.models().all().filter_map(|slot| Some((slot.name().to_owned(), slot.version()?))).collect()
    }

    /// Looks for newer versions from time to time; never ends. One that warms up keeps no other model's waiting, two do.
    pub(crate) async fn follow(&self) {
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let models = self.models().all().map(|slot| self.follow_model(slot.name().to_owned(), room.clone()));
        join(join_all(models.collect::<Vec<_>>()), self.tell_others()).await;
    }

    async fn tell_others(&self) {
        loop {
            self.tell().await;
            tokio::time::sleep(TELL_EVERY).await;
        }
    }

    async fn tell(&self) {
        if let Err(error) = self.loader().tell(self.serves()).await {
            tracing::debug!(%error, "other servers are told later");
        }
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
        let (current, before) = (current.as_ref().map(|loaded| &loaded.version), slot.version());
        let found = self.loader().load(slot.name(), &slot.definition, current).await;
        // it is looked at again and again
        let news = slot.is_news(found.as_ref().err().map(ToString::to_string));
        match found {
            Ok(Found::Unchanged) => slot.forget_refused(),
            Ok(Found::Nothing) => self.without_version(slot, format!("model {} is not trained yet", slot.name())).await,
            Ok(Found::Version(candidate)) => self.serve_version(slot, candidate).await,
            Ok(Found::Refused(refused, earlier)) => {
                if let Some(earlier) = earlier {
                    self.serve_version(slot, earlier).await;
                }
                self.refuse(slot, refused).await;
            }
            Err(error) => {
                if news {
                    tracing::error!(model = slot.name(), %error, "failed to load a model");
                }
                self.without_version(slot, format!("model {} could not be loaded, the log says why", slot.name()))
                    .await;
            }
        }
        if slot.version() != before {
            self.tell().await; // one that starts at this moment would take a model for one that no server has
        }
        if slot.definition.learning().is_some()
            && let Ok(Some(versions)) = self.loader().versions(slot.name()).await
        {
            slot.know(versions);
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

#[cfg(test)]
mod tests;
