//! A span for each request that does work: those of `POST`. Probes and pages are left out.

use crate::app::App;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::Response;
use rankwright_trace::{Kind, Parent, Span};
use std::borrow::Cow;

/// The header that names the span of the program that sends a request.
const TRACEPARENT: &str = "traceparent";
/// What routes have where paths name items and visitors, of which spans hold no ids. A path without a route may name anything.
const ID: &str = "{id}";
/// No more signs of a path are kept.
const MOST_OF_A_PATH: usize = 200;

/// Records a request, where its trace is recorded. Handlers find the span by [`span`].
pub(super) async fn record(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let span = begin(&app, &request);
    if !span.is_recorded() {
        return next.run(request).await;
    }
    request.extensions_mut().insert(span.clone());
    let response = next.run(request).await;
    let status = response.status();
    span.note("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.fail(&status);
    }
    response
}

/// The span of a request that has just come.
fn begin(app: &App, request: &Request) -> Span {
    if request.method() != Method::POST {
        return Span::default();
    }
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let named = || route.map_or(Cow::Borrowed("POST"), |route| Cow::Owned(format!("POST {route}")));
    let span = app.tracer().begin(Kind::Server, parent(request.headers()), named);
    if span.is_recorded() {
        span.note("http.request.method", "POST");
        if let Some(route) = route {
            span.note("http.route", route);
        }
        if route.is_some_and(|route| !route.contains(ID)) {
            let path: String = request.uri().path().chars().take(MOST_OF_A_PATH).collect();
            span.note("url.path", path.as_str());
        }
    }
    span
}

/// The span of a request, which records nothing where its trace is not recorded.
pub(super) fn span(request: &Request) -> Span {
    request.extensions().get::<Span>().cloned().unwrap_or_default()
}

/// The span that a request belongs to; of several headers none counts.
fn parent(headers: &HeaderMap) -> Option<Parent> {
    let mut values = headers.get_all(TRACEPARENT).into_iter();
    let only = values.next().filter(|_| values.next().is_none())?;
    Parent::of(only.to_str().ok()?)
}
