//! `list_size`: the number of elements of a list of texts or numbers.

use super::{Definition, Source, source};
use crate::schema::{Key, key};
use crate::section::Section;

/// Number of elements of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSize {
    /// Where the list is.
    pub source: Source,
}

impl Definition for ListSize {
    const NAME: &str = "list_size";
    const EXAMPLE: &str = "{name: tag_count, type: list_size, field: item.tags}";
    const DOC: &str = "the number of elements of a list of texts or numbers";
    const OF_FIELDS_ALONE: bool = true;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("field", "", "the field with the list: `item.x`, `user.x` or `ranking.x`"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        source::scoped(section).map(|source| Self { source })
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }
}
