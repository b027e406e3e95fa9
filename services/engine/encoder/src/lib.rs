//! Texts become embeddings, pairs of texts become scores.
//!
//! A [`Handle`] names a model, [`Sources`] find its files, [`Runtime`] opens ONNX Runtime, and an [`Encoder`] computes.
//! [`Vectors`] and [`Scores`] hold what was computed elsewhere, read from CSV files; [`packed`] keeps a vector in a quarter
//! of its size, and [`distance`] compares exact ones. This is the only crate that opens ONNX Runtime. It opens no sockets: the
//! caller brings a [`Fetch`].

mod cache_file;
pub mod distance;
mod encoder;
mod handle;
mod model;
pub mod packed;
mod runtime;

pub use cache_file::{CacheFileError, Scores, Vectors};
pub use encoder::{EncodeError, Encoder, Settings, Task, key};
pub use handle::{Fetch, FetchError, FileNames, Files, FilesError, Handle, HandleError, Object, Sources};
pub use model::{ModelError, Pooling};
pub use runtime::{PINNED, Runtime, RuntimeError};
