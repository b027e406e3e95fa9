//! `POST /train/{model}`: an admin call.

use crate::app::App;
use crate::http::failure::{Code, Failure};
use crate::http::openapi::{Operation, Schemas};
use crate::http::{Name, admin, json, name};
use crate::models::Slot;
use crate::plugin::TrainError;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json as value};

/// Trains a model on all click-throughs there are, and serves the new version before it answers.
pub(super) async fn post(State(app): State<App>, path: Name, headers: HeaderMap) -> Result<Response, Failure> {
    admin::check(&app, &headers)?;
    let model = name(path)?;
    app.models().get(&model)?;
    let training = app.training().ok_or_else(|| elsewhere(&app, &model))?;
    let work = {
        let app = app.clone();
        async move {
            let summary = training.train(&model).await?;
            app.refresh(&model).await;
            Ok::<_, TrainError>(summary)
        }
    };
    let summary = app.pool().run(work).await??;
    serde_json::to_vec(&summary).map(json).map_err(|error| Failure::internal(error.to_string()))
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    let answer: Value = match schemas.app().training() {
        Some(training) => training.answer(schemas.written()).into(),
        None => value!({"type": "object"}), // such a program answers with 409 alone
    };
    Operation::new(
        "train",
        "models",
        "Trains a model on all click-throughs, and serves the new version before it answers",
    )
    .named("model", schemas.app().models().all().map(Slot::name))
    .needs_token()
    .answers("The new version", answer)
    .fails(&[Code::CannotTrain, Code::TrainingAlready, Code::TrainingElsewhere, Code::Internal])
}

fn elsewhere(app: &App, model: &str) -> Failure {
    let command = app.training_command().replace("MODEL", model);
    Failure::new(Code::TrainingElsewhere, format!("this process does not train; run: {command}"))
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Impossible(_) => Self::new(Code::CannotTrain, error.to_string()),
            TrainError::Busy => Self::new(Code::TrainingAlready, error.to_string()),
            TrainError::Failed(_) => {
                tracing::error!(%error, "training failed");
                Self::internal(error.to_string())
            }
        }
    }
}
