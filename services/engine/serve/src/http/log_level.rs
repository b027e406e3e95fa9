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

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Whether a text is what the schema says: the library behind the log takes any word for a part of the program.
fn is_filter(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let of_part =
        |part: &str| part.split_once('=').is_some_and(|(name, level)| is_name(name) && LEVELS.contains(&level));
    let mut parts = text.split(',');
    parts.next().is_some_and(|level| LEVELS.contains(&level)) && parts.all(of_part)
}

pub(super) async fn put(State(app): State<App>, request: Request) -> Result<Response, Failure> {
    admin::check_configured(&app, request.headers())?;
    let (_place, body) = body::admit(&app, request).await?;
    let Object(level) =
        serde_json::from_slice::<Object<Level>>(&body).map_err(|error| Failure::invalid(error.to_string(), ""))?;
    if !is_filter(&level.filter) {
        let expected = "expected a level (error, warn, info, debug, trace), and others for parts, as in info,rankwright_serve=debug";
        return Err(Failure::invalid(expected, "filter"));
    }
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

#[cfg(test)]
mod tests {
    use super::is_filter;

    #[test]
    fn a_filter_is_a_level_and_those_of_parts() {
        for filter in ["info", "trace", "info,rankwright_serve=debug", "warn,a=info,b_c=trace"] {
            assert!(is_filter(filter), "{filter}");
        }
        for other in ["", "loud", "info,", "rankwright_serve=debug", "info,=debug", "info,a", "info, a=debug", "INFO"] {
            assert!(!is_filter(other), "{other}");
        }
    }
}
