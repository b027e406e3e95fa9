//! `POST /train/{model}`, in this process.

use crate::train;
use rankwright_assembly::{Engine, chain};
use rankwright_serve::{TrainError, Training};
use rankwright_state::BoxFuture;
use rankwright_train::report;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Trains models on request, each one at a time.
pub(crate) struct Trainer {
    engine: Arc<Engine>,
    busy: Mutex<HashSet<String>>,
}

impl Trainer {
    /// Trains the models of a service.
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, busy: Mutex::default() }
    }

    async fn run(&self, model: &str) -> Result<Value, TrainError> {
        let (engine, name) = (self.engine.clone(), model.to_string());
        let work = tokio::task::spawn_blocking(move || train::one(&engine, &name));
        let outcome = work.await.map_err(|error| TrainError::Failed(error.to_string()))?;
        match outcome {
            Ok(trained) => serde_json::to_value(trained.answer).map_err(|error| TrainError::Failed(error.to_string())),
            Err(error) => Err(refusal(&error)),
        }
    }
}

/// Nothing to learn from is the caller's to change; anything else is ours.
fn refusal(error: &anyhow::Error) -> TrainError {
    use rankwright_train::{Error, booster};
    let message = chain(error);
    match error.downcast_ref::<Error>() {
        Some(Error::Fit { source: booster::Error::OverMemory { .. }, .. }) => TrainError::Impossible(message),
        Some(
            Error::Read(_)
            | Error::Spill { .. }
            | Error::Rows { .. }
            | Error::Fit { .. }
            | Error::Embed { .. }
            | Error::Evaluate { .. }
            | Error::Publish { .. },
        ) => TrainError::Failed(message),
        _ => TrainError::Impossible(message),
    }
}

impl Training for Trainer {
    fn train<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Value, TrainError>> {
        Box::pin(async move {
            let busy = || self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            if !busy().insert(model.to_string()) {
                return Err(TrainError::Busy);
            }
            let outcome = self.run(model).await;
            busy().remove(model);
            outcome
        })
    }

    fn answer(&self, schemas: &mut SchemaGenerator) -> Schema {
        schemas.subschema_for::<report::Answer>()
    }
}
