//! `number`: a number of an item, a user or a ranking, unchanged.

use super::{Definition, Source, source};
use crate::section::Section;

/// A number as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// Where the number is.
    pub source: Source,
}

impl Definition for Number {
    const NAME: &str = "number";
    const EXAMPLE: &str = "{name: price, type: number, field: item.price}";
    const DOC: &str = "a number of an item, a user or a ranking, unchanged";
    const OF_FIELDS_ALONE: bool = true;

    fn read(section: &Section<'_>) -> Option<Self> {
        source::scoped(section).map(|source| Self { source })
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }
}
