//! `POST /v1/embeddings`: bi-encoders as clients of OpenAI ask for them.

use crate::app::App;
use crate::http::failure::{Code, Failure};
use crate::http::inference::{Asked, Vector, computed};
use crate::http::openapi::{Operation, Schemas};
use crate::http::rerank::Usage;
use crate::inference::{Embedding, Error, Place};
use crate::object::Object;
use crate::whole::optional;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rankwright_encoder::Task;
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json as value;

/// Texts that become vectors. Unknown keys are ignored.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "EmbeddingsRequest")]
struct Asking {
    /// Name of a bi-encoder.
    model: String,
    input: Input,
    encoding_format: Option<Format>,
    /// Those of the model, if they are given.
    #[serde(default, deserialize_with = "optional")]
    #[schemars(with = "Option<u64>", range(max = u64::MAX))]
    dimensions: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "input is a text, or a list of texts")]
enum Input {
    One(String),
    Many(#[schemars(length(min = 1), extend("x-limit" = "maxItemsPerRequest"))] Vec<String>),
    /// Of this model nobody else knows which number stands for what.
    #[schemars(skip)]
    Tokens(#[allow(dead_code)] Vec<Tokens>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Tokens {
    One(#[allow(dead_code)] u64),
    Many(#[allow(dead_code)] Vec<IgnoredAny>),
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "EmbeddingFormat")]
enum Format {
    #[default]
    Float,
    Base64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EmbeddingsAnswer")]
struct Answer<'a> {
    object: &'static str,
    data: Vec<Found>,
    model: &'a str,
    usage: Usage,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FoundEmbedding")]
struct Found {
    object: &'static str,
    index: usize,
    embedding: Encoded,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "EncodedEmbedding")]
enum Encoded {
    Float(Vector),
    /// Four bytes for each component, the lowest first.
    Base64(String),
}

/// Turns texts into vectors.
pub(super) async fn post(State(app): State<App>, request: Request) -> Result<Response, Failure> {
    computed(app, request, embedded).await
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    let models = schemas.app().inference().embedders();
    let named = |(name, dim)| value!({"properties": {"model": {"const": name}, "dimensions": {"enum": [dim, null]}}});
    let request = schemas.asked_of::<Asking>(models.map(named).collect());
    Operation::new("embeddings", "text models", "Turns texts into vectors, as clients of OpenAI ask for it")
        .body(request)
        .answers("A vector for each text", schemas.answered::<Answer<'_>>())
        .fails(&[Code::UnknownModel, Code::WrongModelType])
}

fn embedded(asked: &Asked<'_>) -> Result<Vec<u8>, Error> {
    let Object(asking): Object<Asking> = serde_json::from_slice(asked.body)?;
    let model = asked.app.inference().model(&asking.model, Task::Embed, Place::Common)?;
    let texts = asking.input.texts()?;
    asked.check("input", texts.len())?;
    let dim = model.dim();
    if let Some(other) = asking.dimensions.filter(|&dimensions| dimensions != dim as u64) {
        let message = format!("the model gives embeddings of {dim} dimensions, and cannot give {other}");
        return Err(Error::value("dimensions", message));
    }
    let embeddings = model.embed(&texts, asked.deadline)?;
    let found = |(index, embedding)| Found {
        object: "embedding",
        index,
        embedding: asking.encoding_format.unwrap_or_default().of(embedding),
    };
    let data = embeddings.into_iter().enumerate().map(found).collect();
    model.answered(asked.began.elapsed());
    Ok(serde_json::to_vec(&Answer { object: "list", data, model: model.name(), usage: Usage::default() })?)
}

impl Input {
    fn texts(&self) -> Result<Vec<&str>, Error> {
        match self {
            Self::One(text) => Ok(vec![text]),
            Self::Many(texts) => Ok(texts.iter().map(String::as_str).collect()),
            Self::Tokens(_) => {
                let message = "tokens are not accepted, as they are those of another model: send texts \
                               (LangChain: check_embedding_ctx_length=False)";
                Err(Error::value("input", message))
            }
        }
    }
}

impl Format {
    fn of(self, embedding: Embedding) -> Encoded {
        match self {
            Self::Float => Encoded::Float(Vector(embedding)),
            Self::Base64 => {
                let bytes: Vec<u8> = embedding.iter().flat_map(|component| component.to_le_bytes()).collect();
                Encoded::Base64(STANDARD.encode(bytes))
            }
        }
    }
}
