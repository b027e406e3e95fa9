//! `GET /status`: everything an operator asks first.

use crate::app::{App, Phase};
use crate::http::json;
use crate::http::openapi::{Operation, Schemas};
use crate::inference::Told;
use crate::models::{Current, Slot, Version};
use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How a service is. Programs add parts of their own, such as `ingest` and `size`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    version: &'static str,
    phase: Phase,
    uptime_seconds: u64,
    /// By name.
    models: BTreeMap<&'a str, Model>,
    /// Text models by name.
    inference: BTreeMap<&'a str, Told>,
    store: Store,
    #[serde(flatten)]
    parts: BTreeMap<&'a str, Value>,
}

/// A model, and what of it answers.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ModelStatus")]
struct Model {
    /// As the configuration says.
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    current: Loaded,
}

#[derive(Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "lowercase")]
enum Loaded {
    Loaded(Version),
    Missing { reason: String },
}

/// The state store.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StoreStatus")]
struct Store {
    #[serde(rename = "type")]
    kind: &'static str,
    /// Whether what it holds outlives the process.
    durable: bool,
    answers: bool,
    problem: Option<String>,
    /// Keys that hold values of features.
    entities: Option<u64>,
    /// On disk.
    bytes: Option<u64>,
    cache: Option<Cache>,
}

/// What was asked of a cache.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CacheStatus")]
struct Cache {
    hits: u64,
    misses: u64,
}

pub(super) async fn get(State(app): State<App>) -> Response {
    let status = Status {
        version: env!("CARGO_PKG_VERSION"),
        phase: app.phase(),
        uptime_seconds: app.uptime().as_secs(),
        models: app.models().all().map(|slot| (slot.name(), Model::of(slot))).collect(),
        inference: app.inference().told(),
        store: store(&app).await,
        parts: app.status().iter().map(|(name, part)| (name.as_str(), part.status())).collect(),
    };
    // its keys are strings, and its numbers finite
    json(serde_json::to_vec(&status).unwrap_or_default())
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    Operation::new("status", "service", "Store, models with version and metrics, text models, and counters of ingest")
        .answers("How the service is", schemas.answered::<Status<'_>>())
}

impl Model {
    fn of(slot: &Slot) -> Self {
        let current = match slot.current() {
            Current::Missing(reason) => Loaded::Missing { reason: reason.to_string() },
            Current::Loaded(loaded) => Loaded::Loaded(loaded.version.clone()),
        };
        Self { kind: slot.kind(), current }
    }
}

/// A store that takes longer does not answer.
const ANSWER_TIME: Duration = Duration::from_millis(1500);

/// One that takes longer to tell its size is shown without it.
const STATS_TIME: Duration = Duration::from_millis(500);

async fn store(app: &App) -> Store {
    let state = app.state();
    let stats = tokio::time::timeout(STATS_TIME, state.store().stats());
    let (answers, stats) = tokio::join!(state.answers(ANSWER_TIME), stats);
    let stats = stats.ok().and_then(Result::ok);
    let cache = state.store().cache_use();
    Store {
        kind: app.store_kind(),
        durable: state.store().durable(),
        answers,
        problem: state.store().trouble(),
        entities: stats.map(|stats| stats.entities),
        bytes: stats.and_then(|stats| stats.bytes),
        cache: cache.map(|used| Cache { hits: used.hits, misses: used.misses }),
    }
}
