//! Which web pages may use the service: those that it serves itself, and those of `api.cors.allowedOrigins`.
//!
//! A browser lets any page send a form, or JSON as `text/plain`, to any address that the visitor's machine reaches, and tells
//! in `Origin` whose page it is. Other clients send no `Origin` and are let through without another look.

use crate::http::failure::{Code, Failure};
use crate::http::unread;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Stands for all origins in the configuration.
const ANY: &str = "*";
/// How long a browser may rely on the answer to a preflight, in seconds.
const REMEMBERED: &str = "600";

/// Whose page sends a request.
enum Page {
    Own,
    Allowed,
    Foreign,
}

/// Lets a request pass, unless a page of a foreign origin sends it; answers preflights of pages that are allowed.
pub(super) async fn check(State(origins): State<Arc<[String]>>, request: Request, next: Next) -> Response {
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else {
        return unread::close(request, next).await;
    };
    match page(&origins, &origin, &request) {
        Page::Own => unread::close(request, next).await,
        Page::Allowed if is_preflight(&request) => allowed(preflight(request.headers()), origin),
        Page::Allowed => allowed(unread::close(request, next).await, origin),
        Page::Foreign => refuse(&origin, &request),
    }
}

fn page(origins: &[String], origin: &HeaderValue, request: &Request) -> Page {
    if is_own(origin, host(request.uri(), request.headers())) {
        return Page::Own;
    }
    let origin = origin.to_str().unwrap_or_default();
    match origins.iter().any(|allowed| allowed == ANY || allowed.eq_ignore_ascii_case(origin)) {
        true => Page::Allowed,
        false => Page::Foreign,
    }
}

/// What a request calls the service, with the port; empty where that is no text.
pub(super) fn host<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    let named = headers.get(header::HOST).map(|host| host.to_str().unwrap_or_default());
    uri.authority().map(|authority| authority.as_str()).or(named)
}

/// Whether an origin is the service's own, as the request calls it.
pub(super) fn is_own(origin: &HeaderValue, host: Option<&str>) -> bool {
    let origin = origin.to_str().unwrap_or_default();
    let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    own.zip(host).is_some_and(|(own, host)| own.eq_ignore_ascii_case(host))
}

fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Allows what the service has, with the headers that were asked for.
fn preflight(asked: &HeaderMap) -> Response {
    let mut answer = StatusCode::NO_CONTENT.into_response();
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT, DELETE"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(REMEMBERED));
    if let Some(wanted) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    answer
}

/// Lets the page read an answer.
fn allowed(mut answer: Response, origin: HeaderValue) -> Response {
    answer.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    answer.headers_mut().append(header::VARY, HeaderValue::from_static("Origin"));
    answer
}

fn refuse(origin: &HeaderValue, request: &Request) -> Response {
    let origin: String = origin.to_str().unwrap_or_default().chars().take(200).collect();
    let message = format!("pages of {origin} may not use this service (api.cors.allowedOrigins)");
    let mut answer = Failure::new(Code::ForeignOrigin, message).into_response();
    if !request.body().is_end_stream() {
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}
