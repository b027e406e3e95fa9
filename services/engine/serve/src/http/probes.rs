//! Whether the service works: `GET /health`, `/ready`, `/metrics`.
//!
//! `/health` answers as long as the process does. `/ready` tells a load balancer to send requests: when models and
//! state are there, until draining begins. A store that fails later does not take it back: all replicas would go at
//! once, and rankings still have their incoming order. A program that ranks nothing says as well when a store refuses what it has
//! to bring there.

use crate::app::{App, Phase};
use crate::http::failure::{Code, Failure};
use crate::http::json;
use crate::http::openapi::{Operation, Schemas};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json as value};

/// The process is alive.
pub(super) async fn health() -> Response {
    json(br#"{"status":"ok"}"#.to_vec())
}

pub(super) fn health_described(_: &mut Schemas<'_>) -> Operation {
    Operation::new("health", "service", "Answers while the process lives").answers("It lives", said(&["ok"]))
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

pub(super) fn ready_described(_: &mut Schemas<'_>) -> Operation {
    let mut refused = said(&[]);
    refused["properties"]["reason"] = value!({"type": "string"});
    Operation::new("ready", "service", "Whether a load balancer may send requests")
        .answers("Send requests", said(&["ready"]))
        .answers_as(503, "Send none: the service starts, drains, or waits for a store", "application/json", refused)
}

/// A body that says how it is, in one of these words; in any, where there are none.
fn said(words: &[&str]) -> Value {
    let status = if words.is_empty() { value!({"type": "string"}) } else { value!({"enum": words}) };
    value!({"type": "object", "properties": {"status": status}, "required": ["status"]})
}

/// The text format of Prometheus.
pub(super) async fn metrics(State(app): State<App>) -> Result<Response, Failure> {
    let text = app.metrics().render().map_err(|error| Failure::internal(error.to_string()))?;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

pub(super) fn metrics_described(_: &mut Schemas<'_>) -> Operation {
    Operation::new("metrics", "service", "Metrics in the text format of Prometheus")
        .answers_as(200, "All metrics", "text/plain", value!({"type": "string"}))
        .fails(&[Code::Internal])
}
