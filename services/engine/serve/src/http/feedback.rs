//! `POST /feedback`: one event, an array of them, or one after the other.
//!
//! The content type is not looked at: tools like to send JSON as a form. A batch takes effect as a whole or not at
//! all; the answer to a refused one names the event. Work that has begun is finished even when the client goes away.

use crate::app::App;
use crate::clock::latest;
use crate::http::failure::{Code, Failure};
use crate::http::openapi::{Operation, Schemas};
use crate::http::{body, json, traced};
use crate::metrics::Refusal;
use crate::plugin::{Fed, FeedError, Feedback};
use axum::extract::{Request, State};
use axum::response::Response;
use rankwright_event::Event;
use rankwright_event::json::decode_batch;
use rankwright_trace::Span;
use schemars::JsonSchema;
use serde::Serialize;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FeedbackAnswer")]
struct Answer {
    /// Events that were processed; repetitions of known ones included.
    accepted: u64,
    /// Always `ok`.
    status: &'static str,
    /// Milliseconds.
    took_millis: u64,
    /// Feature values written.
    updated: u64,
}

/// One event, or several of them, which take effect together or not at all.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "events are decoded by hand")]
enum Events {
    One(Event),
    Batch(#[schemars(extend("x-limit" = "maxEventsPerBatch"))] Vec<Event>),
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    let events = schemas.asked::<Events>();
    Operation::new(
        "feedback",
        "events",
        "Takes in one event, an array of them, or JSON lines, and answers when their effects are committed",
    )
    .body(events)
    .answers("All events were taken in", schemas.answered::<Answer>())
    .fails(&[Code::NotAvailable])
}

/// Takes in events.
pub(super) async fn post(State(app): State<App>, request: Request) -> Result<Response, Failure> {
    let feedback = app.feedback().ok_or_else(nobody_listens)?;
    let span = traced::span(&request);
    let (place, body) = body::admit(&app, request).await?;
    let began = Instant::now(); // a client may take its time
    let work = {
        let app = app.clone();
        async move {
            let _place = place;
            feed(&app, feedback, &body, &span).await
        }
    };
    let fed = in_time(&app, app.pool().run(work)).await???;
    let took_millis = began.elapsed().as_millis() as u64;
    let answer = Answer { accepted: fed.accepted, status: "ok", took_millis, updated: fed.updated };
    serde_json::to_vec(&answer).map(json).map_err(|error| Failure::internal(error.to_string()))
}

/// Waits as long as a request may take; the work itself goes on.
async fn in_time<T>(app: &App, work: impl Future<Output = T>) -> Result<T, Failure> {
    tokio::time::timeout(app.limits().api.request_timeout, work).await.map_err(|_| {
        app.metrics().refused(Refusal::Time);
        Failure::overloaded("the events take longer than a request may (api.limits.requestTimeout); they are not lost")
    })
}

async fn feed(app: &App, feedback: Arc<dyn Feedback>, body: &[u8], span: &Span) -> Result<Fed, Failure> {
    let events = span.within("decode", || decode_batch(body))?;
    span.note("rankwright.events", events.len());
    let taking_in = span.child("ingest");
    let alone = events.len() == 1 && !body.trim_ascii_start().starts_with(b"[");
    let fed = taken(app, feedback, events, &taking_in)
        .await
        .map_err(|failure| if alone { failure.of_one() } else { failure })?;
    app.metrics().feedback_events.inc_by(fed.accepted);
    Ok(fed)
}

async fn taken(app: &App, feedback: Arc<dyn Feedback>, events: Vec<Event>, span: &Span) -> Result<Fed, Failure> {
    app.limits().check_events(&events, latest())?;
    let fed = feedback.feed(events).await.inspect_err(|error| match error {
        FeedError::Invalid { .. } => {} // it is the sender's fault, and may name ids
        FeedError::Busy | FeedError::Failed(_) => span.fail(error),
    });
    Ok(fed?)
}

fn nobody_listens() -> Failure {
    Failure::new(Code::NotAvailable, "this process takes in no events")
}

impl From<FeedError> for Failure {
    fn from(error: FeedError) -> Self {
        match error {
            FeedError::Invalid { index, path, message } => {
                let place = if path.is_empty() { format!("[{index}]") } else { format!("[{index}].{path}") };
                Self::invalid(message, &place)
            }
            FeedError::Busy => Self::overloaded(FeedError::Busy.to_string()),
            FeedError::Failed(_) => {
                tracing::error!(%error, "feedback was not taken in");
                Self::overloaded(error.to_string())
            }
        }
    }
}
