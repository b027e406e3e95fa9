//! The HTTP interface: paths, and what a request must be to get past the door.
//!
//! Handlers translate and nothing more. Every answer that is not a success has the body
//! `{"error": {"code", "message", "path"}}`.

mod access;
mod admin;
mod body;
mod embeddings;
mod encoding;
mod failure;
mod feedback;
mod inference;
mod origin;
mod probes;
mod rank;
mod recommend;
mod rerank;
mod train;
mod unread;
mod waiting;

use crate::app::App;
use axum::Router;
use axum::extract::Request;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use failure::Failure;
pub(crate) use failure::unreadable;
use serde_json::json as value;
pub use waiting::{STATE, STORES, Waiting};

type Name = Result<axum::extract::Path<String>, PathRejection>;

/// All paths of a service.
pub fn router(app: App) -> Router {
    let paths = [
        ("POST", "/rank/{model}", post(rank::post)),
        ("POST", "/feedback", post(feedback::post)),
        ("POST", "/recommend/{model}", post(recommend::post)),
        ("POST", "/train/{model}", post(train::post)),
        ("POST", "/inference/encoder/{name}", post(inference::encoder)),
        ("POST", "/inference/cross/{name}", post(inference::cross)),
        ("POST", "/v1/rerank", post(rerank::v1)),
        ("POST", "/v2/rerank", post(rerank::v2)),
        ("POST", "/v1/embeddings", post(embeddings::post)),
        ("GET", "/health", get(probes::health)),
        ("GET", "/ready", get(probes::ready)),
        ("GET", "/status", get(probes::status)),
        ("GET", "/metrics", get(probes::metrics)),
    ];
    let about = about(paths.iter().map(|(method, path, _)| (*method, *path)));
    let router = paths.into_iter().fold(Router::new(), |router, (_, path, answer)| router.route(path, answer));
    router
        .route("/", get(move || async move { json(about.into_bytes()) }))
        .fallback(no_such_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::from_fn_with_state(app.clone(), origin::check))
        .layer(axum::middleware::from_fn(access::log))
        .with_state(app)
}

/// What the bare address says: what this is, and which paths there are.
fn about<'a>(paths: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let paths: Vec<_> = paths.map(|(method, path)| value!({"method": method, "path": path})).collect();
    value!({"name": "rankwright", "version": env!("CARGO_PKG_VERSION"), "paths": paths}).to_string()
}

async fn no_such_path(uri: Uri) -> Failure {
    let path: String = uri.path().chars().take(200).collect();
    Failure::not_found(format!("there is nothing at {path}"))
}

async fn wrong_method(method: Method, request: Request) -> Failure {
    let path: String = request.uri().path().chars().take(200).collect();
    Failure::wrong_method(format!("{path} does not take {method}"))
}

/// The last part of the path.
fn name(path: Name) -> Result<String, Failure> {
    path.map(|axum::extract::Path(name)| name).map_err(|error| Failure::invalid(error.body_text(), ""))
}

/// An answer whose body is JSON text.
fn json(text: Vec<u8>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
