//! `GET /requests`: the newest rank requests; `POST /requests/{number}/rank/{model}`: one of them once more.

use crate::app::App;
use crate::http::failure::{Code, Failure};
use crate::http::json;
use crate::http::openapi::{Operation, Schemas};
use crate::http::peer::{Allowed, off};
use crate::http::rank::{explain, explained, overloaded};
use crate::rank::{self, Asked, Ranked};
use crate::sample::Sampled;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use rankwright_trace::Span;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json as value};
use std::collections::BTreeMap;
use std::time::Instant;

/// The newest rank requests.
#[derive(Serialize, JsonSchema)]
struct Requests<'a> {
    /// The newest first, and behind them the lists that the last evaluation found worst.
    requests: Vec<SampledRequest<'a>>,
}

/// A rank request, and how it was answered.
#[derive(Serialize, JsonSchema)]
struct SampledRequest<'a> {
    /// What `POST /requests/{number}/rank/{model}` calls it.
    number: u64,
    /// When it came, in milliseconds since 1970.
    time: u64,
    model: &'a str,
    items: usize,
    /// Milliseconds.
    took: u64,
    /// Why the items kept their incoming order.
    fallback: Option<&'a str>,
    /// Ids of the items that the visitor chose, where it is such a list: a click-through as a request, which was never asked for.
    relevant: Option<&'a [String]>,
    /// Its body. `user` and `session` are null, unless `api.page.showIds` is set.
    #[schemars(with = "Map<String, Value>")]
    request: Shown<'a>,
}

/// The keys of a request with their values, as they were sent.
type Shown<'a> = BTreeMap<String, &'a RawValue>;

pub(super) async fn list(_: Allowed, State(app): State<App>) -> Result<Response, Failure> {
    let page = app.page().ok_or_else(off)?;
    let (kept, show_ids) = (page.sample.all(), page.settings.show_ids);
    app.pool().run(async move { written(&kept, show_ids) }).await?
}

pub(super) fn list_described(schemas: &mut Schemas<'_>) -> Operation {
    Operation::new("requests", "page", "The newest rank requests of each model")
        .for_the_page()
        .answers("Those that are kept", schemas.answered::<Requests<'_>>())
        .fails(&[Code::Internal])
}

fn written(kept: &[impl AsRef<Sampled>], show_ids: bool) -> Result<Response, Failure> {
    let shown = kept.iter().map(|sampled| shown(sampled.as_ref(), show_ids)).collect::<Result<_, _>>();
    let text = shown.and_then(|requests| serde_json::to_vec(&Requests { requests }));
    text.map(json).map_err(|error| Failure::internal(error.to_string()))
}

fn shown(sampled: &Sampled, show_ids: bool) -> Result<SampledRequest<'_>, serde_json::Error> {
    let Sampled { number, time, model, items, took, fallback, relevant, body } = sampled;
    let mut request: Shown<'_> = serde_json::from_slice(body)?;
    for id in ["user", "session"].iter().filter(|_| !show_ids) {
        request.entry((*id).to_owned()).and_modify(|value| *value = RawValue::NULL);
    }
    let (number, time, items, took, fallback) = (*number, *time, *items, *took, fallback.as_deref());
    Ok(SampledRequest { number, time, model, items, took, fallback, relevant: relevant.as_deref(), request })
}

/// Orders the items of a kept request by a model. It does not count as a request, and is not kept itself.
pub(super) async fn rank(
    _: Allowed,
    State(app): State<App>,
    path: Result<Path<(String, String)>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let began = Instant::now();
    let Path((number, model)) = path.map_err(|error| Failure::invalid(error.body_text(), ""))?;
    let number: u64 = number.parse().map_err(|_| Failure::invalid("the number of a request is a whole one", ""))?;
    app.models().ranker(&model)?;
    let explain = explain(query.as_deref().unwrap_or_default())?;
    let sampled = app.page().ok_or_else(off)?.sample.get(number).ok_or_else(|| gone(number))?;
    let place = app.gate().enter().ok_or_else(|| overloaded(&app))?;
    let work = {
        let app = app.clone();
        async move {
            let _place = place;
            let asked = Asked { explain, began, counts: false, span: Span::default() };
            rank::rank(&app, app.models().ranker(&model)?, &sampled.body, &asked).await.map_err(Failure::from)
        }
    };
    app.pool().run(work).await?.map(|answered| json(answered.text))
}

pub(super) fn rank_described(schemas: &mut Schemas<'_>) -> Operation {
    let operation = Operation::new("rankAgain", "page", "Orders the items of a kept request; it does not count as one")
        .part(
            "number",
            "As `GET /requests` lists it",
            value!({"type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_u64}),
        )
        .named("model", schemas.app().models().names(false));
    explained(operation).for_the_page().answers("The items, best first", schemas.answered::<Ranked>()).fails(&[
        Code::InvalidRequest,
        Code::CannotExplain,
        Code::Internal,
        Code::Overloaded,
    ])
}

fn gone(number: u64) -> Failure {
    Failure::new(Code::NotFound, format!("request {number} is not kept: GET /requests lists those that are"))
}
