//! `GET /configuration`: what the service was started with.

use crate::app::App;
use crate::http::failure::{Code, Failure};
use crate::http::json;
use crate::http::openapi::{Operation, Schemas};
use crate::http::peer::{Allowed, off};
use axum::extract::State;
use axum::response::Response;
use rankwright_config::Shown;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// What the service was started with.
#[derive(Serialize, JsonSchema)]
struct Configuration<'a> {
    /// The configuration as it was loaded, with defaults. Every password, token and key is `hidden`.
    configuration: &'a Value,
    /// Paths of what its text leaves out, such as `api.port` and `features[0].ttl`; one of a mapping stands for all of it.
    defaults: &'a [String],
    /// Paths of what comes from variables of the environment, with their names.
    environment: &'a BTreeMap<String, String>,
    /// What was warned of when it was read.
    warnings: &'a [String],
}

pub(super) async fn get(_: Allowed, State(app): State<App>) -> Result<Response, Failure> {
    let front = &app.page().ok_or_else(off)?.front;
    let Shown { configuration, defaults, environment } = &front.configuration;
    let told = Configuration { configuration, defaults, environment, warnings: &front.warnings };
    serde_json::to_vec(&told).map(json).map_err(|error| Failure::internal(error.to_string()))
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    Operation::new("configuration", "page", "The configuration that the service was started with, without secrets")
        .for_the_page()
        .answers("The configuration", schemas.answered::<Configuration<'_>>())
        .fails(&[Code::Internal])
}
