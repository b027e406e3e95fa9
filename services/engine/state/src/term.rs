//! Strings that are compared often.

use compact_str::CompactString;
use std::hash::BuildHasher;
use std::slice;
use std::sync::Arc;

/// A string beside its hash: features compare values by the hash alone, so that a ranking costs no string work.
///
/// The hash is never stored; it is computed again when a value is read from disk. Two of a million different strings
/// share one with a probability of 3e-8.
#[derive(Debug, Clone)]
pub struct Term {
    hash: u64,
    text: CompactString,
}

impl Term {
    /// The hash of any string, to compare with [`FieldValue::hashes`](crate::FieldValue::hashes).
    pub fn hash_of(text: &str) -> u64 {
        foldhash::fast::FixedState::with_seed(0).hash_one(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its hash, and its text, as lists of one.
    pub(crate) fn one(&self) -> (&[u64], &[CompactString]) {
        (slice::from_ref(&self.hash), slice::from_ref(&self.text))
    }
}

impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Term {
    /// Of a text as it is kept.
    pub(crate) fn from_text(text: CompactString) -> Self {
        Self { hash: Self::hash_of(&text), text }
    }
}

impl<T: AsRef<str>> From<T> for Term {
    fn from(text: T) -> Self {
        Self::from_text(CompactString::from(text.as_ref()))
    }
}

/// A list of strings beside their hashes. These lie side by side: what features look at takes few cache lines.
#[derive(Debug, Clone)]
pub struct Terms {
    hashes: Arc<[u64]>,
    texts: Arc<[CompactString]>,
}

impl Terms {
    /// Of texts as they are kept.
    pub(crate) fn from_texts(texts: Vec<CompactString>) -> Self {
        Self { hashes: texts.iter().map(|text| Term::hash_of(text)).collect(), texts: texts.into() }
    }

    /// The hashes of the strings, in their order.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The strings.
    pub fn texts(&self) -> &[CompactString] {
        &self.texts
    }
}

impl PartialEq for Terms {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl<T: AsRef<str>> FromIterator<T> for Terms {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        Self::from_texts(texts.into_iter().map(|text| CompactString::from(text.as_ref())).collect())
    }
}
