//! The HTTP interface: paths, and what a request must be to get past the door.
//!
//! Handlers translate and nothing more. Every answer that is not a success has the body
//! `{"error": {"code", "message", "path"}}`.

mod access;
mod admin;
mod body;
mod failure;
mod feedback;
mod inference;
mod probes;
mod rank;
mod recommend;
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
pub use waiting::{STATE, STORES, Waiting};

type Name = Result<axum::extract::Path<String>, PathRejection>;

/// All paths of a service.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/rank/{model}", post(rank::post))
        .route("/feedback", post(feedback::post))
        .route("/recommend/{model}", post(recommend::post))
        .route("/train/{model}", post(train::post))
        .route("/inference/encoder/{name}", post(inference::post))
        .route("/inference/cross/{name}", post(inference::post))
        .route("/health", get(probes::health))
        .route("/ready", get(probes::ready))
        .route("/status", get(probes::status))
        .route("/metrics", get(probes::metrics))
        .fallback(no_such_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::from_fn(unread::close))
        .layer(axum::middleware::from_fn(access::log))
        .with_state(app)
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
