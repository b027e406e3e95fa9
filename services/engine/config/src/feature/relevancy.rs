//! `relevancy` (deprecated): the score that came with an item.

use super::scope::ignored_scope;
use super::{Definition, Entity, Source};
use crate::section::Section;

/// The per-item ranking field `relevancy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relevancy;

impl Relevancy {
    /// The field that it reads.
    pub fn source(&self) -> Source {
        Source { entity: Entity::Ranking, field: "relevancy".to_owned() }
    }
}

impl Definition for Relevancy {
    const NAME: &str = "relevancy";
    const EXAMPLE: &str = "{name: relevancy, type: relevancy}";
    const DOC: &str = "deprecated: the item's field relevancy in the ranking; use number with field ranking.relevancy";
    const OF_FIELDS_ALONE: bool = true;

    fn read(section: &Section<'_>) -> Option<Self> {
        if let Some(of_type) = section.get("type") {
            of_type.warn("the feature type relevancy is deprecated: use number with field ranking.relevancy");
        }
        ignored_scope(section, None);
        Some(Self)
    }
}
