//! The parts of an event, before its kind says which of them count.

use super::error::Fault;
use super::kind::Kind;
use crate::{Event, Field, Interaction, ItemUpdate, RankedItem, Ranking, Tenant, Timestamp, UserUpdate};
use std::borrow::Cow;

/// What events of any kind may hold, side by side.
#[derive(Default)]
pub(super) struct Parts<'a> {
    /// Where the event begins, for messages.
    pub(super) start: usize,
    pub(super) kind: Option<Kind>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) timestamp: Option<Timestamp>,
    pub(super) tenant: Option<Cow<'a, str>>,
    pub(super) fields: Vec<Field>,
    pub(super) item: Option<Cow<'a, str>>,
    pub(super) user: Option<Cow<'a, str>>,
    pub(super) session: Option<Cow<'a, str>>,
    pub(super) ranking: Option<Cow<'a, str>>,
    pub(super) items: Option<Vec<RankedItem>>,
    /// `type` of an interaction.
    pub(super) name: Option<Cow<'a, str>>,
}

impl Parts<'_> {
    /// The event.
    pub(super) fn event(self) -> Result<Event, Fault> {
        self.complete(|parts| {
            Some(match parts.kind? {
                Kind::Item => Event::Item(parts.item_update()?),
                Kind::User => Event::User(parts.user_update()?),
                Kind::Ranking => Event::Ranking(parts.into_ranking()?),
                Kind::Interaction => Event::Interaction(parts.interaction()?),
            })
        })
    }

    /// The ranking.
    pub(super) fn ranking(self) -> Result<Ranking, Fault> {
        self.complete(Self::into_ranking)
    }

    /// What `make` makes; where it lacks a part, an error that names all missing ones.
    fn complete<T>(self, make: impl FnOnce(Self) -> Option<T>) -> Result<T, Fault> {
        let (start, missing) = (self.start, self.missing());
        make(self).ok_or_else(|| {
            let plural = if missing.len() == 1 { "" } else { "s" };
            Fault::new(start, format!("missing key{plural} {}", missing.join(", ")))
        })
    }

    fn missing(&self) -> Vec<&'static str> {
        let kind = self.kind;
        [
            ("`event`", kind.is_none()),
            ("`id`", self.id.is_none()),
            ("`timestamp`", self.timestamp.is_none()),
            ("`item`", self.item.is_none() && matches!(kind, Some(Kind::Item | Kind::Interaction))),
            ("`user`", self.user.is_none() && kind == Some(Kind::User)),
            ("`items`", self.items.is_none() && kind == Some(Kind::Ranking)),
            ("`type`", self.name.is_none() && kind == Some(Kind::Interaction)),
        ]
        .into_iter()
        .filter_map(|(key, missing)| missing.then_some(key))
        .collect()
    }

    fn item_update(self) -> Option<ItemUpdate> {
        Some(ItemUpdate {
            id: self.id?.into(),
            timestamp: self.timestamp?,
            tenant: self.tenant.map_or_else(Tenant::default, Tenant::from),
            item: self.item?.into(),
            fields: self.fields,
        })
    }

    fn user_update(self) -> Option<UserUpdate> {
        Some(UserUpdate {
            id: self.id?.into(),
            timestamp: self.timestamp?,
            tenant: self.tenant.map_or_else(Tenant::default, Tenant::from),
            user: self.user?.into(),
            fields: self.fields,
        })
    }

    fn into_ranking(self) -> Option<Ranking> {
        Some(Ranking {
            id: self.id?.into(),
            timestamp: self.timestamp?,
            tenant: self.tenant.map_or_else(Tenant::default, Tenant::from),
            user: self.user.map(Into::into),
            session: self.session.map(Into::into),
            fields: self.fields,
            items: self.items?,
        })
    }

    fn interaction(self) -> Option<Interaction> {
        Some(Interaction {
            id: self.id?.into(),
            timestamp: self.timestamp?,
            tenant: self.tenant.map_or_else(Tenant::default, Tenant::from),
            ranking: self.ranking.map(Into::into),
            user: self.user.map(Into::into),
            session: self.session.map(Into::into),
            kind: self.name?.as_ref().into(),
            item: self.item?.into(),
            fields: self.fields,
        })
    }
}
