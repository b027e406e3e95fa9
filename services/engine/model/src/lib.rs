//! Models: what a served model is, how it scores a matrix of feature rows, and how its versions are kept.
//!
//! An [`Ensemble`] evaluates the trees of XGBoost and LightGBM without either library, bit for bit as they do, so that
//! serving links no C++; it says how much of a score each column brings as well. A [`Model`] puts it and the baselines (`shuffle`, `noop`) behind one scoring interface. A
//! [`Version`] is one trained model as an immutable artifact; a [`VersionStore`] publishes and finds versions.

pub mod ensemble;
mod error;
pub mod fleet;
mod foreign;
mod lightgbm;
pub mod model;
mod recommender;
pub mod shuffle;
pub mod store;
pub mod version;
mod xgboost;

pub use ensemble::{Contributions, Ensemble, NoContributions};
pub use error::ReadError;
pub use fleet::{Alone, Fleet, RedisFleet, Serves, Turn};
pub use foreign::Foreign;
pub use model::{LoadError, Model, fallback_scores, rank_order};
pub use recommender::{NoAnswer, Recommendation, Recommender};
pub use shuffle::Shuffle;
pub use store::{MemoryVersions, Place, RedisVersions, StoreError, VersionStore, Versions};
pub use version::{Bin, LearningCurve, Refusal, Round, Spread, TrainingRecord, Verdict};
pub use version::{Column, ColumnMismatch, DecodeError, EncodeError, FeatureWeight, InvalidVersionId};
pub use version::{Kind, Metadata, TrainedOn, Version, VersionId};
