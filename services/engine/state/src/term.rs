//! Strings that are compared often.

use compact_str::CompactString;
use std::hash::BuildHasher;

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
    /// The hash of any string, to compare with [`Term::hash`].
    pub fn hash_of(text: &str) -> u64 {
        foldhash::fast::FixedState::with_seed(0).hash_one(text)
    }

    /// Hash of the text.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T: AsRef<str>> From<T> for Term {
    fn from(text: T) -> Self {
        Self { hash: Self::hash_of(text.as_ref()), text: CompactString::from(text.as_ref()) }
    }
}
