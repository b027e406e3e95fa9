//! `word_count`: the number of words of a text.

use super::{Definition, Source, source};
use crate::section::Section;

/// Number of words of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordCount {
    /// Where the text is.
    pub source: Source,
}

impl Definition for WordCount {
    const NAME: &str = "word_count";
    const EXAMPLE: &str = "{name: title_words, type: word_count, field: item.title}";
    const DOC: &str = "the number of words of a text";
    const OF_FIELDS_ALONE: bool = true;

    fn read(section: &Section<'_>) -> Option<Self> {
        source::scoped(section).map(|source| Self { source })
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }
}
