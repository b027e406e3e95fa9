//! The four kinds of events.

use crate::{EventId, Field, ItemId, RankingId, SessionId, Tenant, Timestamp, UserId};
use serde::{Deserialize, Serialize};

/// One event, as any channel delivers it.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// What an item is.
    Item(ItemUpdate),
    /// Who a visitor is.
    User(UserUpdate),
    /// What a visitor was shown, in order.
    Ranking(Ranking),
    /// What a visitor did.
    Interaction(Interaction),
}

/// New values of an item's fields; fields that are not named keep theirs.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemUpdate {
    /// Identifier of this event.
    pub id: EventId,
    /// When it happened.
    pub timestamp: Timestamp,
    /// Whose item it is.
    pub tenant: Tenant,
    /// The item.
    pub item: ItemId,
    /// Its new values.
    pub fields: Vec<Field>,
}

/// New values of a visitor's fields.
#[derive(Debug, Clone, PartialEq)]
pub struct UserUpdate {
    /// Identifier of this event.
    pub id: EventId,
    /// When it happened.
    pub timestamp: Timestamp,
    /// Whose visitor it is.
    pub tenant: Tenant,
    /// The visitor.
    pub user: UserId,
    /// Their new values.
    pub fields: Vec<Field>,
}

/// A list of items: one that was shown (an event), or one to be ordered (a request).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// Identifier, which interactions refer to.
    pub id: RankingId,
    /// When it was shown or asked for.
    pub timestamp: Timestamp,
    /// Whose ranking it is.
    pub tenant: Tenant,
    /// The visitor, if known.
    pub user: Option<UserId>,
    /// The visit, if known.
    pub session: Option<SessionId>,
    /// Context, such as a query.
    pub fields: Vec<Field>,
    /// The items, in the order shown; never empty.
    pub items: Vec<RankedItem>,
}

/// An item of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedItem {
    /// The item.
    pub id: ItemId,
    /// Values that hold for this ranking and take the place of the item's stored ones.
    pub fields: Vec<Field>,
    /// Explicit judgement of its relevance.
    pub label: Option<f64>,
    /// Score that an upstream system or this service gave it.
    pub score: Option<f64>,
}

/// A click, a purchase, a like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interaction {
    /// Identifier of this event.
    pub id: EventId,
    /// When it happened.
    pub timestamp: Timestamp,
    /// Whose interaction it is.
    pub tenant: Tenant,
    /// The ranking it came from, if any.
    pub ranking: Option<RankingId>,
    /// The visitor, if known.
    pub user: Option<UserId>,
    /// The visit, if known.
    pub session: Option<SessionId>,
    /// Name of the interaction, such as `click`.
    pub kind: compact_str::CompactString,
    /// The item.
    pub item: ItemId,
    /// Context.
    pub fields: Vec<Field>,
}

impl Ranking {
    /// Gives back room that decoding has reserved: for a ranking that is kept for a while.
    pub fn shrink_to_fit(&mut self) {
        self.items.iter_mut().for_each(|item| item.fields.shrink_to_fit());
        self.items.shrink_to_fit();
        self.fields.shrink_to_fit();
    }

    /// About this many bytes of memory, with what it points to.
    pub fn bytes(&self) -> usize {
        let item = |item: &RankedItem| size_of::<RankedItem>() + outside(&item.id) + fields_bytes(&item.fields);
        size_of::<Self>() + fields_bytes(&self.fields) + self.items.iter().map(item).sum::<usize>()
    }
}

impl Interaction {
    /// About this many bytes of memory, with what it points to.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + outside(&self.item) + fields_bytes(&self.fields)
    }
}

fn fields_bytes(fields: &[Field]) -> usize {
    fields.iter().map(Field::bytes).sum()
}

/// Bytes of an id that lie outside of it: short ones do not.
fn outside(id: &ItemId) -> usize {
    Some(id.as_str().len()).filter(|&length| length > size_of::<ItemId>()).unwrap_or(0)
}

impl Event {
    /// When it happened.
    pub fn timestamp(&self) -> Timestamp {
        match self {
            Self::Item(event) => event.timestamp,
            Self::User(event) => event.timestamp,
            Self::Ranking(event) => event.timestamp,
            Self::Interaction(event) => event.timestamp,
        }
    }

    /// Its kind, as events name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Item(_) => "item",
            Self::User(_) => "user",
            Self::Ranking(_) => "ranking",
            Self::Interaction(_) => "interaction",
        }
    }

    /// Whose event it is.
    pub fn tenant(&self) -> &Tenant {
        match self {
            Self::Item(event) => &event.tenant,
            Self::User(event) => &event.tenant,
            Self::Ranking(event) => &event.tenant,
            Self::Interaction(event) => &event.tenant,
        }
    }
}
