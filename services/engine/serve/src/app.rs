//! What all requests share, put together once.

mod builder;

pub use builder::{Builder, Error};

use crate::breaker::Guarded;
use crate::evaluation::Evaluations;
use crate::front::Front;
use crate::gate::{Arrivals, Gate, Room};
use crate::inference::Inference;
use crate::limits::Limits;
use crate::load::Loader;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::plugin::{Feedback, SetLog, Status, Training};
use crate::pool::Pool;
use crate::sample::Sample;
use crate::server::Connections;
use crate::versions::Known;
use parking_lot::Mutex;
use rankwright_config::{Config, Secret, api};
use rankwright_state::Store;
use rankwright_trace::Tracer;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

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
    connections: Arc<Connections>,
    gate: Gate,
    arrivals: Arrivals,
    arrived: Room,
    room: Room,
    pool: Pool,
    tracer: Tracer,
    token: Option<Secret>,
    /// What `GET /openapi.json` answers, made once.
    described: OnceLock<String>,
    origins: Arc<[String]>,
    page: Option<Page>,
    inference: Inference,
    phase: AtomicU8,
    /// Whether it is ready only when it serves no less than other servers do.
    gated: bool,
    /// Why it is not ready, though models and state are there.
    unready: Mutex<Option<String>>,
    plugins: Plugins,
    started: Instant,
}

/// The page for browsers.
pub(crate) struct Page {
    pub(crate) settings: api::Page,
    pub(crate) sample: Sample,
    pub(crate) front: Front,
    pub(crate) versions: Mutex<Known>,
    pub(crate) evaluations: Evaluations,
}

/// What a program brought along.
struct Plugins {
    feedback: Option<Arc<dyn Feedback>>,
    training: Option<Arc<dyn Training>>,
    training_command: String,
    status: Vec<(String, Arc<dyn Status>)>,
    set_log: SetLog,
}

/// How far a service is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Phase {
    /// Models and state are not there yet.
    Starting,
    /// It may be given requests.
    Ready,
    /// It finishes what runs, and wants no more.
    Draining,
}

impl App {
    /// Begins an app of this configuration over this state, with versions of models from this loader.
    pub fn builder(config: &Config, store: Arc<dyn Store>, loader: Arc<dyn Loader>) -> Builder {
        Builder::new(config, store, loader)
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

    pub(crate) fn is_gated(&self) -> bool {
        self.shared.gated
    }

    /// Why it is not ready, though models and state are there.
    pub fn unready(&self) -> Option<String> {
        self.shared.unready.lock().clone()
    }

    pub(crate) fn explain_unready(&self, reason: Option<String>) {
        *self.shared.unready.lock() = reason;
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

    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.shared.connections
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.shared.gate
    }

    pub(crate) fn arrivals(&self) -> &Arrivals {
        &self.shared.arrivals
    }

    /// Room for bodies that arrive.
    pub(crate) fn arrived(&self) -> &Room {
        &self.shared.arrived
    }

    /// Room for what bodies unpack.
    pub(crate) fn room(&self) -> &Room {
        &self.shared.room
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.shared.pool
    }

    pub(crate) fn tracer(&self) -> &Tracer {
        &self.shared.tracer
    }

    /// The description of the interface, made by the first call.
    pub(crate) fn described(&self, make: impl FnOnce() -> String) -> &str {
        self.shared.described.get_or_init(make)
    }

    pub(crate) fn token(&self) -> Option<&Secret> {
        self.shared.token.as_ref()
    }

    /// Origins whose pages may use it, beside its own.
    pub(crate) fn origins(&self) -> Arc<[String]> {
        self.shared.origins.clone()
    }

    /// The page for browsers, where it is on.
    pub(crate) fn page(&self) -> Option<&Page> {
        self.shared.page.as_ref()
    }

    pub(crate) fn inference(&self) -> &Inference {
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

    /// Logs by this filter from now on; the error says why it is none.
    pub(crate) fn set_log(&self, filter: &str) -> Result<(), String> {
        (self.shared.plugins.set_log)(filter)
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.shared.started.elapsed()
    }
}
