//! `POST /v1/rerank` and `POST /v2/rerank`: cross-encoders as clients of Jina and Cohere ask for them.

use crate::app::App;
use crate::http::failure::{Code, Failure};
use crate::http::inference::{Asked, computed};
use crate::http::openapi::{Operation, Schemas};
use crate::inference::{Error, Place};
use crate::object::Object;
use crate::whole::optional;
use axum::extract::{Request, State};
use axum::response::Response;
use rankwright_encoder::Task;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json as value;

/// Documents whose fit to a query is scored. Unknown keys are ignored.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "RerankRequest")]
struct Asking {
    /// Name of a cross-encoder.
    model: String,
    query: String,
    #[schemars(length(min = 1), extend("x-limit" = "maxItemsPerRequest"))]
    documents: Vec<Document>,
    /// How many of the best ones are wanted; all, if it is absent.
    #[serde(default, deserialize_with = "optional")]
    #[schemars(with = "Option<u64>", range(min = 1, max = u64::MAX))]
    top_n: Option<u64>,
    /// Whether the first version of the interface answers with texts too; it does unless this is false.
    return_documents: Option<bool>,
}

/// A text, or an object that holds it.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a document is a text, or an object with a text at \"text\"")]
enum Document {
    Text(String),
    Object(#[schemars(with = "Text")] Object<Text>),
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "DocumentText")]
struct Text {
    text: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RerankAnswer")]
struct Answer<'a> {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    results: Vec<Found<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    meta: Meta,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RerankResult")]
struct Found<'a> {
    index: usize,
    relevance_score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Returned<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReturnedDocument")]
struct Returned<'a> {
    text: &'a str,
}

/// What clients expect of a service that counts tokens; this one does not.
#[derive(Default, Serialize, JsonSchema)]
pub(super) struct Usage {
    prompt_tokens: u64,
    total_tokens: u64,
}

#[derive(Serialize, JsonSchema)]
struct Meta {
    api_version: ApiVersion,
}

#[derive(Serialize, JsonSchema)]
struct ApiVersion {
    version: &'static str,
}

/// As Jina answers, with what the first version of Cohere's interface has as well.
pub(super) async fn v1(State(app): State<App>, request: Request) -> Result<Response, Failure> {
    computed(app, request, |asked| reranked(asked, "1")).await
}

/// As the second version of Cohere's interface answers.
pub(super) async fn v2(State(app): State<App>, request: Request) -> Result<Response, Failure> {
    computed(app, request, |asked| reranked(asked, "2")).await
}

pub(super) fn v1_described(schemas: &mut Schemas<'_>) -> Operation {
    described(schemas, "rerank", "Reranks documents by a cross-encoder, as clients of Jina ask for it")
}

pub(super) fn v2_described(schemas: &mut Schemas<'_>) -> Operation {
    described(schemas, "rerank2", "Reranks documents by a cross-encoder, as clients of Cohere ask for it")
}

fn described(schemas: &mut Schemas<'_>, id: &'static str, summary: &'static str) -> Operation {
    let named = |name| value!({"properties": {"model": {"const": name}}});
    let models = schemas.app().inference().names(Task::Score).map(named).collect();
    let request = schemas.asked_of::<Asking>(models);
    Operation::new(id, "text models", summary)
        .body(request)
        .answers("Documents, best first", schemas.answered::<Answer<'_>>())
        .fails(&[Code::UnknownModel, Code::WrongModelType])
}

fn reranked(asked: &Asked<'_>, version: &'static str) -> Result<Vec<u8>, Error> {
    let Object(asking): Object<Asking> = serde_json::from_slice(asked.body)?;
    let model = asked.app.inference().model(&asking.model, Task::Score, Place::Common)?;
    asked.check("documents", asking.documents.len())?;
    if asking.top_n == Some(0) {
        return Err(Error::value("top_n", "invalid value: integer 0, expected at least 1"));
    }
    let pairs: Vec<_> = asking.documents.iter().map(|document| (asking.query.as_str(), document.text())).collect();
    let scores = model.score(&pairs, asked.deadline)?;
    let mut best: Vec<usize> = (0..scores.len()).collect();
    best.sort_by(|&left, &right| scores[right].total_cmp(&scores[left])); // equal ones stay in their order
    best.truncate(asking.top_n.map_or(usize::MAX, |top| usize::try_from(top).unwrap_or(usize::MAX)));
    let first = version == "1";
    let returned = first && asking.return_documents != Some(false);
    let found = |&index: &usize| Found {
        index,
        relevance_score: relevance(scores[index]),
        document: returned.then(|| Returned { text: asking.documents[index].text() }),
    };
    let answer = Answer {
        id: identity(fastrand::u128(..)),
        model: first.then(|| model.name()),
        results: best.iter().map(found).collect(),
        usage: first.then(Usage::default),
        meta: Meta { api_version: ApiVersion { version } },
    };
    model.answered(asked.began.elapsed());
    Ok(serde_json::to_vec(&answer)?)
}

/// A score without limits as a number from 0 to 1, in the same order.
fn relevance(score: f32) -> f64 {
    1.0 / (1.0 + f64::from(-score).exp())
}

/// A random UUID (version 4) of random bits.
fn identity(random: u128) -> String {
    let bits = random & !(0xf << 76) & !(0b11 << 62) | 4 << 76 | 0b10 << 62;
    let text = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

impl Document {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Object(Object(Text { text })) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevance_is_between_0_and_1_in_the_order_of_scores() {
        assert_eq!([f32::MIN, 0.0, f32::MAX].map(relevance), [0.0, 0.5, 1.0]);
        assert!(relevance(-11.0) < relevance(-10.0) && relevance(10.0) < relevance(11.0));
    }

    #[test]
    fn an_answer_has_an_identity() {
        assert_eq!(identity(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(identity(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
