//! Texts become terms: words by the rules of their language, without those that say nothing, cut to their stems.
//!
//! An [`Analyzer`] of a [`Language`] does what full-text search engines do with documents and queries, so that a term of
//! one is found in the other. A [`Bag`] keeps the terms of a text, and a [`Dictionary`] of a catalog weighs them for BM25
//! ([`Bm25Query`]). The crate knows nothing of events, features or models.

mod analyzer;
mod bag;
mod bm25;
mod dictionary;
mod english;
mod language;
mod normal;
mod split;
mod stop;
mod term;

pub use analyzer::Analyzer;
pub use bag::{Bag, BagRef};
pub use bm25::Bm25Query;
pub use dictionary::{Dictionary, DictionaryBuilder, DictionaryError};
pub use language::{Language, UnknownLanguage};
