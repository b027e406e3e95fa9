//! Ingest and training as the HTTP interface wants them.

use crate::engine::{Engine, now};
use crate::gauges::Gauges;
use crate::train;
use rankwright_event::Event;
use rankwright_ingest::{self as ingest, Counters};
use rankwright_serve::{Fed, FeedError, Feedback, Status, TrainError, Training};
use rankwright_state::BoxFuture;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use tokio::sync::Mutex;
use tracing::{error, warn};

/// Name of the writer that takes in `POST /feedback`.
const WRITER: &str = "feedback";

/// `POST /feedback`: one batch after the other.
pub(crate) struct Inlet {
    engine: Arc<Engine>,
    /// `None` after an error of the state store: the next batch opens it again, from what was committed.
    feedback: Mutex<Option<ingest::Feedback>>,
    counters: SyncMutex<Counters>,
    gauges: Gauges,
}

impl Inlet {
    /// Opens the inlet of a service.
    pub(crate) async fn open(engine: Arc<Engine>, gauges: Gauges) -> Result<Self, ingest::Error> {
        let feedback = Mutex::new(Some(open(&engine).await?));
        Ok(Self { engine, feedback, counters: SyncMutex::default(), gauges })
    }

    /// Lets time pass: what is due closes.
    pub(crate) async fn tick(&self) {
        let mut held = self.feedback.lock().await;
        let Some(feedback) = held.as_mut() else { return };
        let outcome = feedback.tick(now()).await;
        self.note(feedback);
        match outcome {
            Ok(()) => {}
            Err(error @ ingest::Error::Clickthroughs(_)) => warn!(%error, "click-throughs wait"),
            Err(error) => {
                error!(%error, "feedback stopped; the next batch takes up what was committed");
                *held = None;
            }
        }
    }

    /// What is open stays in a durable state; with a state in memory, nothing of it can be used any more.
    pub(crate) async fn close(&self) {
        if let Some(feedback) = self.feedback.lock().await.as_mut()
            && let Err(error) = feedback.tick(now()).await
        {
            warn!(%error, "failed to write click-throughs at the end");
        }
    }

    fn note(&self, feedback: &ingest::Feedback) {
        let counters = feedback.ingest().counters();
        self.gauges.note(&counters);
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner) = counters;
    }

    async fn take(&self, events: Vec<Event>) -> Result<Fed, FeedError> {
        let mut held = self.feedback.lock().await;
        let failed = |error: ingest::Error| FeedError::Failed(crate::chain(&anyhow::Error::new(error)));
        if held.is_none() {
            *held = Some(open(&self.engine).await.map_err(failed)?);
        }
        let Some(feedback) = held.as_mut() else { return Err(FeedError::Busy) };
        let outcome = feedback.feed(events, now()).await;
        self.note(feedback);
        match outcome {
            Ok(applied) => Ok(Fed { accepted: applied.accepted, updated: applied.updated }),
            Err(error @ ingest::Error::Clickthroughs(_)) => Err(failed(error)), // too many wait; nothing is lost
            Err(error) => {
                *held = None;
                Err(failed(error))
            }
        }
    }
}

async fn open(engine: &Engine) -> Result<ingest::Feedback, ingest::Error> {
    let ingest = engine.ingest(WRITER).await?;
    ingest::Feedback::open(ingest, engine.config.core.ingest.event_id_window).await
}

impl Feedback for Inlet {
    fn feed(&self, events: Vec<Event>) -> BoxFuture<'_, Result<Fed, FeedError>> {
        Box::pin(self.take(events))
    }
}

impl Status for Inlet {
    fn status(&self) -> Value {
        let counters = *self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        json!({
            "events": {
                "item": counters.items,
                "user": counters.users,
                "ranking": counters.rankings,
                "interaction": counters.interactions,
            },
            "updated": counters.updated,
            "clickthroughs": counters.clickthroughs,
            "unrankedInteractions": counters.unranked,
            "repeatedRankings": counters.repeated,
            "evictedRankings": counters.evicted,
            "openRankings": counters.open,
            "awaitedRankings": counters.awaited,
            "outbox": counters.outbox,
        })
    }
}

/// `POST /train/{model}`, in this process.
pub(crate) struct Trainer {
    engine: Arc<Engine>,
    busy: SyncMutex<HashSet<String>>,
}

impl Trainer {
    /// Trains the models of a service.
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, busy: SyncMutex::default() }
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
    use rankwright_train::Error;
    let message = crate::chain(error);
    match error.downcast_ref::<Error>() {
        Some(Error::Read(_) | Error::Fit { .. } | Error::Evaluate { .. } | Error::Publish { .. }) => {
            TrainError::Failed(message)
        }
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
}
