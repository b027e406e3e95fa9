//! `list_size`: the number of elements of a list of texts or numbers.

use super::{Definition, Source, source};
use crate::schema::FeatureType;
use crate::section::Section;

/// Number of elements of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSize {
    /// Where the list is.
    pub source: Source,
}

impl Definition for ListSize {
    const TYPE: FeatureType = FeatureType {
        name: "list_size",
        aliases: &[],
        example: "{name: tag_count, type: list_size, field: item.tags}",
        doc: "the number of elements of a list of texts or numbers",
    };

    fn read(section: &Section<'_>) -> Option<Self> {
        source::scoped(section).map(|source| Self { source })
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }
}
