//! The operator's own ports: health and metrics for the cluster, and the log's level for clients that can reach the pod's
//! loopback (`kubectl port-forward`).

use crate::logging::Level;
use crate::metrics::Metrics;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{get, put};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::TcpListener;
use tracing::info;

/// What the ports show.
#[derive(Clone)]
pub struct Shown {
    /// What is measured.
    pub metrics: Arc<Metrics>,
    /// Whether the API server has answered, and this operator leads or waits for its turn.
    pub ready: Arc<AtomicBool>,
}

/// Answers `/health`, `/ready` and `/metrics`.
///
/// # Errors
/// When the port cannot be opened.
pub async fn serve(port: u16, shown: Shown) -> std::io::Result<()> {
    let router = Router::new()
        .route("/health", get(|| async { "alive\n" }))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(shown);
    let listener = TcpListener::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).await;
    let listener = match listener {
        Ok(listener) => listener,
        // a machine without IPv6
        Err(_) => TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))).await?,
    };
    info!(address = %listener.local_addr()?, "health and metrics");
    axum::serve(listener, router).await
}

/// Answers `PUT /log-level` on loopback.
///
/// # Errors
/// When the port cannot be opened.
pub async fn serve_level(port: u16, level: Level) -> std::io::Result<()> {
    let router = Router::new().route("/log-level", put(set_level)).with_state(level);
    axum::serve(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?, router).await
}

async fn ready(State(shown): State<Shown>) -> impl IntoResponse {
    match shown.ready.load(Ordering::Relaxed) {
        true => (StatusCode::OK, "ready\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "starting\n"),
    }
}

async fn metrics(State(shown): State<Shown>) -> impl IntoResponse {
    match shown.metrics.render() {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn set_level(State(level): State<Level>, filter: String) -> impl IntoResponse {
    match level.set(&filter) {
        Ok(()) => {
            info!(filter = filter.trim(), "the log's level was changed");
            (StatusCode::OK, String::new())
        }
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error}\n")),
    }
}
