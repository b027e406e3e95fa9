//! `POST /recommend/{model}`

use crate::app::App;
use crate::http::failure::Failure;
use crate::http::openapi::{Operation, Schemas};
use crate::http::{Name, body, json, name, traced};
use crate::metrics::Refusal;
use crate::recommend::{self, Recommendations, Request as Wanted};
use axum::extract::{Request, State};
use axum::response::Response;
use std::time::Instant;

/// Names items that go with others, or that many visitors want at the moment.
pub(super) async fn post(State(app): State<App>, path: Name, request: Request) -> Result<Response, Failure> {
    let began = Instant::now();
    let model = name(path)?;
    app.models().recommender(&model)?;
    let span = traced::span(&request);
    let (place, body) = body::admit(&app, request).await?;
    let size = body.len();
    let work = {
        let app = app.clone();
        async move {
            let _place = place;
            let slot = app.models().recommender(&model)?;
            recommend::recommend(&app, slot, &body, (began, &span)).await.map_err(Failure::from)
        }
    };
    let answer = app.pool().run_sized(size, work).await;
    answer.inspect_err(|_| app.metrics().refused(Refusal::Fault))?.map(json)
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    let request = schemas.asked::<Wanted>();
    Operation::new("recommend", "ranking", "Names items that go with others, or that many visitors want at the moment")
        .named("model", schemas.app().models().names(true))
        .body(request)
        .answers("Items, best first", schemas.answered::<Recommendations<'_>>())
}

impl From<recommend::Error> for Failure {
    fn from(error: recommend::Error) -> Self {
        Self::invalid(error.to_string(), error.path())
    }
}
