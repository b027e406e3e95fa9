//! Answers that are not a success: `{"error": {"code", "message", "path"}}`.
//!
//! `code` is a word for programs, `message` a sentence for people, `path` the place of the fault inside the body
//! (`items[3].id`, `[17].timestamp`) or null.

mod code;

pub(crate) use code::Code;

use crate::http::json;
use crate::limits::Excess;
use crate::models::Unknown;
use crate::pool::Lost;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use rankwright_event::json::DecodeError;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::borrow::Cow;

/// An answer that is not a success.
#[derive(Debug)]
pub(crate) struct Failure(Detail);

/// What is wrong.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ErrorDetail")]
struct Detail {
    code: Code,
    /// A sentence for people.
    message: String,
    /// The place of the fault inside the body, such as `items[3].id`, or the parameter of the query.
    path: Option<String>,
}

/// Every answer that is not a success.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Error")]
struct Body<'a> {
    error: &'a Detail,
}

impl Failure {
    /// With this code.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Detail { code, message: message.into(), path: None })
    }

    /// With the place of the fault.
    pub(super) fn at(mut self, path: &str) -> Self {
        self.0.path = (!path.is_empty()).then(|| path.to_owned());
        self
    }

    /// Of an event that came without a batch around it: its place is no place in a list.
    pub(crate) fn of_one(mut self) -> Self {
        let path = self.0.path.take();
        let within =
            path.as_deref().map(|path| path.strip_prefix("[0]").map_or(path, |rest| rest.trim_start_matches('.')));
        self.0.path = within.filter(|path| !path.is_empty()).map(str::to_owned);
        self
    }

    /// The request is not what it should be.
    pub(crate) fn invalid(message: impl Into<String>, path: &str) -> Self {
        Self::new(Code::InvalidRequest, message).at(path)
    }

    /// Our fault.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// Try again in a second.
    pub(crate) fn overloaded(message: impl Into<String>) -> Self {
        Self::new(Code::Overloaded, message)
    }
}

/// The body of an answer to a head that is no request, by the status of the answer: 400, 414 or 431.
pub(crate) fn unreadable(status: &str) -> String {
    let (code, message) = match status {
        "400" => (Code::InvalidRequest, "the head of the request is not valid HTTP/1.1"),
        "414" => (Code::TooLarge, "the path of the request is too long"),
        _ => (Code::TooLarge, "the head of the request is too large: at most 64 KiB and 100 headers are accepted"),
    };
    Detail { code, message: message.to_owned(), path: None }.json()
}

impl Detail {
    fn json(&self) -> String {
        // a struct of strings always serialises
        serde_json::to_string(&Body { error: self }).unwrap_or_default()
    }
}

impl JsonSchema for Failure {
    fn schema_name() -> Cow<'static, str> {
        Body::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Body::json_schema(generator)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let code = self.0.code;
        let mut response = json(self.0.json().into_bytes());
        *response.status_mut() = code.status();
        let header =
            code.header().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
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
            Excess::Events { .. } => Self::new(Code::TooLarge, excess.to_string()),
            Excess::Items { .. } | Excess::Ahead { .. } => Self::invalid(excess.to_string(), excess.path()),
        }
    }
}

impl From<Unknown> for Failure {
    fn from(unknown: Unknown) -> Self {
        let code = match unknown {
            Unknown::Name { .. } => Code::UnknownModel,
            Unknown::Kind { .. } => Code::WrongModelType,
        };
        Self::new(code, unknown.to_string())
    }
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        tracing::error!(error = %lost, "a request was given up");
        Self::internal("the request was given up because of a fault in the service")
    }
}
