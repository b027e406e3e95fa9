//! `diversity`: how an item differs from the rest of its ranking.

use super::scope::ignored_scope;
use super::{Definition, Entity, Source, source};
use crate::schema::{Key, key};
use crate::section::Section;

/// How an item differs from the rest of its ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diversity {
    /// Item field (without `item.`).
    pub field: String,
    /// Number of items, from the top, that are compared; all where it is absent.
    pub top: Option<usize>,
}

impl Definition for Diversity {
    const NAME: &str = "diversity";
    const EXAMPLE: &str = "{name: price_diversity, type: diversity, field: item.price, top: 20}";
    const DOC: &str =
        "how an item differs from its ranking: distance from the median of a number, or how frequent its texts are";
    const OF_FIELDS_ALONE: bool = true;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("field", "", "an item field: a number, a text or a list of texts"),
        key("top", "all", "how many items every item is compared with: the first ones that have a value"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        ignored_scope(section, Some(&Entity::Item));
        let source = source::required(section, &[Entity::Item]);
        let top = section.get("top").and_then(|value| value.whole(1..=1_000_000));
        Some(Self { field: source?.field, top })
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::item(&self.field)]
    }
}
