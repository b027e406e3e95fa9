//! What the HTTP interface can do only with the help of others: take in events, train, tell how ingest is doing.
//!
//! A program plugs in what it has. Without a [`Feedback`] or [`Training`] the paths are there and say what is missing.

use rankwright_event::Event;
use rankwright_state::{BoxFuture, Key};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Takes in events that came over HTTP.
pub trait Feedback: Send + Sync {
    /// Takes in a batch, all or nothing; ready when its effects are committed.
    ///
    /// The future is driven to its end even when the client has gone away.
    fn feed(&self, events: Vec<Event>) -> BoxFuture<'_, Result<Fed, FeedError>>;

    /// Why the results of events cannot be stored until a person changes a setting or a right, where that is so.
    fn refused(&self) -> Option<String> {
        None
    }
}

/// What became of a batch of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fed {
    /// Events that were processed; repetitions of known ones included.
    pub accepted: u64,
    /// Feature values written.
    pub updated: u64,
}

/// Why a batch had no effect.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// An event that cannot be taken in: the batch is refused with 400.
    #[error("event {index}: {message}")]
    Invalid {
        /// Its index in the batch, from 0.
        index: usize,
        /// The path inside the event, such as `items[2].id`; empty for the whole event.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// Too much is waiting already: answered with 503, the client may try again.
    #[error("too many events are waiting")]
    Busy,
    /// The batch could not be committed: answered with 503, the client may try again.
    #[error("failed to take in the events: {0}")]
    Failed(String),
}

/// Trains a model and publishes it as a new version.
pub trait Training: Send + Sync {
    /// Trains on all click-throughs there are; the value is the body of the answer. The caller loads the new version.
    ///
    /// The future is driven to its end even when the client has gone away.
    fn train<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Value, TrainError>>;

    /// What such a body looks like, for the description of the interface.
    fn answer(&self, _schemas: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object"})
    }
}

/// Why there is no new version.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// Nothing to train on, or nothing that training could change: answered with 409.
    #[error("{0}")]
    Impossible(String),
    /// This model is being trained already: answered with 409.
    #[error("this model is being trained already")]
    Busy,
    /// Training began and failed: answered with 500.
    #[error("training failed: {0}")]
    Failed(String),
}

/// Compares models on the click-throughs that are stored.
pub trait Evaluation: Send + Sync {
    /// Why there is nothing to compare here, where that is so.
    fn unavailable(&self) -> Option<String>;

    /// Compares; it has a thread of its own until it is done. `progress` takes the number of rankings read so far.
    ///
    /// # Errors
    /// Says why there is no report.
    fn evaluate(&self, compared: &Compared, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Evaluated, String>;

    /// What a report looks like, for the description of the interface.
    fn report(&self, _schemas: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object"})
    }
}

/// What is compared.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Compared {
    /// Names of models, or `MODEL@VERSION`; all that rank and have a version, where none is named.
    #[schemars(length(max = 10))]
    pub models: Vec<String>,
    /// A ranking field: figures for each of its values as well.
    pub by: Option<String>,
}

/// What a comparison came to.
#[derive(Debug)]
pub struct Evaluated {
    /// The report.
    pub report: Value,
    /// The lists that models rank worst, as requests.
    pub lists: Vec<WorstRequest>,
}

/// A list of a click-through as a rank request.
#[derive(Debug)]
pub struct WorstRequest {
    /// The model that ranks it worst.
    pub model: String,
    /// When it was shown, in milliseconds since 1970.
    pub time: u64,
    /// Ids of the items that the visitor chose.
    pub relevant: Vec<String>,
    /// How many items it has.
    pub items: usize,
    /// The JSON text.
    pub body: Box<[u8]>,
}

/// Forgets an item or a visitor, in all stores.
pub trait Forget: Send + Sync {
    /// Why nothing can be forgotten here, where that is so.
    fn unavailable(&self) -> Option<String> {
        None
    }

    /// Removes what the stores hold of the item or visitor of a key.
    ///
    /// The future is driven to its end even when the client has gone away.
    fn forget(&self, key: Key) -> BoxFuture<'_, Result<Forgotten, ForgetError>>;
}

/// What was removed, and what was not.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Forgotten {
    /// In words.
    pub removed: Vec<String>,
    /// In words; it is to be begun again then.
    pub left: Vec<String>,
}

/// Why nothing, or not all, was forgotten.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// It cannot be done while this process runs: answered with 409.
    #[error("{0}")]
    Elsewhere(String),
    /// It forgets others: answered with 503, the client may try again.
    #[error("too many items and visitors are being forgotten at this moment: try again later")]
    Busy,
    /// A store failed: answered with 503, the client may try again.
    #[error("failed to forget: {0}")]
    Failed(String),
}

/// Chooses which lines of the log are written, by a filter; says why it cannot.
pub type SetLog = fn(filter: &str) -> Result<(), String>;

/// Tells how a part of the process is doing that serving knows nothing of.
pub trait Status: Send + Sync {
    /// Its entry in the answer of `GET /status`.
    fn status(&self) -> Value;

    /// The same for callers who may not see ids.
    fn without_ids(&self) -> Value {
        self.status()
    }
}
