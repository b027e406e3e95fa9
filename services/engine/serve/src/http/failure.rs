//! Answers that are not a success: `{"error": {"code", "message", "path"}}`.
//!
//! `code` is a word for programs, `message` a sentence for people, `path` the place of the fault inside the body
//! (`items[3].id`, `[17].timestamp`) or null.

use crate::http::json;
use crate::limits::Excess;
use crate::models::Unknown;
use crate::pool::Lost;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use rankwright_event::json::DecodeError;
use serde::Serialize;

/// An answer that is not a success.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    header: Option<(&'static str, &'static str)>,
    detail: Detail,
}

#[derive(Debug, Serialize)]
struct Detail {
    code: &'static str,
    message: String,
    path: Option<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    error: &'a Detail,
}

impl Failure {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, header: None, detail: Detail { code, message: message.into(), path: None } }
    }

    fn at(mut self, path: &str) -> Self {
        self.detail.path = (!path.is_empty()).then(|| path.to_owned());
        self
    }

    /// Of an event that came without a batch around it: its place is no place in a list.
    pub(crate) fn of_one(mut self) -> Self {
        let path = self.detail.path.take();
        let within =
            path.as_deref().map(|path| path.strip_prefix("[0]").map_or(path, |rest| rest.trim_start_matches('.')));
        self.detail.path = within.filter(|path| !path.is_empty()).map(str::to_owned);
        self
    }

    fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.header = Some((name, value));
        self
    }

    /// 400: the request is not what it should be.
    pub(crate) fn invalid(message: impl Into<String>, path: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message).at(path)
    }

    /// 401: admin calls need the token.
    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "this call needs the bearer token of api.token")
            .with("www-authenticate", "Bearer")
    }

    /// 404: nothing there.
    pub(crate) fn not_found(message: String) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 405: something is there, for another method.
    pub(crate) fn wrong_method(message: String) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
    }

    /// 408: the body did not come.
    pub(crate) fn slow_body() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", "the body did not arrive in time")
            .with("connection", "close")
    }

    /// 409: it cannot be done here and now.
    pub(crate) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// 413: too large.
    pub(crate) fn too_large(message: String) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    /// 500: our fault.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// 501: not in this version.
    pub(crate) fn not_available(message: String) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, "not_available", message)
    }

    /// 503: it is not there yet.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message).with("retry-after", "1")
    }

    /// 503: try again in a second.
    pub(crate) fn overloaded(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message).with("retry-after", "1")
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        // a struct of strings always serialises
        let text = serde_json::to_vec(&Body { error: &self.detail }).unwrap_or_default();
        let mut response = json(text);
        *response.status_mut() = self.status;
        let header = self.header.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        response.headers_mut().extend(header);
        response
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        let message = format!("{} (line {}, column {})", error.reason(), error.line(), error.column());
        Self::invalid(message, error.path())
    }
}

impl From<Excess> for Failure {
    fn from(excess: Excess) -> Self {
        match excess {
            Excess::Events { .. } => Self::too_large(excess.to_string()),
            Excess::Items { .. } | Excess::Ahead { .. } => Self::invalid(excess.to_string(), excess.path()),
        }
    }
}

impl From<Unknown> for Failure {
    fn from(unknown: Unknown) -> Self {
        let code = match unknown {
            Unknown::Name { .. } => "unknown_model",
            Unknown::Kind { .. } => "wrong_model_type",
        };
        Self::new(StatusCode::NOT_FOUND, code, unknown.to_string())
    }
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        tracing::error!(error = %lost, "a request was given up");
        Self::internal("the request was given up because of a fault in the service")
    }
}
