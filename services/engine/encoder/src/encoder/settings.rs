//! What is asked of an encoder.

use crate::Pooling;
use std::thread;

/// How a model is computed. What is `None` is read from the files beside the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Texts' batches that are computed at a time, each by a copy of the model of its own; the number of processors.
    pub threads: usize,
    /// The most texts that are computed together, 8. With 8-bit graphs a text's result depends a little on those that it is
    /// computed with; with 1 it does not, which takes a tenth longer for pairs of 30 tokens, and twice as long for short titles.
    pub batch: usize,
    /// Batches of other calls that may come before a call's own; where it is as many, the call waits, or is refused.
    pub queue: usize,
    /// Bytes of results that are kept, of all texts or pairs; those not asked for lately go first. 64 MiB.
    pub memory: u64,
    /// Tokens that a text, or a pair, is cut to.
    pub max_tokens: Option<usize>,
    /// How an embedding is made of those of tokens.
    pub pooling: Option<Pooling>,
    /// Whether embeddings are brought to a length of 1.
    pub normalize: Option<bool>,
    /// The dimensions that embeddings have to have.
    pub dim: Option<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let (max_tokens, pooling, normalize, dim) = (None, None, None, None);
        Self { threads, batch: 8, queue: 256, memory: 64 << 20, max_tokens, pooling, normalize, dim }
    }
}

/// What a model computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Embeddings of texts.
    Embed,
    /// Scores of pairs of texts.
    Score,
}
