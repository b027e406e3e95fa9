//! Answers of a program that waits for its state store, or imports and trains first: it is alive, not ready, and says why. The
//! page for browsers already works, and shows this.

use crate::http::failure::{Code, Failure};
use crate::http::{about, access, json, origin, page, probes};
use crate::plugin::Status;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use parking_lot::Mutex;
use rankwright_config::Api;
use serde_json::{Map, Value, json as value};
use std::sync::Arc;
use std::time::Instant;

/// A program that does not answer requests yet.
#[derive(Clone)]
pub struct Waiting {
    since: Instant,
    reason: Arc<Mutex<Reason>>,
    page: Option<Page>,
}

/// The page for browsers.
#[derive(Clone)]
struct Page {
    files: Router,
    /// What `GET /page` answers.
    told: Vec<u8>,
}

/// What the store of a state is called.
pub const STATE: &str = "the state store";
/// What all stores are called where it is not known which one lets a program wait.
pub const STORES: &str = "its stores";

/// Why it does not answer yet.
enum Reason {
    Store {
        store: &'static str,
        problem: String,
    },
    /// It imports and trains, and tells of that.
    Work(Arc<dyn Status>),
}

/// All that a program with the page answers.
const PATHS: [&str; 6] = ["/", "/health", "/ready", "/status", "/page", "/openapi.json"];

/// What [`Reason::Work`] is called.
const WORK: &str = "its imports and trainings";

impl Waiting {
    /// For a store, such as [`STATE`], which is not there for a reason.
    pub fn new(store: &'static str, problem: String) -> Self {
        Self::because(Reason::Store { store, problem })
    }

    /// For imports and trainings, which this part of `/status` tells of.
    pub fn at_work(work: Arc<dyn Status>) -> Self {
        Self::because(Reason::Work(work))
    }

    fn because(reason: Reason) -> Self {
        Self { since: Instant::now(), reason: Arc::new(Mutex::new(reason)), page: None }
    }

    /// With the page for browsers: its files, and the settings.
    #[must_use]
    pub fn with_page(self, files: Router, api: &Api) -> Self {
        Self { page: Some(Page { files, told: page::told(&api.page, api.token.is_some(), None) }), ..self }
    }

    /// Takes note of which store is not there, and why.
    pub fn tell(&self, store: &'static str, problem: String) {
        *self.reason.lock() = Reason::Store { store, problem };
    }

    /// Its paths: those of probes, `/status` with the store's `problem` or the `work`, and the page. All else is answered with 503, and
    /// pages of other origins than these with 403.
    pub fn router(&self, origins: &[String]) -> Router {
        let router = match &self.page {
            Some(_) => Router::new()
                .route("/", get(page_of))
                .route(about::ASSETS, get(page_of))
                .route("/page", get(told))
                .route("/openapi.json", get(described)),
            None => Router::new(),
        };
        router
            .route("/health", get(probes::health))
            .route("/ready", get(ready))
            .route("/status", get(status))
            .fallback(unavailable)
            .layer(axum::middleware::from_fn_with_state(Arc::<[String]>::from(origins), origin::check))
            .layer(axum::middleware::from_fn(access::log))
            .with_state(self.clone())
    }
}

async fn ready(State(waiting): State<Waiting>) -> Response {
    let status = value!({"status": format!("waiting for {}", waiting.reason.lock().name())});
    (StatusCode::SERVICE_UNAVAILABLE, json(status.to_string().into_bytes())).into_response()
}

async fn status(State(waiting): State<Waiting>) -> Response {
    let mut status = value!({
        "version": env!("CARGO_PKG_VERSION"),
        "phase": "waiting",
        "uptimeSeconds": waiting.since.elapsed().as_secs(),
        "models": {},
    });
    let reason = waiting.reason.lock();
    match &*reason {
        Reason::Store { store, problem } => {
            let kind = match *store {
                STATE => "redis",
                STORES => "unknown",
                _ => "click-throughs",
            };
            status["store"] = value!({"type": kind, "answers": false, "problem": problem});
        }
        Reason::Work(work) => {
            status["unready"] = value!("it imports and trains before it answers requests");
            status["store"] = value!({"type": "unknown", "answers": true, "problem": null});
            status["work"] = work.status();
        }
    }
    json(status.to_string().into_bytes())
}

/// The page, for browsers, and what it loads.
async fn page_of(State(waiting): State<Waiting>, request: Request) -> Response {
    let is_file = request.uri().path() != "/";
    match &waiting.page {
        Some(page) if is_file || about::wants_page(request.headers()) => about::of(&page.files, request).await,
        _ => unavailable(State(waiting)).await.into_response(),
    }
}

async fn told(State(waiting): State<Waiting>) -> Response {
    json(waiting.page.map(|page| page.told).unwrap_or_default())
}

/// What there is so far, for the page: with these paths it has no view but its overview.
async fn described() -> Response {
    let path = |path: &&str| ((*path).to_owned(), value!({"get": {"responses": {}}}));
    let paths: Map<String, Value> = PATHS.iter().map(path).collect();
    let info = value!({"title": "Rankwright", "version": env!("CARGO_PKG_VERSION")});
    json(value!({"openapi": "3.1.0", "info": info, "paths": paths}).to_string().into_bytes())
}

async fn unavailable(State(waiting): State<Waiting>) -> Failure {
    Failure::new(Code::Unavailable, format!("still waiting for {}, see /status", waiting.reason.lock().name()))
}

impl Reason {
    fn name(&self) -> &'static str {
        match self {
            Self::Store { store, .. } => store,
            Self::Work(_) => WORK,
        }
    }
}
