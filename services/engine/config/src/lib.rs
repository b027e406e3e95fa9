//! The configuration: types, defaults and every check that needs no data.
//!
//! [`Config::parse`] reads YAML (JSON is YAML) and either gives a [`Config`] with every default filled in and every
//! alias resolved, or [`Errors`]: all mistakes of the text at once, each with its line, its path, what was found and
//! what is accepted. Code behind it never sees an unchecked value.

pub mod api;
pub mod config;
pub mod core;
pub mod duration;
pub mod environment;
pub mod error;
pub mod feature;
pub mod inference;
pub mod model;
pub mod schema;
pub mod secret;
pub mod source;
pub mod state;
pub mod train;

mod left_out;
mod nearest;
mod read;
mod report;
mod scalar;
mod section;
mod shown;
mod spelling;
mod trace;
mod tree;
mod type_name;
mod value;

pub use api::{Api, Limits};
pub use config::Config;
pub use core::Core;
pub use environment::Environment;
pub use error::{Errors, Invalid, LoadError, Mistake, Warning};
pub use feature::Feature;
pub use inference::{Inference, InferenceKind, TextModel};
pub use model::Model;
pub use secret::Secret;
pub use shown::{Shown, shown};
pub use source::{DeadLetter, EventFormat, FileOrder, Offset, SourceConfig, SourceKind, Subscription};
pub use spelling::ranking_field;
pub use state::State;
pub use train::ClickthroughStore;
