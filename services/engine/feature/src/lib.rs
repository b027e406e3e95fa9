//! Features: what events leave behind in state, and how numbers come of it when a ranking is computed.
//!
//! A configuration's features are compiled once into a [`Plan`]: stored values become numbered slots, features become
//! columns. Events have effects on slots ([`effect`]); a ranking reads entities ([`Plan::reads`], [`Plan::follow`]) and
//! becomes a matrix of `f32` ([`Plan::rows`]), NaN where a value is missing. The same function serves and trains.

mod caches;
pub mod candidates;
pub mod column;
pub mod coverage;
pub mod effect;
pub mod encode;
#[cfg(test)]
mod every_type;
mod extractor;
mod item_texts;
mod lexicon;
pub mod plan;
mod readable;
pub mod seen;
pub mod slot;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod worked;

pub use candidates::{Candidates, Purpose};
pub use column::{Column, Tag};
pub use coverage::Coverage;
pub use effect::{ClosedInteraction, Effects, IMPRESSION};
pub use encode::{Encode, Encoded, Encoders, NoEncoders, Texts, Zeros};
pub use item_texts::ItemTexts;
pub use plan::{Error, Plan, StoredAs, readers};
pub use readable::can_read;
