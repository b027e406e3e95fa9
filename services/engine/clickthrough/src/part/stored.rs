//! A record without its rows, as version 1 of the binary format holds it: the order of these fields is the format.

use crate::{Click, Clickthrough, Kind, Rows, Shown};
use rankwright_event::{Field, RankingId, SessionId, Tenant, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
pub(crate) struct Stored<'a> {
    tenant: Cow<'a, Tenant>,
    kind: Kind,
    ranking: Cow<'a, RankingId>,
    timestamp: Timestamp,
    user: Cow<'a, Option<UserId>>,
    session: Cow<'a, Option<SessionId>>,
    fields: Cow<'a, [Field]>,
    items: Cow<'a, [Shown]>,
    has_rows: bool,
    interactions: Cow<'a, [Click]>,
}

impl<'a> From<&'a Clickthrough> for Stored<'a> {
    fn from(record: &'a Clickthrough) -> Self {
        Self {
            tenant: Cow::Borrowed(&record.tenant),
            kind: record.kind,
            ranking: Cow::Borrowed(&record.ranking),
            timestamp: record.timestamp,
            user: Cow::Borrowed(&record.user),
            session: Cow::Borrowed(&record.session),
            fields: Cow::Borrowed(&record.fields),
            items: Cow::Borrowed(&record.items),
            has_rows: record.rows.width > 0,
            interactions: Cow::Borrowed(&record.interactions),
        }
    }
}

impl Stored<'_> {
    /// The record with room for its rows, which are `width` wide if it has any.
    pub(crate) fn into_record(self, width: usize) -> Clickthrough {
        let width = if self.has_rows { width } else { 0 };
        Clickthrough {
            tenant: self.tenant.into_owned(),
            kind: self.kind,
            ranking: self.ranking.into_owned(),
            timestamp: self.timestamp,
            user: self.user.into_owned(),
            session: self.session.into_owned(),
            fields: self.fields.into_owned(),
            items: self.items.into_owned(),
            rows: Rows { width, values: Vec::new() },
            interactions: self.interactions.into_owned(),
        }
    }
}
