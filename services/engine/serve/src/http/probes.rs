//! How the service is: `GET /health`, `/ready`, `/status`, `/metrics`.
//!
//! `/health` answers as long as the process does. `/ready` tells a load balancer to send requests: when models and
//! state are there, until draining begins. A store that fails later does not take it back: all replicas would go at
//! once, and rankings still have their incoming order. A program that ranks nothing says as well when a store refuses what it has
//! to bring there.

use crate::app::{App, Phase};
use crate::http::failure::Failure;
use crate::http::json;
use crate::models::{Current, Slot};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json as value};
use std::time::Duration;

/// The process is alive.
pub(super) async fn health() -> Response {
    json(br#"{"status":"ok"}"#.to_vec())
}

/// Whether requests may come.
pub(super) async fn ready(State(app): State<App>) -> Response {
    let refused =
        app.feedback().filter(|_| app.models().all().next().is_none()).and_then(|feedback| feedback.refused());
    if let (Phase::Ready, Some(reason)) = (app.phase(), refused) {
        let text = value!({"status": "refused", "reason": reason}).to_string();
        return (StatusCode::SERVICE_UNAVAILABLE, json(text.into_bytes())).into_response();
    }
    if let (Phase::Starting, Some(reason)) = (app.phase(), app.unready()) {
        let text = value!({"status": "starting", "reason": reason}).to_string();
        return (StatusCode::SERVICE_UNAVAILABLE, json(text.into_bytes())).into_response();
    }
    let (status, text) = match app.phase() {
        Phase::Starting => (StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"starting"}"#),
        Phase::Ready => (StatusCode::OK, r#"{"status":"ready"}"#),
        Phase::Draining => (StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"draining"}"#),
    };
    (status, json(text.as_bytes().to_vec())).into_response()
}

/// The text format of Prometheus.
pub(super) async fn metrics(State(app): State<App>) -> Result<Response, Failure> {
    let text = app.metrics().render().map_err(|error| Failure::internal(error.to_string()))?;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// Everything an operator asks first.
pub(super) async fn status(State(app): State<App>) -> Response {
    let mut status = Map::new();
    status.insert("version".into(), env!("CARGO_PKG_VERSION").into());
    status.insert("phase".into(), phase(app.phase()).into());
    if let Some(reason) = app.unready() {
        status.insert("unready".into(), reason.into());
    }
    status.insert("uptimeSeconds".into(), app.uptime().as_secs().into());
    status.insert("models".into(), models(&app));
    status.insert("inference".into(), serde_json::to_value(app.inference().told()).unwrap_or_default());
    status.insert("store".into(), store(&app).await);
    for (name, provider) in app.status() {
        status.insert(name.clone(), provider.status());
    }
    json(Value::Object(status).to_string().into_bytes())
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "starting",
        Phase::Ready => "ready",
        Phase::Draining => "draining",
    }
}

fn models(app: &App) -> Value {
    app.models().all().map(|slot| (slot.name().to_owned(), model(slot))).collect()
}

fn model(slot: &Slot) -> Value {
    let mut entry = current(slot);
    let registry = slot.registry();
    if let Value::Object(entry) = &mut entry {
        entry.extend(registry.versions.map(|versions| ("versions".to_owned(), versions.iter().cloned().collect())));
        entry.extend(slot.is_lost().then(|| ("lost".to_owned(), true.into())));
        entry.extend(registry.refused.map(|refused| ("refused".to_owned(), value!(refused))));
    }
    entry
}

fn current(slot: &Slot) -> Value {
    match slot.current() {
        Current::Missing(reason) => value!({"type": slot.kind(), "state": "missing", "reason": &*reason}),
        Current::Loaded(loaded) => {
            let mut entry = value!({"type": slot.kind(), "state": "loaded"});
            if let (Value::Object(entry), Ok(Value::Object(version))) =
                (&mut entry, serde_json::to_value(&loaded.version))
            {
                entry.extend(version);
            }
            entry
        }
    }
}

/// A store that takes longer does not answer.
const ANSWER_TIME: Duration = Duration::from_millis(1500);

/// One that takes longer to tell its size is shown without it.
const STATS_TIME: Duration = Duration::from_millis(500);

async fn store(app: &App) -> Value {
    let state = app.state();
    let stats = tokio::time::timeout(STATS_TIME, state.store().stats());
    let (answers, stats) = tokio::join!(state.answers(ANSWER_TIME), stats);
    let stats = stats.ok().and_then(Result::ok);
    let mut told = value!({
        "type": app.store_kind(),
        "durable": state.store().durable(),
        "answers": answers,
        "problem": state.store().trouble(),
        "entities": stats.map(|stats| stats.entities),
        "bytes": stats.and_then(|stats| stats.bytes),
        "cache": state.store().cache_use(),
    });
    if state.store().shared() {
        told["id"] = value!(state.store().id());
        told["generation"] = state.store().live_generation().into();
        told["emptied"] = state.store().emptied().into();
    }
    told
}
