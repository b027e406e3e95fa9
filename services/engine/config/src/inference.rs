//! `inference`: language models served as they are.

/// A language model. Checked here; not served yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inference {
    /// `bi-encoder`: texts to embeddings.
    BiEncoder {
        /// Model handle: `<namespace>/<model>` or `file:///<folder>`.
        model: String,
    },
    /// `cross-encoder`: pairs of query and text to scores.
    CrossEncoder {
        /// Model handle: `<namespace>/<model>` or `file:///<folder>`.
        model: String,
    },
}
