//! `GET /status`: everything an operator asks first.

use crate::app::{App, Phase};
use crate::http::openapi::{Operation, Schemas};
use crate::http::{json, peer};
use crate::inference::Told;
use crate::models::{Current, Purpose, Refused, Registry, Slot, Version};
use crate::plugin;
use axum::extract::{Request, State};
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
    /// Why it is not ready, where it waits for something.
    #[serde(skip_serializing_if = "Option::is_none")]
    unready: Option<String>,
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
    purpose: Purpose,
    #[serde(flatten)]
    current: Loaded,
    /// Versions that there are, from the oldest on.
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<Vec<String>>,
    /// A version answers that is in memory alone: where versions are kept, none is left.
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(extend("const" = true))]
    lost: bool,
    /// A version that should answer, and does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Refused>,
}

fn is_false(flag: &bool) -> bool {
    !flag
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
    #[serde(flatten)]
    shared: Option<Shared>,
}

/// What many processes have in common.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SharedStoreStatus")]
struct Shared {
    /// Of the state: another one means that it was emptied and begun again.
    id: Option<String>,
    /// Which import is live.
    generation: u32,
    /// Whether it was emptied while this process ran.
    emptied: bool,
}

/// What was asked of a cache.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CacheStatus")]
struct Cache {
    hits: u64,
    misses: u64,
}

pub(super) async fn get(State(app): State<App>, request: Request) -> Response {
    let sees_ids = peer::check(&app, &request.into_parts().0).is_ok();
    let told = |part: &dyn plugin::Status| if sees_ids { part.status() } else { part.without_ids() };
    let status = Status {
        version: env!("CARGO_PKG_VERSION"),
        phase: app.phase(),
        unready: app.unready(),
        uptime_seconds: app.uptime().as_secs(),
        models: app.models().all().map(|slot| (slot.name(), Model::of(slot))).collect(),
        inference: app.inference().told(),
        store: store(&app).await,
        parts: app.status().iter().map(|(name, part)| (name.as_str(), told(&**part))).collect(),
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
        let Registry { versions, refused } = slot.registry();
        let versions = versions.map(|versions| versions.to_vec());
        Self { kind: slot.kind(), purpose: slot.purpose(), current, versions, lost: slot.is_lost(), refused }
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
        shared: state.store().shared().then(|| Shared {
            id: state.store().id(),
            generation: state.store().live_generation(),
            emptied: state.store().emptied(),
        }),
    }
}
