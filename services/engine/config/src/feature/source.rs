//! References to fields: `item.price`, `metadata.price` (the same), `user.age`, `ranking.query`.
//!
//! Upstream has two keys for them, `field` and `source`, and some extractors that split a reference over both
//! (`field: tags`, `source: item`). All of that is accepted everywhere.
//!
//! Upstream also accepts fields of interactions (`interaction:click.page`) and of any event (`*.page`) as sources, though
//! few features can read them.

use super::scope::ignored_scope;
use crate::error::shown;
use crate::nearest::nearest;
use crate::section::Section;
use crate::value::Value;
use std::fmt;

/// Where a field's value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// Whose field.
    pub entity: Entity,
    /// Its name.
    pub field: String,
}

/// Whose field a source names (`metadata.x` is `item.x`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Entity {
    /// `item.<field>`
    Item,
    /// `user.<field>`
    User,
    /// `ranking.<field>`: a field of the request, or of an item of the request.
    Ranking,
    /// `interaction.<field>` of all interactions, or `interaction:<type>.<field>` of one type: `referer` alone reads it.
    Interaction(Option<String>),
    /// `*.<field>` of users, rankings and interactions: `referer` alone reads it.
    Any,
}

impl Source {
    /// An item's field.
    pub fn item(field: impl Into<String>) -> Self {
        Self { entity: Entity::Item, field: field.into() }
    }

    /// A ranking's field.
    pub fn ranking(field: impl Into<String>) -> Self {
        Self { entity: Entity::Ranking, field: field.into() }
    }
}

impl fmt::Display for Source {
    /// As configurations write it. What features mean is told by these words, so they stay the same in every version.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entity {
            Entity::Interaction(Some(kind)) => write!(f, "interaction:{kind}.{}", self.field),
            entity => write!(f, "{}.{}", entity.word(), self.field),
        }
    }
}

impl Entity {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::User => "user",
            Self::Ranking => "ranking",
            Self::Interaction(_) => "interaction",
            Self::Any => "*",
        }
    }
}

/// Whose fields features read as a rule. `Any` in such a list: other events are accepted as well, and never read.
const USUAL: &[Entity] = &[Entity::Item, Entity::User, Entity::Ranking, Entity::Any];

static OWNERS: [(&str, Entity); 5] = [
    ("item", Entity::Item),
    ("user", Entity::User),
    ("ranking", Entity::Ranking),
    ("interaction", Entity::Interaction(None)),
    ("metadata", Entity::Item),
];

/// One field; a scope may be given, and follows from the field.
pub(super) fn scoped(section: &Section<'_>) -> Option<Source> {
    let source = required(section, USUAL);
    if let Some(source) = &source {
        ignored_scope(section, Some(&source.entity));
    } else {
        section.get("scope"); // it may be right
    }
    source
}

/// The reference under `field` or `source`, which must be there.
pub(super) fn required(section: &Section<'_>, allowed: &[Entity]) -> Option<Source> {
    match section.one_or_both("field", "source") {
        (None, None) => section.missing("field", &spellings(allowed)),
        (Some(one), None) | (None, Some(one)) => reference(&one, allowed),
        (Some(field), Some(owner)) => both(&field, &owner, allowed),
    }
}

/// The reference that a value is.
pub(crate) fn reference(value: &Value<'_>, allowed: &[Entity]) -> Option<Source> {
    let (text, accepted) = (value.text()?, spellings(allowed));
    let Some((owner, field)) = text.split_once('.').filter(|(_, field)| !field.is_empty()) else {
        let near = allowed.first().filter(|_| !text.contains('.'));
        let near = near.map(|entity| format!("`{}.{}`", entity.word(), shown(&text)));
        value.wrong_near(format!("`{}` does not say whose field it is", shown(&text)), accepted, near);
        return None;
    };
    let Some(entity) = owner_of(owner) else {
        let near = nearest(owner, OWNERS.iter().map(|&(word, _)| word));
        let near = near.map(|owner| format!("`{owner}.{}`", shown(field)));
        value.wrong_near(format!("unknown owner `{}` of field `{}`", shown(owner), shown(field)), accepted, near);
        return None;
    };
    if !is_allowed(value, &entity, allowed) {
        value.wrong(format!("fields of {} cannot be used here", plural(&entity)), accepted);
        return None;
    }
    Some(Source { entity, field: field.to_owned() })
}

/// Whether fields of this owner are accepted, of which some can only be missing.
fn is_allowed(value: &Value<'_>, entity: &Entity, allowed: &[Entity]) -> bool {
    let (Entity::Interaction(Some(_)) | Entity::Any) = entity else { return allowed.contains(entity) };
    if allowed.contains(&Entity::Interaction(None)) {
        return true;
    }
    let accepted = allowed.contains(&Entity::Any);
    if accepted {
        let (owner, read) = (plural(entity), spellings(allowed));
        value.warn(format!("fields of {owner} cannot be used here, so the value is always missing; accepted: {read}"));
    }
    accepted
}

/// The name of the item field that a value refers to.
pub(super) fn item_field(value: &Value<'_>) -> Option<String> {
    reference(value, &[Entity::Item]).map(|source| source.field)
}

/// `field: tags` with `source: item`, or the same reference twice.
fn both(field: &Value<'_>, owner: &Value<'_>, allowed: &[Entity]) -> Option<Source> {
    let Some(entity) = owner.scalar().and_then(owner_of) else {
        let (first, second) = (reference(field, allowed)?, reference(owner, allowed)?);
        if first != second {
            owner.wrong("`field` and `source` are the same setting, and differ", "one of them");
        }
        return Some(first);
    };
    let name = field.text()?;
    match name.split_once('.') {
        Some((prefix, _)) if owner_of(prefix).as_ref() == Some(&entity) => reference(field, allowed),
        _ if is_allowed(owner, &entity, allowed) => Some(Source { entity, field: name }),
        _ => owner.other(&spellings(allowed)),
    }
}

fn owner_of(word: &str) -> Option<Entity> {
    match word.strip_prefix("interaction:") {
        Some(kind) if !kind.is_empty() => Some(Entity::Interaction(Some(kind.to_owned()))),
        _ if word == "*" => Some(Entity::Any),
        _ => OWNERS.iter().find(|&&(name, _)| name == word).map(|(_, entity)| entity.clone()),
    }
}

fn spellings(allowed: &[Entity]) -> String {
    let read = allowed.iter().filter(|entity| **entity != Entity::Any);
    read.map(|entity| format!("{}.<field>", entity.word())).collect::<Vec<_>>().join(", ")
}

fn plural(entity: &Entity) -> &'static str {
    match entity {
        Entity::Item => "items",
        Entity::User => "users",
        Entity::Ranking => "rankings",
        Entity::Interaction(_) => "interactions",
        Entity::Any => "any event",
    }
}
