//! What values are kept under.

use compact_str::CompactString;
use rankwright_event::{EventId, ItemId, RankingId, SessionId, Tenant, UserId};
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};

/// Number of what one stored value means; a store gives it out once for each fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slot(pub u16);

/// Under what all values of one entity lie.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// Whose.
    pub tenant: Tenant,
    /// Of what.
    pub scope: Scope,
}

/// What an entity is. The order of variants is part of the stored format: new ones go to the end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// Everything.
    Global,
    /// An item.
    Item(ItemId),
    /// A visitor.
    User(UserId),
    /// A visit.
    Session(SessionId),
    /// A value of an item field, such as one brand.
    FieldValue(Slot, CompactString),
    /// An item within the rankings that share a field's value, such as one query.
    ItemWithin(Slot, CompactString, ItemId),
    /// A ranking that waits for its interactions.
    Join(RankingId),
    /// A closed click-through that is not durable elsewhere yet.
    Outbox(RankingId),
    /// An event that was seen, so that its repetition has no effect.
    Seen(EventId),
    /// An interaction that waits for its ranking, or for its click-through to be written.
    Waiting(EventId),
    /// How far a writer has come in event time.
    Watermark(CompactString),
}

/// A part of the keys that can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// [`Scope::Join`]
    Joins,
    /// [`Scope::Outbox`]
    Outbox,
    /// [`Scope::Seen`]
    Seen,
    /// [`Scope::Waiting`]
    Waiting,
    /// [`Scope::Watermark`]
    Watermarks,
    /// Everything else.
    Values,
}

impl Scope {
    /// Whose watermark this is.
    pub fn writer(&self) -> Option<String> {
        match self {
            Self::Watermark(writer) => Some(writer.to_string()),
            _ => None,
        }
    }

    /// The part this belongs to.
    pub fn space(&self) -> Space {
        match self {
            Self::Join(_) => Space::Joins,
            Self::Outbox(_) => Space::Outbox,
            Self::Seen(_) => Space::Seen,
            Self::Waiting(_) => Space::Waiting,
            Self::Watermark(_) => Space::Watermarks,
            _ => Space::Values,
        }
    }
}

/// The scope alone: tenants are few, and most often there is one.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.scope.hash(state);
    }
}

impl Key {
    /// A key from its parts.
    pub fn new(tenant: &Tenant, scope: Scope) -> Self {
        Self { tenant: tenant.clone(), scope }
    }
}
