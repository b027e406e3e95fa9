//! `interacted_with`: values shared with the items of the visitor's earlier interactions.

use super::counting::{DAY, MILLISECOND, interaction};
use super::source::item_field;
use super::{Definition, Source, Visitor};
use crate::schema::{Key, key};
use crate::section::Section;
use std::time::Duration;

/// Values shared with the items of the visitor's earlier interactions; one column a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InteractedWith {
    /// Interaction type.
    pub interaction: String,
    /// Item fields (without `item.`); never empty.
    pub fields: Vec<String>,
    /// Whose history.
    pub scope: Visitor,
    /// How many of the newest interactions; default 100.
    pub count: usize,
    /// None older than this before the newest one; default 24 hours.
    pub duration: Duration,
}

impl Definition for InteractedWith {
    const NAME: &str = "interacted_with";
    const EXAMPLE: &str =
        "{name: liked, type: interacted_with, interaction: click, field: [item.color, item.brand], scope: session}";
    const DOC: &str = "per field, how much of the item the visitor's newest interactions have in common with it";
    const OF_FIELDS_ALONE: bool = false;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("interaction", "", "type of the interactions that are remembered"),
        key("field", "", "item fields, such as `[item.color, item.brand]`; `item.id` is the item itself"),
        key("scope", "", "whose interactions: `session` or `user`"),
        key("count", "", "how many of the newest interactions are remembered"),
        key("duration", "", "how much older than the newest interaction the others may be"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let interaction = interaction(section, "interaction");
        let what = "a list of item.<field>";
        let fields = section.either("field", "source").or_else(|| section.missing("field", what));
        let fields = fields.map(|value| value.one_or_none_or_more(what).iter().filter_map(item_field).collect());
        let scope = Visitor::read(section);
        let count = section.or("count", 100, |value| value.whole(1..=100_000));
        let duration = section.or("duration", DAY, |value| value.duration(MILLISECOND));
        Some(Self { interaction: interaction?, fields: fields?, scope, count, duration })
    }

    fn suffixes(&self) -> Vec<String> {
        self.fields.clone()
    }

    fn sources(&self) -> Vec<Source> {
        self.fields.iter().map(Source::item).collect()
    }

    fn interactions(&self) -> Vec<&str> {
        vec![&self.interaction]
    }
}
