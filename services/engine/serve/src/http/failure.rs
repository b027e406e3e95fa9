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

    /// With the place of the fault.
    pub(super) fn at(mut self, path: &str) -> Self {
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

    /// 403: a page of another origin asks.
    pub(crate) fn foreign(message: String) -> Self {
        Self::new(StatusCode::FORBIDDEN, "foreign_origin", message)
    }

    /// 404: nothing there.
    pub(crate) fn not_found(message: String) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 404: no model of this name, or none that answers here.
    pub(super) fn no_model(code: &'static str, message: String) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
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

    /// 415: it is encoded in a way that is not decoded.
    pub(crate) fn unknown_encoding(message: String) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", message)
            .with("accept-encoding", "gzip, zstd")
    }

    /// 500: our fault.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
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

/// The body of an answer to a head that is no request, by the status of the answer: 400, 414 or 431.
pub(crate) fn unreadable(status: &str) -> String {
    let (code, message) = match status {
        "400" => ("invalid_request", "the head of the request is not valid HTTP/1.1"),
        "414" => ("too_large", "the path of the request is too long"),
        _ => ("too_large", "the head of the request is too large: at most 64 KiB and 100 headers are accepted"),
    };
    Detail { code, message: message.to_owned(), path: None }.json()
}

impl Detail {
    fn json(&self) -> String {
        // a struct of strings always serialises
        serde_json::to_string(&Body { error: self }).unwrap_or_default()
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = json(self.detail.json().into_bytes());
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
        Self::no_model(code, unknown.to_string())
    }
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        tracing::error!(error = %lost, "a request was given up");
        Self::internal("the request was given up because of a fault in the service")
    }
}
