//! Text models that clients ask directly: which there are, and the errors of a request.

use crate::limits::Excess;
use crate::metrics::{InferenceFailure, InferenceMetrics, Metrics};
use crate::models::unknown::listed;
use rankwright_encoder::{EncodeError, Encoder, Task};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A vector for a text.
pub type Embedding = Arc<[f32]>;

/// Computes embeddings of texts, or scores of pairs of texts. The calling thread is blocked meanwhile.
pub trait TextModel: Send + Sync {
    /// Which of both.
    fn task(&self) -> Task;

    /// The dimensions of an embedding.
    fn dim(&self) -> usize;

    /// An embedding for each text, or an error after the deadline, or at once where too much waits.
    ///
    /// # Errors
    /// Where there is none in time.
    fn embed(&self, texts: &[&str], deadline: Instant) -> Result<Vec<Embedding>, EncodeError>;

    /// A score for each pair of query and document, higher for the better one, in the same way.
    ///
    /// # Errors
    /// Where there is none in time.
    fn score(&self, pairs: &[(&str, &str)], deadline: Instant) -> Result<Vec<f32>, EncodeError>;
}

impl TextModel for Encoder {
    fn task(&self) -> Task {
        self.task()
    }

    fn dim(&self) -> usize {
        self.dim()
    }

    fn embed(&self, texts: &[&str], deadline: Instant) -> Result<Vec<Embedding>, EncodeError> {
        self.try_embed(texts, Some(deadline))
    }

    fn score(&self, pairs: &[(&str, &str)], deadline: Instant) -> Result<Vec<f32>, EncodeError> {
        self.try_score(pairs, Some(deadline))
    }
}

/// The language models that are served by themselves.
pub(crate) struct Inference(BTreeMap<String, Served>);

/// One of them.
pub(crate) struct Served {
    name: String,
    model: Arc<dyn TextModel>,
    metrics: Arc<InferenceMetrics>,
}

/// What is told of one.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TextModelStatus")]
pub(crate) struct Told {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dim: Option<usize>,
}

/// A request that is answered with an error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Not what is expected.
    #[error("{0}")]
    Body(#[from] serde_json::Error),
    /// A value of the body is none that is accepted.
    #[error("{message}")]
    Value {
        /// Where it is.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// Too much.
    #[error(transparent)]
    Excess(#[from] Excess),
    /// The name is that of no model for this.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The model did not answer.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// A name that no language model answers to, or not here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unknown {
    /// The configuration has no such model.
    #[error("no inference model named {name:?} is configured; there {}", listed(.known))]
    Name {
        /// As asked for.
        name: String,
        /// Those that are configured.
        known: Vec<String>,
    },
    /// It computes something else.
    #[error("inference model {name:?} is of type {kind}: ask POST {path}")]
    Kind {
        /// As asked for.
        name: String,
        /// Its type in the configuration.
        kind: &'static str,
        /// Where it answers.
        path: String,
    },
}

/// Where models of a type answer: at their own path, or at one for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// `/inference/...`.
    Own,
    /// `/v1/...`.
    Common,
}

impl Inference {
    /// These models, with their metrics.
    pub(crate) fn new(models: BTreeMap<String, Arc<dyn TextModel>>, metrics: &Metrics) -> Self {
        let served = |(name, model): (String, Arc<dyn TextModel>)| {
            let metrics = metrics.inference(&name)?;
            Some((name.clone(), Served { name, model, metrics }))
        };
        Self(models.into_iter().filter_map(served).collect())
    }

    /// A model of this name that computes this; the error says where to ask one that computes something else.
    pub(crate) fn model(&self, name: &str, task: Task, place: Place) -> Result<&Served, Unknown> {
        let Some(served) = self.0.get(name) else {
            let name = name.chars().take(100).collect();
            return Err(Unknown::Name { name, known: self.0.keys().cloned().collect() });
        };
        let found = served.model.task();
        if found == task {
            return Ok(served);
        }
        let path = match (place, found) {
            (Place::Own, Task::Embed) => format!("/inference/encoder/{name}"),
            (Place::Own, Task::Score) => format!("/inference/cross/{name}"),
            (Place::Common, Task::Embed) => "/v1/embeddings".to_owned(),
            (Place::Common, Task::Score) => "/v1/rerank".to_owned(),
        };
        Err(Unknown::Kind { name: name.to_owned(), kind: kind(found), path })
    }

    /// Names of those that compute this.
    pub(crate) fn names(&self, task: Task) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(_, served)| served.model.task() == task).map(|(name, _)| name.as_str())
    }

    /// Those that give embeddings, with their dimensions.
    pub(crate) fn embedders(&self) -> impl Iterator<Item = (&str, usize)> {
        self.names(Task::Embed).filter_map(|name| Some((name, self.0.get(name)?.dim())))
    }

    /// What is told of all.
    pub(crate) fn told(&self) -> BTreeMap<&str, Told> {
        self.0.iter().map(|(name, served)| (name.as_str(), served.told())).collect()
    }
}

impl Served {
    /// Name in the configuration.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The dimensions of an embedding.
    pub(crate) fn dim(&self) -> usize {
        self.model.dim()
    }

    /// An embedding for each text.
    pub(crate) fn embed(&self, texts: &[&str], deadline: Instant) -> Result<Vec<Embedding>, EncodeError> {
        self.metrics.asked(texts.len());
        self.model.embed(texts, deadline).inspect_err(|error| self.failed(error))
    }

    /// A score for each pair.
    pub(crate) fn score(&self, pairs: &[(&str, &str)], deadline: Instant) -> Result<Vec<f32>, EncodeError> {
        self.metrics.asked(pairs.len());
        self.model.score(pairs, deadline).inspect_err(|error| self.failed(error))
    }

    /// Counts an answered request.
    pub(crate) fn answered(&self, took: Duration) {
        self.metrics.answered(Instant::now(), took);
    }

    fn failed(&self, error: &EncodeError) {
        self.metrics.failed(match error {
            EncodeError::OutOfTime => InferenceFailure::Time,
            EncodeError::Busy { .. } => InferenceFailure::Busy,
            _ => InferenceFailure::Fault,
        });
    }

    fn told(&self) -> Told {
        let task = self.model.task();
        Told { kind: kind(task), dim: (task == Task::Embed).then(|| self.model.dim()) }
    }
}

fn kind(task: Task) -> &'static str {
    match task {
        Task::Embed => "bi-encoder",
        Task::Score => "cross-encoder",
    }
}

impl Error {
    /// A value that is not accepted.
    pub(crate) fn value(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Value { path: path.into(), message: message.into() }
    }

    /// Refuses a list without entries.
    pub(crate) fn of_none(path: &str, found: usize) -> Result<(), Self> {
        if found == 0 { Err(Self::value(path, "the list is empty: at least one entry is needed")) } else { Ok(()) }
    }
}
