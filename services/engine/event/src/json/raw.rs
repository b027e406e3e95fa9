//! The parts of an event: what any kind may hold, side by side.

use super::kind::{Key, Kind};
use crate::{
    Event, EventId, Field, Interaction, ItemId, ItemUpdate, RankedItem, Ranking, RankingId, SessionId, Tenant,
    Timestamp, UserId, UserUpdate,
};
use compact_str::CompactString;

/// The parts of an event. Making it takes those that its kind has; `None` where one is missing.
#[derive(Default)]
pub(super) struct Raw {
    pub(super) kind: Option<Kind>,
    pub(super) id: Option<CompactString>,
    pub(super) timestamp: Option<Timestamp>,
    pub(super) tenant: Option<Tenant>,
    pub(super) fields: Vec<Field>,
    pub(super) item: Option<ItemId>,
    pub(super) user: Option<UserId>,
    pub(super) session: Option<SessionId>,
    pub(super) ranking: Option<RankingId>,
    pub(super) items: Option<Vec<RankedItem>>,
    pub(super) name: Option<CompactString>,
}

/// What can be made from the parts.
pub(super) trait Assemble: Sized {
    /// `None` where a part is missing.
    fn assemble(raw: Raw) -> Option<Self>;
}

impl Assemble for Event {
    fn assemble(raw: Raw) -> Option<Self> {
        Some(match raw.kind? {
            Kind::Item => Self::Item(raw.item_update()?),
            Kind::User => Self::User(raw.user_update()?),
            Kind::Ranking => Self::Ranking(raw.ranking()?),
            Kind::Interaction => Self::Interaction(raw.interaction()?),
        })
    }
}

impl Assemble for Ranking {
    fn assemble(raw: Raw) -> Option<Self> {
        raw.ranking()
    }
}

impl Raw {
    /// The keys that an event of this kind needs and this one lacks.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let needs = |key| self.kind.is_some_and(|kind| kind.has(key));
        [
            ("`event`", self.kind.is_none()),
            ("`id`", self.id.is_none()),
            ("`timestamp`", self.timestamp.is_none()),
            ("`item`", self.item.is_none() && needs(Key::Item)),
            ("`user`", self.user.is_none() && self.kind == Some(Kind::User)),
            ("`items`", self.items.is_none() && needs(Key::Items)),
            ("`type`", self.name.is_none() && needs(Key::Type)),
        ]
        .into_iter()
        .filter_map(|(key, missing)| missing.then_some(key))
        .collect()
    }

    fn item_update(self) -> Option<ItemUpdate> {
        Some(ItemUpdate {
            id: EventId::owned(self.id?),
            timestamp: self.timestamp?,
            tenant: self.tenant.unwrap_or_default(),
            item: self.item?,
            fields: self.fields,
        })
    }

    fn user_update(self) -> Option<UserUpdate> {
        Some(UserUpdate {
            id: EventId::owned(self.id?),
            timestamp: self.timestamp?,
            tenant: self.tenant.unwrap_or_default(),
            user: self.user?,
            fields: self.fields,
        })
    }

    fn ranking(self) -> Option<Ranking> {
        Some(Ranking {
            id: RankingId::owned(self.id?),
            timestamp: self.timestamp?,
            tenant: self.tenant.unwrap_or_default(),
            user: self.user,
            session: self.session,
            fields: self.fields,
            items: self.items?,
        })
    }

    fn interaction(self) -> Option<Interaction> {
        Some(Interaction {
            id: EventId::owned(self.id?),
            timestamp: self.timestamp?,
            tenant: self.tenant.unwrap_or_default(),
            ranking: self.ranking,
            user: self.user,
            session: self.session,
            kind: self.name?,
            item: self.item?,
            fields: self.fields,
        })
    }
}
