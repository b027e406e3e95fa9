//! Training: click-throughs become a data set, a split, a fitted model, its metrics and a published version.
//!
//! The only crate that links the boosters' C++ libraries, and it calls them to train alone: models are scored by
//! `rankwright-model`, here as in serving. [`train_model`] is the way in.

mod ahead;
pub mod booster;
pub mod dataset;
mod digest;
mod error;
pub mod evaluate;
pub mod examination;
pub mod examples;
pub mod export;
mod fields;
pub mod gate;
pub mod lists;
mod memory;
pub mod metric;
mod patience;
mod quality;
mod recommending;
pub mod report;
pub mod rows;
pub mod selector;
mod semantic;
mod settings;
pub mod split;
mod spreads;
#[cfg(test)]
mod testing;
pub mod train;
mod trees;
pub mod warmup;

pub use error::Error;
pub use evaluate::{EvaluateError, Evaluation};
pub use gate::{Decision, Reason, decide};
pub use patience::restart_with_patient_threads;
pub use quality::{Candidate, Measured, Running};
pub use report::{Answer, FeatureGain, Quality, Trained, Weight, WeightedQuality, weights};
pub use semantic::{Embed, EmbedError, no_embeddings};
pub use train::{Progress, Training, model_columns, train_model};
