//! What all requests share, put together once.

use crate::breaker::Guarded;
use crate::gate::Gate;
use crate::limits::Limits;
use crate::load::Loader;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::plugin::{Feedback, Status, Training};
use crate::pool::Pool;
use prometheus::Registry;
use rankwright_config::{Config, Secret};
use rankwright_event::Timestamp;
use rankwright_state::Store;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Time that one read of the state store may take, unless the builder is told otherwise.
const STORE_TIMEOUT: Duration = Duration::from_secs(1);

/// A service, ready to be served; clones share everything.
#[derive(Clone)]
pub struct App {
    shared: Arc<Shared>,
}

struct Shared {
    state: Guarded,
    store_kind: &'static str,
    models: Models,
    loader: Arc<dyn Loader>,
    metrics: Metrics,
    limits: Limits,
    gate: Gate,
    pool: Pool,
    token: Option<Secret>,
    inference: BTreeSet<String>,
    phase: AtomicU8,
    plugins: Plugins,
    started: Instant,
}

/// What a program brought along.
struct Plugins {
    feedback: Option<Arc<dyn Feedback>>,
    training: Option<Arc<dyn Training>>,
    training_command: String,
    status: Vec<(String, Arc<dyn Status>)>,
}

/// How far a service is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Models and state are not there yet.
    Starting,
    /// It may be given requests.
    Ready,
    /// It finishes what runs, and wants no more.
    Draining,
}

/// Puts an [`App`] together.
pub struct Builder {
    config: Config,
    store: Arc<dyn Store>,
    loader: Arc<dyn Loader>,
    store_timeout: Duration,
    registry: Registry,
    plugins: Plugins,
}

/// Why an app could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A metric of this name is in the registry already.
    #[error("failed to register metrics")]
    Metrics(#[from] prometheus::Error),
    /// The system gave no threads.
    #[error("failed to start threads")]
    Threads(#[from] std::io::Error),
}

impl App {
    /// Begins an app of this configuration over this state, with versions of models from this loader.
    pub fn builder(config: &Config, store: Arc<dyn Store>, loader: Arc<dyn Loader>) -> Builder {
        let plugins = Plugins {
            feedback: None,
            training: None,
            training_command: "training-job --config CONFIG --model MODEL".to_owned(),
            status: Vec::new(),
        };
        let (config, registry) = (config.clone(), Registry::new());
        Builder { config, store, loader, store_timeout: STORE_TIMEOUT, registry, plugins }
    }

    /// The models.
    pub fn models(&self) -> &Models {
        &self.shared.models
    }

    /// What `GET /metrics` shows.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// How far it is.
    pub fn phase(&self) -> Phase {
        match self.shared.phase.load(Ordering::Relaxed) {
            0 => Phase::Starting,
            1 => Phase::Ready,
            _ => Phase::Draining,
        }
    }

    /// Goes on to a phase; there is no way back.
    pub(crate) fn enter(&self, phase: Phase) {
        self.shared.phase.fetch_max(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn state(&self) -> &Guarded {
        &self.shared.state
    }

    pub(crate) fn store_kind(&self) -> &'static str {
        self.shared.store_kind
    }

    pub(crate) fn loader(&self) -> &dyn Loader {
        &*self.shared.loader
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.shared.gate
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.shared.pool
    }

    pub(crate) fn token(&self) -> Option<&Secret> {
        self.shared.token.as_ref()
    }

    pub(crate) fn inference(&self) -> &BTreeSet<String> {
        &self.shared.inference
    }

    pub(crate) fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        self.shared.plugins.feedback.clone()
    }

    pub(crate) fn training(&self) -> Option<Arc<dyn Training>> {
        self.shared.plugins.training.clone()
    }

    pub(crate) fn training_command(&self) -> &str {
        &self.shared.plugins.training_command
    }

    pub(crate) fn status(&self) -> &[(String, Arc<dyn Status>)] {
        &self.shared.plugins.status
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.shared.started.elapsed()
    }
}

impl Builder {
    /// Takes in events of `POST /feedback`.
    pub fn feedback(mut self, feedback: Arc<dyn Feedback>) -> Self {
        self.plugins.feedback = Some(feedback);
        self
    }

    /// Trains on `POST /train/{model}`.
    pub fn training(mut self, training: Arc<dyn Training>) -> Self {
        self.plugins.training = Some(training);
        self
    }

    /// What to run where there is no training here; `MODEL` in it is replaced by the model's name.
    pub fn training_command(mut self, command: &str) -> Self {
        command.clone_into(&mut self.plugins.training_command);
        self
    }

    /// Adds an entry to `GET /status`.
    pub fn status(mut self, name: &str, status: Arc<dyn Status>) -> Self {
        self.plugins.status.push((name.to_owned(), status));
        self
    }

    /// Shows the metrics of this registry as well; by default one of our own.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// How long a read of the state store may take before a ranking keeps its order; default one second.
    pub fn store_timeout(mut self, timeout: Duration) -> Self {
        self.store_timeout = timeout;
        self
    }

    /// The app. Nothing is loaded yet, and it is not ready.
    pub fn build(self) -> Result<App, Error> {
        let Self { config, store, loader, store_timeout, registry, plugins } = self;
        let metrics = Metrics::new(Models::ranking(&config.models), registry)?;
        let shared = Shared {
            state: Guarded::new(store, store_timeout),
            store_kind: store_kind(&config.state),
            models: Models::new(&config.models, &metrics),
            loader,
            metrics,
            limits: Limits { api: config.api.limits, ahead: config.core.ingest.max_ahead },
            gate: Gate::new(config.api.limits.max_concurrent_requests),
            pool: Pool::start()?,
            token: config.api.token,
            inference: config.inference.into_keys().collect(),
            phase: AtomicU8::new(Phase::Starting as u8),
            plugins,
            started: Instant::now(),
        };
        Ok(App { shared: Arc::new(shared) })
    }
}

/// The wall clock.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(since.as_millis() as i64)
}

fn store_kind(state: &rankwright_config::State) -> &'static str {
    match state {
        rankwright_config::State::Memory => "memory",
        rankwright_config::State::Redis(_) => "redis",
        rankwright_config::State::File(_) => "file",
    }
}
