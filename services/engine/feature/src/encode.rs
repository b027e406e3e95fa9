//! Models of texts that features compute with, and what they compute for a ranking.
//!
//! A model takes milliseconds for a text, so that rows are computed in three steps: the plan says which texts it needs
//! ([`crate::Plan::texts`]), threads that may wait have them computed ([`Texts::encode`]), and the plan reads the results
//! ([`crate::Plan::rows_with`]).

mod models;
mod texts;
mod zeros;

pub(crate) use models::Models;
pub use texts::{Encoded, Texts};
pub use zeros::Zeros;

use rankwright_config::TextModel;
use rankwright_encoder::Encoder;
pub use rankwright_encoder::{EncodeError, Task};
use std::sync::Arc;
use std::time::Instant;

/// A number for each text of a model: an embedding, or one score.
type Vector = Arc<[f32]>;

/// A model of texts that is open. A text has to give the same numbers whichever others are computed beside it:
/// [`Settings::batch`](rankwright_encoder::Settings) is 1.
pub trait Encode: Send + Sync {
    /// What it computes.
    fn task(&self) -> Task;

    /// The dimensions of an embedding.
    fn dim(&self) -> usize;

    /// Of all that its numbers depend on.
    fn digest(&self) -> &str;

    /// What it computed lately of the text or pair of this [key](rankwright_encoder::key), without waiting or computing.
    fn recall(&self, _key: u128) -> Option<Vector> {
        None
    }

    /// Embeddings of texts, in their order.
    ///
    /// # Errors
    /// When the deadline passes first, or the model fails.
    fn embed(&self, texts: &[&str], deadline: Option<Instant>) -> Result<Vec<Vector>, EncodeError>;

    /// Scores of pairs of a query and a document, in their order.
    ///
    /// # Errors
    /// As [`Encode::embed`].
    fn score(&self, pairs: &[(&str, &str)], deadline: Option<Instant>) -> Result<Vec<f32>, EncodeError>;
}

impl Encode for Encoder {
    fn task(&self) -> Task {
        Self::task(self)
    }

    fn dim(&self) -> usize {
        Self::dim(self)
    }

    fn digest(&self) -> &str {
        Self::digest(self)
    }

    fn recall(&self, key: u128) -> Option<Vector> {
        Self::recall(self, key)
    }

    fn embed(&self, texts: &[&str], deadline: Option<Instant>) -> Result<Vec<Vector>, EncodeError> {
        Self::embed(self, texts, deadline)
    }

    fn score(&self, pairs: &[(&str, &str)], deadline: Option<Instant>) -> Result<Vec<f32>, EncodeError> {
        Self::score(self, pairs, deadline)
    }
}

/// Where a plan gets its models from.
pub trait Encoders: Send + Sync {
    /// The model that a configuration names so, opened once for all that name it.
    ///
    /// # Errors
    /// Says why there is none.
    fn open(&self, model: &TextModel) -> Result<Arc<dyn Encode>, String>;
}

/// Has no models.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEncoders;

impl Encoders for NoEncoders {
    fn open(&self, _: &TextModel) -> Result<Arc<dyn Encode>, String> {
        Err("this program opens no models of texts".to_owned())
    }
}
