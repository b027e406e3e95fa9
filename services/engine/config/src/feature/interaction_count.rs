//! `interaction_count`: an ever-growing counter.

use super::counting::interaction;
use super::{Definition, Scope, Source};
use crate::schema::{Key, key};
use crate::section::Section;

/// An ever-growing counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InteractionCount {
    /// Interaction type.
    pub interaction: String,
    /// Whose counter.
    pub scope: Scope,
}

impl Definition for InteractionCount {
    const NAME: &str = "interaction_count";
    const EXAMPLE: &str = "{name: clicks, type: interaction_count, interaction: click, scope: item}";
    const DOC: &str = "an ever-growing number of interactions";
    const OF_FIELDS_ALONE: bool = false;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("interaction", "", "type of the interactions that are counted"),
        key("scope", "", "what has a counter of its own: `item`, `user`, `session`, `global` (one counter), each value of `item.<field>`, or an item within one value of `ranking.<field>`"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let (interaction, scope) = (interaction(section, "interaction"), Scope::read(section));
        Some(Self { interaction: interaction?, scope })
    }

    fn sources(&self) -> Vec<Source> {
        self.scope.source().into_iter().collect()
    }

    fn interactions(&self) -> Vec<&str> {
        vec![&self.interaction]
    }
}
