//! `boolean`: 1 for true, 0 for false.

use super::{Definition, Source, source};
use crate::section::Section;

/// 1 or 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boolean {
    /// Where the boolean is.
    pub source: Source,
}

impl Definition for Boolean {
    const NAME: &str = "boolean";
    const EXAMPLE: &str = "{name: available, type: boolean, field: item.available}";
    const DOC: &str = "1 for true, 0 for false";
    const OF_FIELDS_ALONE: bool = true;

    fn read(section: &Section<'_>) -> Option<Self> {
        source::scoped(section).map(|source| Self { source })
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }
}
