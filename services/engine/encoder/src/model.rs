//! A graph and its tokenizer: what goes in, what comes out, and how the one becomes the other.

mod batch;
mod graph;
mod rules;
mod tokens;

pub(crate) use batch::{Batch, split};
pub(crate) use graph::Graph;
pub use rules::Pooling;
pub(crate) use rules::Rules;
pub(crate) use tokens::{Encoded, Tokens};

use std::io;
use std::path::PathBuf;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file was not read.
    #[error("failed to read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The file of the graph is none, or a part of one.
    #[error("{path} is no ONNX graph, or was cut off ({bytes} bytes)")]
    NoGraph {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// What ONNX Runtime says.
        source: ort::Error,
    },
    /// The graph asks for an input that texts do not give, or lacks one that they do.
    #[error("{path} takes the inputs {found}, an encoder takes input_ids, attention_mask and perhaps token_type_ids")]
    Inputs {
        /// The file.
        path: PathBuf,
        /// What it takes.
        found: String,
    },
    /// The graph has no output that is known.
    #[error(
        "{path} has the outputs {found}, an encoder has one of logits, sentence_embedding, last_hidden_state and \
         token_embeddings, of 32-bit floats"
    )]
    Outputs {
        /// The file.
        path: PathBuf,
        /// What it has.
        found: String,
    },
    /// An input or output is not of the type that an encoder has.
    #[error("{path}: {name} is {found} and has to be {expected}")]
    Type {
        /// The file.
        path: PathBuf,
        /// The input or output.
        name: String,
        /// Its type.
        found: String,
        /// What it has to be.
        expected: &'static str,
    },
    /// A file beside the graph asks for what is not computed here.
    #[error(
        "{path} asks for {found}, only {known} are known here: export the graph with an output sentence_embedding, which \
         has this done"
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What it asks for.
        found: String,
        /// What it may ask for.
        known: &'static str,
    },
    /// The file of the tokenizer is none.
    #[error("{path} is no tokenizer of the tokenizers library: {cause}")]
    NoTokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// A text was not computed when the model was opened.
    #[error("{path} does not compute a text of a few words")]
    Probe {
        /// The file.
        path: PathBuf,
        /// What ONNX Runtime says.
        source: ort::Error,
    },
    /// The model's embeddings have another size than wanted.
    #[error("{path} gives embeddings of {found} dimensions, not {expected}")]
    Dim {
        /// The file.
        path: PathBuf,
        /// What was wanted.
        expected: usize,
        /// What it gives.
        found: usize,
    },
}
