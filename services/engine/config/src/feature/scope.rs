//! What values are keyed by.

use super::{Entity, Source, reference};
use crate::error::shown;
use crate::nearest::nearest;
use crate::section::Section;
use crate::value::Value;

/// What a value is keyed by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One value for everything.
    Global,
    /// By item.
    Item,
    /// By visitor.
    User,
    /// By visit.
    Session,
    /// By each value of an item field, as in a rate.
    ItemField(String),
    /// By the item within rankings with the same value of a ranking field, as in a rate.
    RankingField(String),
}

/// Whose history a profile is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visitor {
    /// By visitor.
    User,
    /// By visit.
    Session,
}

/// What a rate's counters belong to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RateScope {
    /// The item itself.
    Item,
    /// Each value of an item field.
    ItemField(String),
    /// The item within rankings with the same value of a ranking field.
    RankingField(String),
}

impl Scope {
    /// Whose counter it is; the item's, if nothing is said.
    pub(super) fn read(section: &Section<'_>) -> Self {
        let scopes = [("item", Self::Item), ("user", Self::User), ("session", Self::Session), ("global", Self::Global)];
        section.or("scope", Self::Item, |value| match value.scalar() {
            Some(text) if text.contains('.') => RateScope::field(&value).map(Self::from),
            _ => value.choice("scope", &scopes),
        })
    }

    /// The field whose values it is keyed by.
    pub fn source(&self) -> Option<Source> {
        match self {
            Self::ItemField(field) => Some(Source::item(field)),
            Self::RankingField(field) => Some(Source::ranking(field)),
            Self::Global | Self::Item | Self::User | Self::Session => None,
        }
    }
}

impl From<RateScope> for Scope {
    fn from(scope: RateScope) -> Self {
        match scope {
            RateScope::Item => Self::Item,
            RateScope::ItemField(field) => Self::ItemField(field),
            RateScope::RankingField(field) => Self::RankingField(field),
        }
    }
}

impl RateScope {
    pub(super) fn read(value: &Value<'_>) -> Option<Self> {
        const ACCEPTED: &str = "item, item.<field> or ranking.<field>";
        let text = value.text()?;
        if text == "item" {
            return Some(Self::Item);
        }
        if !text.contains('.') {
            let near = nearest(&text, ["item"]).map(|word| format!("`{word}`"));
            value.wrong_near(format!("unsupported scope `{}` of a rate", shown(&text)), ACCEPTED, near);
            return None;
        }
        Self::field(value)
    }

    fn field(value: &Value<'_>) -> Option<Self> {
        let source = reference(value, &[Entity::Item, Entity::Ranking])?;
        Some(match source.entity {
            Entity::Ranking => Self::RankingField(source.field),
            _ => Self::ItemField(source.field),
        })
    }

    /// The field whose values it is keyed by.
    pub fn source(&self) -> Option<Source> {
        Scope::from(self.clone()).source()
    }
}

impl Visitor {
    /// Whose history is kept; the visit's, if nothing is said.
    pub(super) fn read(section: &Section<'_>) -> Self {
        let scopes = [("session", Self::Session), ("user", Self::User)];
        section.or("scope", Self::Session, |value| value.choice("scope", &scopes))
    }
}

/// Checks a scope that follows from the type, or from the field of this entity, anyway.
pub(super) fn ignored_scope(section: &Section<'_>, entity: Option<&Entity>) {
    let Some(value) = section.get("scope") else { return };
    let words = ["item", "user", "session", "ranking", "global"].map(|word| (word, word));
    let Some(scope) = value.choice("scope", &words) else { return };
    match entity {
        Some(entity) if entity.word() == scope => {}
        Some(entity @ (Entity::Item | Entity::User)) => {
            let owner = entity.word();
            value.warn(format!("the scope {scope} does nothing: a field of the {owner} is kept with the {owner}"));
        }
        Some(Entity::Ranking) => {
            value.warn(format!("the scope {scope} does nothing: a field of the ranking comes with each request"));
        }
        Some(Entity::Interaction(_) | Entity::Any) => {} // a warning says already that the value is missing
        _ => value.warn(format!("the scope {scope} does nothing with this type")),
    }
}
