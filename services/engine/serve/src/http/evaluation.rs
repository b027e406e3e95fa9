//! `POST /evaluation`: compares models on stored click-throughs; `GET /evaluation`: how far that is, and what it came to.

use crate::app::{App, Page};
use crate::evaluation::{self, Ended, Refused, Running};
use crate::http::failure::{Code, Failure};
use crate::http::openapi::{Operation, Schemas};
use crate::http::peer::{Allowed, off};
use crate::http::{body, json};
use crate::object::Object;
use crate::plugin::{Compared, Evaluation};
use axum::extract::{Request, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json as value};
use std::sync::Arc;

/// Models that are compared at once: each reads the columns of its features.
const MOST_MODELS: usize = 10;

/// How evaluations are doing.
#[derive(Serialize, JsonSchema)]
struct Evaluations<'a> {
    /// Why nothing can be compared here.
    unavailable: Option<String>,
    /// The evaluation that runs.
    running: Option<RunningEvaluation<'a>>,
    /// The last one that ended since the service was started.
    last: Option<EndedEvaluation<'a>>,
}

/// What is compared. Another type than that of requests, where both keys may be left out.
#[derive(Serialize, JsonSchema)]
struct ComparedModels<'a> {
    models: &'a [String],
    by: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
struct RunningEvaluation<'a> {
    compared: ComparedModels<'a>,
    /// In milliseconds since 1970.
    began: u64,
    /// How many rankings it has read.
    rankings: u64,
}

#[derive(Serialize, JsonSchema)]
struct EndedEvaluation<'a> {
    compared: ComparedModels<'a>,
    /// In milliseconds since 1970.
    began: u64,
    ended: u64,
    /// Why there is no report.
    problem: Option<&'a str>,
    report: Option<&'a Value>,
}

pub(super) async fn get(_: Allowed, State(app): State<App>) -> Result<Response, Failure> {
    told(&app).await
}

pub(super) fn get_described(schemas: &mut Schemas<'_>) -> Operation {
    described(schemas, Operation::new("evaluation", "page", "How far an evaluation is, and the report of the last one"))
}

/// Answers once it has begun. It runs on, whatever becomes of the client.
pub(super) async fn post(_: Allowed, State(app): State<App>, request: Request) -> Result<Response, Failure> {
    let page = app.page().ok_or_else(off)?;
    let evaluation = page.front.evaluation.clone().ok_or_else(|| missing(elsewhere()))?;
    let (_place, body) = body::admit(&app, request).await?;
    let Object(compared) =
        serde_json::from_slice::<Object<Compared>>(&body).map_err(|error| Failure::invalid(error.to_string(), ""))?;
    if compared.models.len() > MOST_MODELS {
        let (given, most) = (compared.models.len(), MOST_MODELS);
        return Err(Failure::invalid(format!("{given} models are too many: at most {most} are compared"), "models"));
    }
    if let Some(why) = evaluation.unavailable() {
        return Err(missing(why));
    }
    evaluation::begin(&app, evaluation, compared)?;
    told(&app).await
}

pub(super) fn post_described(schemas: &mut Schemas<'_>) -> Operation {
    let body = schemas.asked::<Compared>();
    let operation = Operation::new(
        "evaluate",
        "page",
        "Begins to compare models on the test split of stored click-throughs, in the background",
    );
    described(schemas, operation).body(body).fails(&[Code::EvaluatingAlready, Code::NotAvailable])
}

fn described(schemas: &mut Schemas<'_>, operation: Operation) -> Operation {
    let evaluation = schemas.app().page().and_then(|page| page.front.evaluation.clone());
    let report: Value = match evaluation {
        Some(evaluation) => evaluation.report(schemas.written()).into(),
        None => value!({"type": "object"}),
    };
    let of_last = value!({"type": ["object", "null"], "properties": {"report": {"anyOf": [report, {"type": "null"}]}}});
    let answer: Value = schemas.answered::<Evaluations<'_>>().into();
    let answer = value!({"allOf": [answer, {"properties": {"last": of_last}}]});
    operation.for_the_page().answers("How evaluations are doing", answer).fails(&[Code::Internal])
}

/// A report is long: it is written on a thread of the pool.
async fn told(app: &App) -> Result<Response, Failure> {
    let work = {
        let app = app.clone();
        async move { written(app.page().ok_or_else(off)?) }
    };
    app.pool().run(work).await?
}

fn written(page: &Page) -> Result<Response, Failure> {
    let (running, last) = page.evaluations.now();
    let evaluations = Evaluations {
        unavailable: page.front.evaluation.as_ref().map_or_else(|| Some(elsewhere()), why_not),
        running: running.as_ref().map(RunningEvaluation::of),
        last: last.as_deref().map(EndedEvaluation::of),
    };
    serde_json::to_vec(&evaluations).map(json).map_err(|error| Failure::internal(error.to_string()))
}

fn why_not(evaluation: &Arc<dyn Evaluation>) -> Option<String> {
    evaluation.unavailable()
}

fn elsewhere() -> String {
    "this program does not evaluate; run: rankwright evaluate --config CONFIG".to_owned()
}

fn missing(why: String) -> Failure {
    Failure::new(Code::NotAvailable, why)
}

impl<'a> ComparedModels<'a> {
    fn of(compared: &'a Compared) -> Self {
        Self { models: &compared.models, by: compared.by.as_deref() }
    }
}

impl<'a> RunningEvaluation<'a> {
    fn of(running: &'a Running) -> Self {
        let compared = ComparedModels::of(&running.compared);
        Self { compared, began: running.began, rankings: running.rankings() }
    }
}

impl<'a> EndedEvaluation<'a> {
    fn of(ended: &'a Ended) -> Self {
        let Ended { compared, began, ended, outcome } = ended;
        let (report, problem) = (outcome.as_ref().ok(), outcome.as_ref().err().map(String::as_str));
        Self { compared: ComparedModels::of(compared), began: *began, ended: *ended, problem, report }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Busy => Self::new(Code::EvaluatingAlready, refused.to_string()),
            Refused::Thread(_) => Self::overloaded(refused.to_string()),
        }
    }
}
