//! `POST /inference/encoder/{name}` and `POST /inference/cross/{name}`

use crate::app::App;
use crate::http::failure::Failure;
use crate::http::{Name, name};
use crate::inference::{Unanswered, unanswered};
use axum::extract::State;

/// Says why there is no answer.
pub(super) async fn post(State(app): State<App>, path: Name) -> Failure {
    let name = match name(path) {
        Ok(name) => name,
        Err(failure) => return failure,
    };
    match unanswered(app.inference(), &name) {
        reason @ Unanswered::Unknown { .. } => Failure::not_found(reason.to_string()),
        reason @ Unanswered::Unavailable(_) => Failure::not_available(reason.to_string()),
    }
}
