//! `POST /recommend/{model}`

use crate::app::App;
use crate::http::failure::Failure;
use crate::http::{Name, body, json, name};
use crate::recommend;
use axum::extract::{Request, State};
use axum::response::Response;

/// Names items that go with others.
pub(super) async fn post(State(app): State<App>, path: Name, request: Request) -> Result<Response, Failure> {
    let name = name(path)?;
    let kind = app.models().recommender(&name)?;
    let (_place, body) = body::admit(&app, request).await?;
    let answer = recommend::recommend(app.limits(), &name, kind, &body)?;
    serde_json::to_vec(&answer).map(json).map_err(|error| Failure::internal(error.to_string()))
}

impl From<recommend::Error> for Failure {
    fn from(error: recommend::Error) -> Self {
        Self::invalid(error.to_string(), error.path())
    }
}
