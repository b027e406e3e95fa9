//! A path of the interface: what answers there, and what describes that.

use crate::app::App;
use crate::http::openapi::{Operation, Schemas};
use axum::handler::Handler;
use axum::routing::{self, MethodRouter};

/// A method of a path.
pub(super) struct Endpoint {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) answer: MethodRouter<App>,
    pub(super) describe: Describe,
}

/// Describes what a handler takes and answers.
pub(super) type Describe = fn(&mut Schemas<'_>) -> Operation;

impl Endpoint {
    pub(super) fn get<H: Handler<T, App>, T: 'static>(path: &'static str, handler: H, describe: Describe) -> Self {
        Self { method: "GET", path, answer: routing::get(handler), describe }
    }

    pub(super) fn post<H: Handler<T, App>, T: 'static>(path: &'static str, handler: H, describe: Describe) -> Self {
        Self { method: "POST", path, answer: routing::post(handler), describe }
    }

    pub(super) fn delete<H: Handler<T, App>, T: 'static>(path: &'static str, handler: H, describe: Describe) -> Self {
        Self { method: "DELETE", path, answer: routing::delete(handler), describe }
    }

    pub(super) fn put<H: Handler<T, App>, T: 'static>(path: &'static str, handler: H, describe: Describe) -> Self {
        Self { method: "PUT", path, answer: routing::put(handler), describe }
    }
}
