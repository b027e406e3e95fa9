//! `POST /inference/encoder/{name}` and `POST /inference/cross/{name}`
//!
//! Texts are computed on threads that may be blocked. What a client no longer waits for ends with the request's time.

use crate::app::App;
use crate::http::failure::{Code, Failure};
use crate::http::openapi::{Operation, Schemas};
use crate::http::{Name, body, json, name};
use crate::inference::{Embedding, Error, Place, Unknown};
use crate::metrics::Refusal;
use crate::object::Object;
use axum::extract::{Request, State};
use axum::response::Response;
use rankwright_encoder::{EncodeError, Task};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Instant;

/// Texts that become vectors. Unknown keys are ignored, here and below.
#[derive(Deserialize, JsonSchema)]
struct Texts {
    #[schemars(length(min = 1), extend("x-limit" = "maxItemsPerRequest"))]
    texts: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Embeddings {
    /// Milliseconds.
    took: u64,
    /// One for each text.
    embeddings: Vec<Vector>,
}

/// Serialises as a list of numbers.
pub(super) struct Vector(pub(super) Embedding);

/// Texts whose fit to queries is scored.
#[derive(Deserialize, JsonSchema)]
struct Pairs {
    #[schemars(with = "Vec<Pair>", length(min = 1), extend("x-limit" = "maxItemsPerRequest"))]
    input: Vec<Object<Pair>>,
}

#[derive(Deserialize, JsonSchema)]
struct Pair {
    query: String,
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Scores {
    /// Milliseconds.
    took: u64,
    /// One for each pair, higher for the better one.
    scores: Vec<f32>,
}

/// A request with its body, and the times that count for it.
pub(super) struct Asked<'a> {
    pub(super) app: &'a App,
    pub(super) body: &'a [u8],
    /// When its head came.
    pub(super) began: Instant,
    /// When it is given up.
    pub(super) deadline: Instant,
}

/// Turns texts into vectors.
pub(super) async fn encoder(State(app): State<App>, path: Name, request: Request) -> Result<Response, Failure> {
    let name = name(path)?;
    app.inference().model(&name, Task::Embed, Place::Own)?;
    computed(app, request, move |asked| {
        let Object(Texts { texts }) = serde_json::from_slice(asked.body)?;
        asked.check("texts", texts.len())?;
        let model = asked.app.inference().model(&name, Task::Embed, Place::Own)?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let embeddings = model.embed(&texts, asked.deadline)?.into_iter().map(Vector).collect();
        model.answered(asked.began.elapsed());
        Ok(serde_json::to_vec(&Embeddings { took: asked.took(), embeddings })?)
    })
    .await
}

/// Says how well texts answer queries.
pub(super) async fn cross(State(app): State<App>, path: Name, request: Request) -> Result<Response, Failure> {
    let name = name(path)?;
    app.inference().model(&name, Task::Score, Place::Own)?;
    computed(app, request, move |asked| {
        let Object(Pairs { input }) = serde_json::from_slice(asked.body)?;
        asked.check("input", input.len())?;
        let model = asked.app.inference().model(&name, Task::Score, Place::Own)?;
        let pairs: Vec<_> = input.iter().map(|Object(pair)| (pair.query.as_str(), pair.text.as_str())).collect();
        let scores = model.score(&pairs, asked.deadline)?;
        model.answered(asked.began.elapsed());
        Ok(serde_json::to_vec(&Scores { took: asked.took(), scores })?)
    })
    .await
}

pub(super) fn encoder_described(schemas: &mut Schemas<'_>) -> Operation {
    let texts = schemas.asked::<Texts>();
    Operation::new("encode", "text models", "Turns texts into vectors")
        .named("name", schemas.app().inference().names(Task::Embed))
        .body(texts)
        .answers("A vector for each text", schemas.answered::<Embeddings>())
}

pub(super) fn cross_described(schemas: &mut Schemas<'_>) -> Operation {
    let pairs = schemas.asked::<Pairs>();
    Operation::new("score", "text models", "Says how well texts answer queries")
        .named("name", schemas.app().inference().names(Task::Score))
        .body(pairs)
        .answers("A score for each pair", schemas.answered::<Scores>())
}

/// Lets a request in as all others, and computes its answer on a thread that may be blocked.
pub(super) async fn computed(
    app: App,
    request: Request,
    compute: impl FnOnce(&Asked<'_>) -> Result<Vec<u8>, Error> + Send + 'static,
) -> Result<Response, Failure> {
    let began = Instant::now();
    let (place, body) = body::admit(&app, request).await?;
    let deadline = Instant::now() + app.limits().api.request_timeout;
    let work = {
        let app = app.clone();
        move || {
            let _place = place;
            compute(&Asked { app: &app, body: &body, began, deadline }).map_err(|error| Failure::of(error, &app))
        }
    };
    let answer = app.pool().block(work).await;
    answer.inspect_err(|_| app.metrics().refused(Refusal::Fault))?.map(json)
}

impl Asked<'_> {
    /// Refuses a list of no texts, and one of too many.
    pub(super) fn check(&self, path: &str, found: usize) -> Result<(), Error> {
        Error::of_none(path, found)?;
        Ok(self.app.limits().check_items(path, found)?)
    }

    /// Milliseconds since its head came.
    pub(super) fn took(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }
}

impl JsonSchema for Vector {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Vector".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<f32>::json_schema(generator)
    }
}

impl Serialize for Vector {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
    }
}

impl From<Unknown> for Failure {
    fn from(unknown: Unknown) -> Self {
        let message = unknown.to_string();
        match unknown {
            Unknown::Name { .. } => Self::new(Code::UnknownModel, message),
            Unknown::Kind { .. } => Self::new(Code::WrongModelType, message),
        }
    }
}

impl Failure {
    /// Counts what is counted of it as well.
    fn of(error: Error, app: &App) -> Self {
        match error {
            Error::Body(error) => Self::invalid(error.to_string(), ""),
            Error::Value { path, message } => Self::invalid(message, &path),
            Error::Excess(excess) => excess.into(),
            Error::Unknown(unknown) => Self::from(unknown).at("model"), // else it was refused before its body was read
            Error::Encode(error) => Self::of_encoder(&error, app),
        }
    }

    fn of_encoder(error: &EncodeError, app: &App) -> Self {
        match error {
            EncodeError::OutOfTime => {
                app.metrics().refused(Refusal::Time);
                Self::overloaded("the texts take longer than a request may (api.limits.requestTimeout)")
            }
            EncodeError::Busy { .. } => {
                app.metrics().refused(Refusal::Overload);
                Self::overloaded(error.to_string())
            }
            other => {
                app.metrics().refused(Refusal::Fault);
                tracing::error!(error = %other, "texts were not computed");
                Self::internal("the model failed to compute these texts; the log says why")
            }
        }
    }
}
