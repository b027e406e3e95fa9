//! What a program answers that waits for its state store: it is alive, not ready, and says what it waits for.

use crate::http::failure::{Code, Failure};
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
    since: Instant,
    problem: Arc<Mutex<Problem>>,
}

/// What the store of a state is called.
pub const STATE: &str = "the state store";
/// What all stores are called where it is not known which one lets a program wait.
pub const STORES: &str = "its stores";

/// What is waited for.
struct Problem {
    store: &'static str,
    reason: String,
}

impl Waiting {
    /// For a store, such as [`STATE`], which is not there for a reason.
    pub fn new(store: &'static str, reason: String) -> Self {
        Self { since: Instant::now(), problem: Arc::new(Mutex::new(Problem { store, reason })) }
    }

    /// Takes note of which store is not there, and why.
    pub fn tell(&self, store: &'static str, reason: String) {
        *self.problem.lock() = Problem { store, reason };
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

async fn ready(State(waiting): State<Waiting>) -> Response {
    let status = value!({"status": format!("waiting for {}", waiting.problem.lock().store)});
    (StatusCode::SERVICE_UNAVAILABLE, json(status.to_string().into_bytes())).into_response()
}

async fn status(State(waiting): State<Waiting>) -> Response {
    let problem = waiting.problem.lock();
    let kind = match problem.store {
        STATE => "redis",
        STORES => "unknown",
        _ => "click-throughs",
    };
    let status = value!({
        "version": env!("CARGO_PKG_VERSION"),
        "phase": "waiting",
        "uptimeSeconds": waiting.since.elapsed().as_secs(),
        "models": {},
        "store": {"type": kind, "answers": false, "problem": problem.reason},
    });
    json(status.to_string().into_bytes())
}

async fn unavailable(State(waiting): State<Waiting>) -> Failure {
    Failure::new(Code::Unavailable, format!("still waiting for {}, see /status", waiting.problem.lock().store))
}
