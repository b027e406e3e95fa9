//! The HTTP interface: paths, and what a request must be to get past the door.
//!
//! Handlers translate and nothing more. Every answer that is not a success has the body
//! `{"error": {"code", "message", "path"}}`.

mod about;
mod access;
mod admin;
mod body;
mod configuration;
mod embeddings;
mod encoding;
mod endpoint;
mod evaluation;
mod failure;
mod features;
mod feedback;
mod forget;
mod inference;
mod log_level;
mod openapi;
mod origin;
mod page;
mod peer;
mod probes;
mod rank;
mod recommend;
mod requests;
mod rerank;
mod status;
mod stored;
mod traced;
mod train;
mod unread;
mod versions;
mod waiting;

use crate::app::App;
use axum::Router;
use axum::extract::Request;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use endpoint::Endpoint;
pub(crate) use failure::unreadable;
use failure::{Code, Failure};
pub use peer::Peer;
pub use waiting::{STATE, STORES, Waiting};

type Name = Result<axum::extract::Path<String>, PathRejection>;

/// All paths of a service. A new one adds its handler here, with the function that describes it.
fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::post("/rank/{model}", rank::post, rank::described),
        Endpoint::post("/feedback", feedback::post, feedback::described),
        Endpoint::post("/recommend/{model}", recommend::post, recommend::described),
        Endpoint::post("/train/{model}", train::post, train::described),
        Endpoint::post("/inference/encoder/{name}", inference::encoder, inference::encoder_described),
        Endpoint::post("/inference/cross/{name}", inference::cross, inference::cross_described),
        Endpoint::post("/v1/rerank", rerank::v1, rerank::v1_described),
        Endpoint::post("/v2/rerank", rerank::v2, rerank::v2_described),
        Endpoint::post("/v1/embeddings", embeddings::post, embeddings::described),
        Endpoint::get("/", about::get, about::described),
        Endpoint::get("/health", probes::health, probes::health_described),
        Endpoint::get("/ready", probes::ready, probes::ready_described),
        Endpoint::get("/status", status::get, status::described),
        Endpoint::get("/metrics", probes::metrics, probes::metrics_described),
        Endpoint::put("/log-level", log_level::put, log_level::described),
        Endpoint::get("/page", page::get, page::described),
        Endpoint::get("/requests", requests::list, requests::list_described),
        Endpoint::post("/requests/{number}/rank/{model}", requests::rank, requests::rank_described),
        Endpoint::get("/items", stored::items, stored::items_described),
        Endpoint::get("/items/{id}", stored::item, stored::item_described),
        Endpoint::get("/users/{id}", stored::user, stored::user_described),
        Endpoint::delete("/items/{id}", forget::item, forget::item_described),
        Endpoint::delete("/users/{id}", forget::user, forget::user_described),
        Endpoint::get("/configuration", configuration::get, configuration::described),
        Endpoint::get("/evaluation", evaluation::get, evaluation::get_described),
        Endpoint::post("/evaluation", evaluation::post, evaluation::post_described),
        Endpoint::get("/models", versions::list, versions::list_described),
        Endpoint::get("/models/{name}/features", features::get, features::described),
        Endpoint::post("/models/{name}/promote", versions::promote, versions::promote_described),
        Endpoint::post("/models/{name}/rollback", versions::roll_back, versions::roll_back_described),
        Endpoint::get("/openapi.json", openapi::get, openapi::described),
    ]
}

/// The interface of a service.
pub fn router(app: App) -> Router {
    let route = |router: Router<App>, endpoint: Endpoint| router.route(endpoint.path, endpoint.answer);
    let routes = endpoints().into_iter().fold(Router::new(), route);
    let routes = if app.page().is_some() { routes.route(about::ASSETS, get(about::asset)) } else { routes };
    let router = routes
        .fallback(no_such_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::from_fn_with_state(app.origins(), origin::check))
        .layer(axum::middleware::from_fn(access::log));
    let router = match app.tracer().is_on() {
        true => router.layer(axum::middleware::from_fn_with_state(app.clone(), traced::record)),
        false => router,
    };
    router.with_state(app)
}

async fn no_such_path(uri: Uri) -> Failure {
    let path: String = uri.path().chars().take(200).collect();
    Failure::new(Code::NotFound, format!("there is nothing at {path}"))
}

async fn wrong_method(method: Method, request: Request) -> Failure {
    let path: String = request.uri().path().chars().take(200).collect();
    Failure::new(Code::MethodNotAllowed, format!("{path} does not take {method}"))
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
