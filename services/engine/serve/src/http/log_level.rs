//! `PUT /log-level`: which lines are logged from now on. An admin call, which needs a token to be configured.

use crate::app::App;
use crate::http::failure::Failure;
use crate::http::openapi::{Operation, Schemas};
use crate::http::{admin, body, json};
use crate::object::Object;
use axum::extract::{Request, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which lines are logged.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LogLevel")]
pub(super) struct Level {
    /// A level, and others for parts of the program: `info,rankwright_serve=debug`.
    #[schemars(regex(pattern = "^(error|warn|info|debug|trace)(,[a-z_]+=(error|warn|info|debug|trace))*$"))]
    filter: String,
}

pub(super) async fn put(State(app): State<App>, request: Request) -> Result<Response, Failure> {
    admin::check_configured(&app, request.headers())?;
    let (_place, body) = body::admit(&app, request).await?;
    let Object(level) =
        serde_json::from_slice::<Object<Level>>(&body).map_err(|error| Failure::invalid(error.to_string(), ""))?;
    app.set_log(&level.filter).map_err(|error| Failure::invalid(error, "filter"))?;
    tracing::info!(filter = ?level.filter, "the log's level was changed");
    serde_json::to_vec(&level).map(json).map_err(|error| Failure::internal(error.to_string()))
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    let level = schemas.asked::<Level>();
    Operation::new("setLogLevel", "service", "Chooses which lines are logged from now on")
        .body(level)
        .needs_token()
        .answers("What is logged now", schemas.answered::<Level>())
}
