//! `position`: where an item was shown.

use super::Definition;
use super::scope::ignored_scope;
use crate::schema::{Key, key};
use crate::section::Section;

/// The shown position in training, a constant when serving.
#[derive(Debug, Clone, PartialEq)]
pub struct Position {
    /// The constant.
    pub served: f64,
}

impl Definition for Position {
    const NAME: &str = "position";
    const EXAMPLE: &str = "{name: position, type: position, position: 5}";
    const DOC: &str =
        "the shown position in training, the given constant when serving, so that a model can unlearn position bias";
    const OF_FIELDS_ALONE: bool = false;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("position", "", "the position that every item has when serving, from 0"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        ignored_scope(section, None);
        let served = section.required("position", "the position that every item has when serving");
        let served = served.and_then(|value| value.number("a number, 0 or more", |number| number >= 0.0));
        Some(Self { served: served? })
    }
}
