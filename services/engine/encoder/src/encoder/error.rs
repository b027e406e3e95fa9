//! What an encoder refuses with.

use super::Task;

/// Why texts were not computed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The deadline passed first.
    #[error("the encoder did not answer in time")]
    OutOfTime,
    /// Too much waits already.
    #[error("the encoder is busy: {waiting} batches are waiting")]
    Busy {
        /// Batches of other calls that come first.
        waiting: usize,
    },
    /// Embeddings were asked of a model that gives scores, or the other way round.
    #[error("the model computes {}", match .model { Task::Embed => "embeddings of texts, not scores of pairs", Task::Score => "scores of pairs, not embeddings of texts" })]
    WrongTask {
        /// What the model computes.
        model: Task,
    },
    /// The tokenizer or ONNX Runtime refused texts.
    #[error("failed to compute texts: {cause}")]
    Failed {
        /// What it says.
        cause: String,
    },
}

impl EncodeError {
    pub(super) fn failed(cause: &str) -> Self {
        Self::Failed { cause: cause.to_owned() }
    }
}
