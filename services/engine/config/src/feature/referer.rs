//! `referer`: the mediums that a visitor came from.

use super::{Definition, Entity, Source, Visitor, source};
use crate::schema::{Key, key};
use crate::section::Section;

/// Kinds of sites that a visitor can come from, in the order of the columns of `referer`.
pub const REFERER_MEDIUMS: [&str; 6] = ["unknown", "search", "internal", "social", "email", "paid"];

/// Mediums that a visitor came from; six columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referer {
    /// Where the referer is (user, ranking or interaction field).
    pub source: Source,
    /// Whose history.
    pub scope: Visitor,
}

impl Definition for Referer {
    const NAME: &str = "referer";
    const EXAMPLE: &str = "{name: came_from, type: referer, source: ranking.referer, scope: session}";
    const DOC: &str = "the mediums a visitor came from: unknown, search, internal, social, email, paid, a column each";
    const OF_FIELDS_ALONE: bool = false;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("field", "", "a field of the ranking, the user or interactions, such as `ranking.referer` or `interaction:click.referer`"),
        key("scope", "", "for whom mediums are remembered: `session` or `user`"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let scope = Visitor::read(section);
        let source = source::required(section, &[Entity::Ranking, Entity::User, Entity::Interaction(None)])?;
        match (&source.entity, section.get("scope")) {
            (Entity::User, Some(value)) if scope == Visitor::Session => {
                value.warn("the scope session does nothing: a field of the user is kept with the user");
            }
            _ => {}
        }
        let scope = if source.entity == Entity::User { Visitor::User } else { scope };
        Some(Self { source, scope })
    }

    fn suffixes(&self) -> Vec<String> {
        REFERER_MEDIUMS.map(str::to_owned).to_vec()
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }
}
