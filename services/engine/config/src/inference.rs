//! `inference`: language models served as they are.

/// A language model that is asked at its own path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inference {
    /// What it computes.
    pub kind: InferenceKind,
    /// Which model it is.
    pub model: TextModel,
    /// Dimensions that its embeddings have to have; never there for scores.
    pub dim: Option<usize>,
}

/// What a language model computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InferenceKind {
    /// `bi-encoder`: texts to embeddings.
    BiEncoder,
    /// `cross-encoder`: pairs of query and text to scores.
    CrossEncoder,
}

/// A model of texts, and what its files are called.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextModel {
    /// Model handle: `<namespace>/<model>`, `file:///<folder>` or `s3://<bucket>/<prefix>/`.
    pub handle: String,
    /// The graph's file in the model's folder, where it is not called as everywhere.
    pub model_file: Option<String>,
    /// The tokenizer's.
    pub tokenizer_file: Option<String>,
}

impl InferenceKind {
    /// Its name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::BiEncoder => "bi-encoder",
            Self::CrossEncoder => "cross-encoder",
        }
    }
}
