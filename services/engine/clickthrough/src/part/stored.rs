//! A record without its rows, as version 1 of the binary format holds it: the order of these fields is the format.

use crate::{Click, Clickthrough, Kind, Rows, Shown};
use rankwright_event::{Field, RankingId, SessionId, Tenant, Timestamp, UserId};
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// With what was shown as `I`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stored<'a, I = Cow<'a, [Shown]>> {
    tenant: Cow<'a, Tenant>,
    kind: Kind,
    ranking: Cow<'a, RankingId>,
    timestamp: Timestamp,
    user: Cow<'a, Option<UserId>>,
    session: Cow<'a, Option<SessionId>>,
    fields: Cow<'a, [Field]>,
    items: I,
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

/// Items that are read over, which takes a fraction of the time.
pub(crate) struct Skipped;

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Self)
    }
}

impl<'de> Visitor<'de> for Skipped {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        // the fields of `Shown`, with an id that is only bytes
        while items.next_element::<(&[u8], Option<f64>)>()?.is_some() {}
        Ok(self)
    }
}

impl From<Skipped> for Vec<Shown> {
    fn from(_: Skipped) -> Self {
        Self::new()
    }
}

impl<I: Into<Vec<Shown>>> Stored<'_, I> {
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
            items: self.items.into(),
            rows: Rows { width, values: Vec::new() },
            interactions: self.interactions.into_owned(),
        }
    }
}
