//! Texts become terms: words by the rules of their language, without those that say nothing, cut to their stems.
//!
//! An [`Analyzer`] of a [`Language`] does what full-text search engines do with documents and queries, so that a term of
//! one is found in the other. It knows nothing of features, models or dictionaries.

mod analyzer;
mod language;
mod normal;
mod split;
mod stop;

pub use analyzer::Analyzer;
pub use language::{Language, UnknownLanguage};
