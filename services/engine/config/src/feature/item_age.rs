//! `item_age`: seconds since a time that the item carries.

use super::scope::ignored_scope;
use super::source::item_field;
use super::{Definition, Entity, Source};
use crate::schema::{Key, key};
use crate::section::Section;

/// Seconds since a time that the item carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemAge {
    /// Where the time is.
    pub source: AgeSource,
}

/// Where an item's time is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AgeSource {
    /// An item field: ISO date and time with a zone, or epoch seconds as number or string.
    Field(String),
    /// The time of the item's newest metadata event.
    Updated,
}

impl Definition for ItemAge {
    const NAME: &str = "item_age";
    const EXAMPLE: &str = "{name: age, type: item_age, source: item.created}";
    const DOC: &str =
        "seconds from a date that the item carries, or from its newest metadata event (item.timestamp), to the ranking";
    const OF_FIELDS_ALONE: bool = false;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("source", "", "an item field with epoch seconds or an ISO 8601 date and time with a zone, or `item.timestamp`: the time of the item's newest metadata event"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        ignored_scope(section, Some(&Entity::Item));
        let source = section.either("source", "field").or_else(|| section.missing("source", "item.<field>"));
        let source = match item_field(&source?)? {
            field if field == "timestamp" => AgeSource::Updated,
            field => AgeSource::Field(field),
        };
        Some(Self { source })
    }

    fn sources(&self) -> Vec<Source> {
        match &self.source {
            AgeSource::Field(field) => vec![Source::item(field)],
            AgeSource::Updated => vec![],
        }
    }
}
