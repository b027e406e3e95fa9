//! The four kinds of events.

use crate::{EventId, Field, ItemId, RankingId, SessionId, Tenant, Timestamp, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One event, as any channel delivers it.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(tag = "event", rename_all = "lowercase")]
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
#[derive(Debug, Clone, PartialEq, JsonSchema)]
pub struct ItemUpdate {
    /// Identifier of this event.
    pub id: EventId,
    /// When it happened.
    pub timestamp: Timestamp,
    /// Whose item it is.
    #[schemars(with = "Option<String>", length(max = 4096))]
    pub tenant: Tenant,
    /// The item.
    pub item: ItemId,
    /// Its new values.
    #[schemars(with = "Option<Vec<Field>>")]
    pub fields: Vec<Field>,
}

/// New values of a visitor's fields.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
pub struct UserUpdate {
    /// Identifier of this event.
    pub id: EventId,
    /// When it happened.
    pub timestamp: Timestamp,
    /// Whose visitor it is.
    #[schemars(with = "Option<String>", length(max = 4096))]
    pub tenant: Tenant,
    /// The visitor.
    pub user: UserId,
    /// Their new values.
    #[schemars(with = "Option<Vec<Field>>")]
    pub fields: Vec<Field>,
}

/// A list of items: one that was shown (an event), or one to be ordered (a request).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// Identifier, which interactions refer to.
    pub id: RankingId,
    /// When it was shown or asked for.
    pub timestamp: Timestamp,
    /// Whose ranking it is.
    #[schemars(with = "Option<String>", length(max = 4096))]
    pub tenant: Tenant,
    /// The visitor, if known.
    #[schemars(with = "Option<String>", length(max = 4096))]
    pub user: Option<UserId>,
    /// The visit, if known.
    #[schemars(with = "Option<String>", length(max = 4096))]
    pub session: Option<SessionId>,
    /// Context, such as a query.
    #[schemars(with = "Option<Vec<Field>>")]
    pub fields: Vec<Field>,
    /// The items, in the order shown; never empty.
    #[schemars(length(min = 1), extend("x-limit" = "maxItemsPerRequest"))]
    pub items: Vec<RankedItem>,
}

/// An item of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankedItem {
    /// The item.
    pub id: ItemId,
    /// Values that hold for this ranking and take the place of the item's stored ones.
    #[schemars(with = "Option<Vec<Field>>")]
    pub fields: Vec<Field>,
    /// Explicit judgement of its relevance; true is 1, false is 0.
    #[schemars(with = "Option<Label>")]
    pub label: Option<f64>,
    /// Score that an upstream system or this service gave it.
    pub score: Option<f64>,
}

/// How a label is written.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "it describes what is decoded by hand")]
enum Label {
    Judgement(f64),
    Relevant(bool),
}

/// A click, a purchase, a like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interaction {
    /// Identifier of this event.
    pub id: EventId,
    /// When it happened.
    pub timestamp: Timestamp,
    /// Whose interaction it is.
    #[schemars(with = "Option<String>", length(max = 4096))]
    pub tenant: Tenant,
    /// The ranking it came from, if any.
    #[schemars(with = "Option<String>", length(max = 4096))]
    pub ranking: Option<RankingId>,
    /// The visitor, if known.
    #[schemars(with = "Option<String>", length(max = 4096))]
    pub user: Option<UserId>,
    /// The visit, if known.
    #[schemars(with = "Option<String>", length(max = 4096))]
    pub session: Option<SessionId>,
    /// Name of the interaction, such as `click`.
    #[schemars(rename = "type", with = "String", length(min = 1, max = 4096))]
    pub kind: compact_str::CompactString,
    /// The item.
    pub item: ItemId,
    /// Context.
    #[schemars(with = "Option<Vec<Field>>")]
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
        let item = |item: &RankedItem| size_of::<RankedItem>() + outside(item.id.as_str()) + fields_bytes(&item.fields);
        let ids = [Some(self.id.as_str()), Some(self.tenant.as_str()), self.user.as_ref().map(UserId::as_str)];
        let ids = ids.into_iter().chain([self.session.as_ref().map(SessionId::as_str)]).flatten();
        let items = self.items.iter().map(item).sum::<usize>();
        size_of::<Self>() + ids.map(outside).sum::<usize>() + fields_bytes(&self.fields) + items
    }
}

impl Interaction {
    /// About this many bytes of memory, with what it points to.
    pub fn bytes(&self) -> usize {
        let certain = [self.id.as_str(), self.tenant.as_str(), self.kind.as_str(), self.item.as_str()];
        let ranking = self.ranking.as_ref().map(RankingId::as_str);
        let visitor = [self.user.as_ref().map(UserId::as_str), self.session.as_ref().map(SessionId::as_str)];
        let texts = certain.into_iter().chain(ranking).chain(visitor.into_iter().flatten());
        size_of::<Self>() + texts.map(outside).sum::<usize>() + fields_bytes(&self.fields)
    }
}

fn fields_bytes(fields: &[Field]) -> usize {
    fields.iter().map(Field::bytes).sum()
}

/// Bytes of a text that lie outside of its `CompactString`: those of a short one do not.
fn outside(text: &str) -> usize {
    Some(text.len()).filter(|&length| length > size_of::<compact_str::CompactString>()).unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use crate::{Event, json};

    fn bytes(event: &str) -> usize {
        match json::decode(event.as_bytes()).expect("a valid event") {
            Event::Ranking(ranking) => ranking.bytes(),
            Event::Interaction(interaction) => interaction.bytes(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_text_of_a_peer_counts() {
        let ranking = r#"{"event":"ranking","id":"ID","timestamp":"1","tenant":"TENANT","user":"USER","session":"SESSION",
            "fields":[{"name":"query","value":"TEXT"}],"items":[{"id":"ITEM"}]}"#;
        let click = r#"{"event":"interaction","id":"ID","timestamp":"1","tenant":"TENANT","user":"USER","session":"SESSION",
            "ranking":"SHOWN","type":"KIND","item":"ITEM","fields":[{"name":"page","value":"TEXT"}]}"#;
        for (event, texts) in [
            (ranking, &["ID", "TENANT", "USER", "SESSION", "TEXT", "ITEM"][..]),
            (click, &["ID", "TENANT", "USER", "SESSION", "TEXT", "ITEM", "SHOWN", "KIND"]),
        ] {
            for text in texts {
                let long = event.replace(&format!("\"{text}\""), &format!("\"{}\"", "x".repeat(1000)));
                assert_eq!(bytes(&long), bytes(event) + 1000, "{text}");
            }
        }
    }
}
