//! What a program answers that waits for its state store: it is alive, not ready, and says what it waits for.

use crate::http::failure::Failure;
use crate::http::{access, json, probes};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use parking_lot::Mutex;
use serde_json::json as value;
use std::sync::Arc;
use std::time::Instant;

/// A program that waits for its state store.
#[derive(Clone)]
pub struct Waiting {
    kind: &'static str,
    since: Instant,
    problem: Arc<Mutex<String>>,
}

impl Waiting {
    /// For a store of this kind, which is not there because of `problem`.
    pub fn new(kind: &'static str, problem: String) -> Self {
        Self { kind, since: Instant::now(), problem: Arc::new(Mutex::new(problem)) }
    }

    /// Takes note of why the store is not there.
    pub fn tell(&self, problem: String) {
        *self.problem.lock() = problem;
    }

    /// Its paths: those of probes, and `/status` with the store's `problem`. All else is answered with 503.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/health", get(probes::health))
            .route("/ready", get(ready))
            .route("/status", get(status))
            .fallback(unavailable)
            .layer(axum::middleware::from_fn(access::log))
            .with_state(self.clone())
    }
}

async fn ready() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, json(br#"{"status":"waiting for the state store"}"#.to_vec())).into_response()
}

async fn status(State(waiting): State<Waiting>) -> Response {
    let status = value!({
        "version": env!("CARGO_PKG_VERSION"),
        "phase": "waiting",
        "uptimeSeconds": waiting.since.elapsed().as_secs(),
        "models": {},
        "store": {"type": waiting.kind, "answers": false, "problem": *waiting.problem.lock()},
    });
    json(status.to_string().into_bytes())
}

async fn unavailable() -> Failure {
    Failure::unavailable("the state store does not answer yet, see /status")
}
