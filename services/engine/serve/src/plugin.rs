//! What the HTTP interface can do only with the help of others: take in events, train, tell how ingest is doing.
//!
//! A program plugs in what it has. Without a [`Feedback`] or [`Training`] the paths are there and say what is missing.

use rankwright_event::Event;
use rankwright_state::{BoxFuture, Key};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

/// Takes in events that came over HTTP.
pub trait Feedback: Send + Sync {
    /// Takes in a batch, all or nothing; ready when its effects are committed.
    ///
    /// The future is driven to its end even when the client has gone away.
    fn feed(&self, events: Vec<Event>) -> BoxFuture<'_, Result<Fed, FeedError>>;

    /// Why what comes of events cannot be stored until somebody changes a setting or a right, where that is so.
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

/// Forgets an item or a visitor, in all stores.
pub trait Forget: Send + Sync {
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
}
