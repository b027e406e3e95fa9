//! Logs a line for each request, only at level debug: a service may answer thousands of requests a second.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use std::time::Instant;

/// Logs a request when it is answered.
pub(super) async fn log(request: Request, next: Next) -> Response {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return next.run(request).await;
    }
    let began = Instant::now();
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let response = next.run(request).await;
    let micros = began.elapsed().as_micros() as u64;
    tracing::debug!(%method, path = uri.path(), status = response.status().as_u16(), micros, "request");
    response
}
