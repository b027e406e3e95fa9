//! `POST /rank/{model}`

use crate::app::App;
use crate::http::failure::{Code, Failure};
use crate::http::openapi::{Operation, Schemas};
use crate::http::{Name, body, json, name, traced};
use crate::metrics::Refusal;
use crate::rank::{self, Asked, Explain, Ranked};
use axum::extract::{RawQuery, Request, State};
use axum::response::Response;
use rankwright_event::{ItemId, Ranking};
use schemars::JsonSchema;
use serde_json::json as value;
use std::time::Instant;

/// A ranking whose items are to be ordered.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "requests are decoded by hand")]
struct RankRequest {
    /// Need not be said.
    event: Option<Kind>,
    /// Items that the answer leaves out.
    exclude: Option<Vec<ItemId>>,
    #[schemars(flatten)]
    ranking: Ranking,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
#[expect(dead_code, reason = "requests are decoded by hand")]
enum Kind {
    Ranking,
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    let request = schemas.asked::<RankRequest>();
    let operation = Operation::new("rank", "ranking", "Orders the items of a ranking, best first")
        .named("model", schemas.app().models().names(false));
    explained(operation)
        .body(request)
        .answers("The items, best first", schemas.answered::<Ranked>())
        .fails(&[Code::CannotExplain])
}

/// With the parameter that says what is wanted beside scores.
pub(super) fn explained(operation: Operation) -> Operation {
    let what =
        "What each item has beside its score: the values of features, or these and how much of the score each brings";
    operation.query("explain", what, value!({"enum": ["false", "true", "contributions"], "default": "false"}))
}

/// Orders the items of a ranking.
pub(super) async fn post(
    State(app): State<App>,
    path: Name,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Failure> {
    let began = Instant::now();
    let model = name(path)?;
    app.models().ranker(&model)?;
    let explain = explain(query.as_deref().unwrap_or_default())?;
    let asked = Asked { explain, began, counts: true, span: traced::span(&request) };
    let (place, body) = body::admit(&app, request).await?;
    let size = body.len();
    let work = {
        let app = app.clone();
        async move {
            let _place = place;
            let slot = app.models().ranker(&model)?;
            let answered = rank::rank(&app, slot, &body, &asked).await?;
            // a request with explanations is for a person who tunes, and no visitor's
            if let Some(page) = app.page().filter(|_| explain == Explain::Nothing) {
                page.sample.note(slot.name(), &body, &answered, began);
            }
            Ok::<_, Failure>(answered.text)
        }
    };
    // contributions take a hundred times as long as scores
    let ranked = match explain {
        Explain::Contributions => app.pool().run(work).await,
        _ => app.pool().run_sized(size, work).await,
    };
    ranked.inspect_err(|_| app.metrics().refused(Refusal::Fault))?.map(json)
}

/// A request beyond the number that is worked on at once.
pub(super) fn overloaded(app: &App) -> Failure {
    app.metrics().refused(Refusal::Overload);
    let most = app.limits().api.max_concurrent_requests;
    Failure::overloaded(format!(
        "{most} requests are being worked on, which is the limit (api.limits.maxConcurrentRequests)"
    ))
}

/// What is wanted beside scores. Other parameters are ignored; of several, the last one counts.
pub(super) fn explain(query: &str) -> Result<Explain, Failure> {
    let mut parameters = query.split('&').map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")));
    match parameters.rfind(|(key, _)| *key == "explain").map(|(_, value)| value) {
        None | Some("false") => Ok(Explain::Nothing),
        Some("true") => Ok(Explain::Features),
        Some("contributions") => Ok(Explain::Contributions),
        Some(other) => {
            let shown: String = other.chars().take(50).collect();
            let message = format!("query parameter explain is {shown:?}, expected true, false or contributions");
            Err(Failure::invalid(message, "explain"))
        }
    }
}

impl From<rank::Error> for Failure {
    fn from(error: rank::Error) -> Self {
        let told = error.to_string();
        match error {
            rank::Error::Model(unknown) => unknown.into(),
            rank::Error::Unexplained { .. } => Self::new(Code::CannotExplain, told),
            rank::Error::Body(error) => error.into(),
            rank::Error::Excess(excess) => excess.into(),
        }
    }
}
