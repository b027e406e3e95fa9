//! `boolean`: 1 for true, 0 for false.

use super::{Definition, Source, source};
use crate::schema::FeatureType;
use crate::section::Section;

/// 1 or 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boolean {
    /// Where the boolean is.
    pub source: Source,
}

impl Definition for Boolean {
    const TYPE: FeatureType = FeatureType {
        name: "boolean",
        aliases: &[],
        example: "{name: available, type: boolean, field: item.available}",
        doc: "1 for true, 0 for false",
    };

    fn read(section: &Section<'_>) -> Option<Self> {
        source::scoped(section).map(|source| Self { source })
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }
}
