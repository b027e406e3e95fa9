//! Putting an app together.

use super::{App, Page, Phase, Plugins, Shared};
use crate::breaker::Guarded;
use crate::evaluation::Evaluations;
use crate::front::Front;
use crate::gate::{Arrivals, Gate, Room};
use crate::inference::{Inference, TextModel};
use crate::limits::Limits;
use crate::load::Loader;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::plugin::{Feedback, SetLog, Status, Training};
use crate::pool::Pool;
use crate::sample::Sample;
use crate::server::Connections;
use parking_lot::Mutex;
use prometheus::Registry;
use rankwright_config::Config;
use rankwright_state::{Slot, Store};
use rankwright_trace::Tracer;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What one read of the state store may take, unless the builder is told otherwise.
const STORE_TIMEOUT: Duration = Duration::from_secs(1);

/// Puts an [`App`] together.
pub struct Builder {
    config: Config,
    store: Arc<dyn Store>,
    loader: Arc<dyn Loader>,
    store_timeout: Duration,
    gated: bool,
    registry: Registry,
    inference: BTreeMap<String, Arc<dyn TextModel>>,
    seen: BTreeMap<String, Slot>,
    tracer: Tracer,
    front: Option<Front>,
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

impl Builder {
    pub(super) fn new(config: &Config, store: Arc<dyn Store>, loader: Arc<dyn Loader>) -> Self {
        let plugins = Plugins {
            feedback: None,
            training: None,
            training_command: "training-job --config CONFIG --model MODEL".to_owned(),
            status: Vec::new(),
            set_log: |_| Err("this program has no log".to_owned()),
        };
        let (config, registry) = (config.clone(), Registry::new());
        let (inference, seen, tracer, front) = (BTreeMap::new(), BTreeMap::new(), Tracer::default(), None);
        let (store_timeout, gated) = (STORE_TIMEOUT, false);
        Self { config, store, loader, store_timeout, gated, registry, inference, seen, tracer, front, plugins }
    }

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

    /// Serves a language model by itself, under this name.
    pub fn inference(mut self, name: &str, model: Arc<dyn TextModel>) -> Self {
        self.inference.insert(name.to_owned(), model);
        self
    }

    /// Where the state keeps what visitors took, which this model leaves out.
    pub fn seen(mut self, model: &str, slot: Slot) -> Self {
        self.seen.insert(model.to_owned(), slot);
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

    /// Lets `PUT /log-level` choose which lines are logged.
    pub fn log(mut self, set: SetLog) -> Self {
        self.plugins.set_log = set;
        self
    }

    /// Records requests; by default none.
    pub fn tracer(mut self, tracer: Tracer) -> Self {
        self.tracer = tracer;
        self
    }

    /// Has the page for browsers, with the settings of `api.page`; whether that is wanted is for the program to know.
    pub fn page(mut self, front: Front) -> Self {
        self.front = Some(front);
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

    /// Has it get ready only when it serves no less than other servers do, and what is pinned.
    pub fn gated(mut self, gated: bool) -> Self {
        self.gated = gated;
        self
    }

    /// The app. Nothing is loaded yet, and it is not ready.
    pub fn build(self) -> Result<App, Error> {
        let Self { config, store, loader, store_timeout, gated, registry, inference, seen, tracer, front, plugins } =
            self;
        let metrics = Metrics::new(&config.models, inference.keys().map(String::as_str), registry)?;
        let gate = Gate::new(config.api.limits.max_concurrent_requests).shown_by(metrics.running());
        let connections = Connections::new(config.api.limits.max_connections, metrics.connections().clone());
        let page = front.map(|front| page(&config, front));
        let shared = Shared {
            state: Guarded::new(store, store_timeout),
            store_kind: store_kind(&config.state),
            models: Models::new(&config.models, &metrics).with_seen(&seen),
            loader,
            inference: Inference::new(inference, &metrics),
            metrics,
            limits: Limits { api: config.api.limits, ahead: config.core.ingest.max_ahead },
            connections,
            gate,
            arrivals: Arrivals::before(config.api.limits.max_concurrent_requests),
            arrived: Room::for_arrivals(config.api.limits.max_body_bytes),
            room: Room::new(config.api.limits.max_body_bytes),
            pool: Pool::start()?,
            tracer,
            token: config.api.token,
            described: OnceLock::new(),
            origins: config.api.allowed_origins.into(),
            page,
            phase: AtomicU8::new(Phase::Starting as u8),
            gated,
            unready: Mutex::default(),
            plugins,
            started: Instant::now(),
        };
        Ok(App { shared: Arc::new(shared) })
    }
}

fn page(config: &Config, front: Front) -> Page {
    let settings = config.api.page.clone();
    let rankers = config.models.iter().filter(|(_, model)| !model.recommends()).map(|(name, _)| name.as_str());
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let sample = Sample::new(settings.sample, rankers, started.as_millis() as u64);
    Page { settings, sample, front, versions: Mutex::default(), evaluations: Evaluations::default() }
}

fn store_kind(state: &rankwright_config::State) -> &'static str {
    match state {
        rankwright_config::State::Memory => "memory",
        rankwright_config::State::Redis(_) => "redis",
        rankwright_config::State::File(_) => "file",
    }
}
