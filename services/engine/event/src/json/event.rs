//! Events and rank requests, key by key.

use super::cursor::Cursor;
use super::error::{Fault, Within};
use super::field::fields;
use super::item::items;
use super::kind::Kind;
use super::parts::Parts;
use crate::{Event, InvalidTimestamp, Ranking, Timestamp};
use std::borrow::Cow;
use std::collections::HashSet;

/// Reads one event. Where that fails, the kind is found first: the fault may lie in a key that events of this kind ignore.
pub(super) fn event(cursor: &mut Cursor<'_>) -> Result<Event, Fault> {
    let start = cursor.at;
    parts(cursor, EVENT, None, Kind::read, &mut nothing).and_then(Parts::event).or_else(|fault| {
        let failed_at = std::mem::replace(&mut cursor.at, start);
        let kind = Kind::find(cursor);
        cursor.at = start;
        match kind {
            Ok(Some(kind)) => parts(cursor, EVENT, Some(kind), Kind::read, &mut nothing).and_then(Parts::event),
            _ => {
                cursor.at = failed_at;
                Err(fault)
            }
        }
    })
}

/// Reads an event of a kind that is known, which it need not say.
pub(super) fn event_of(cursor: &mut Cursor<'_>, kind: Kind) -> Result<Event, Fault> {
    let parts = parts(cursor, EVENT, Some(kind), Kind::read, &mut nothing)?;
    match parts.kind {
        Some(said) if said != kind => {
            let reason = format!("the event says `{}`, and its schema says `{}`", said.name(), kind.name());
            Err(Fault::new(parts.start, reason))
        }
        _ => parts.event(),
    }
}

/// Reads a rank request: a ranking, without the items that it excludes.
pub(super) fn request(cursor: &mut Cursor<'_>) -> Result<Ranking, Fault> {
    let mut exclude = HashSet::new();
    let more = &mut |cursor: &mut Cursor<'_>, key: &str| {
        let is_known = key == "exclude";
        if is_known && !cursor.took_word("null") {
            let ids = cursor.array("an array of ids of items", Cursor::name).at_key("exclude")?;
            exclude.extend(ids.into_iter().map(Cow::into_owned));
        }
        Ok(is_known)
    };
    let parts = parts(cursor, "a rank request: an object", Some(Kind::Ranking), Kind::read_request, more)?;
    let mut ranking = parts.ranking()?;
    if !exclude.is_empty() {
        ranking.items.retain(|item| !exclude.contains(item.id.as_str()));
    }
    Ok(ranking)
}

/// Reads when an event happened; of the rest, only that it is JSON.
pub(super) fn time(cursor: &mut Cursor<'_>) -> Result<Timestamp, Fault> {
    cursor.peek();
    let start = cursor.at;
    let (mut kind, mut time) = (None, None);
    cursor.object(EVENT, |cursor, key| {
        match key {
            "event" => kind = Some(Kind::read(cursor).at_key("event")?),
            "timestamp" => time = Some(timestamp(cursor).at_key("timestamp")?),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    match (kind, time) {
        (Some(_), Some(time)) => Ok(time),
        (None, Some(_)) => Err(Fault::new(start, "missing key `event`".to_owned())),
        (Some(_), None) => Err(Fault::new(start, "missing key `timestamp`".to_owned())),
        (None, None) => Err(Fault::new(start, "missing keys `event`, `timestamp`".to_owned())),
    }
}

/// No key beside those of events.
fn nothing(_: &mut Cursor<'_>, _: &str) -> Result<bool, Fault> {
    Ok(false)
}

const EVENT: &str = "an event: an object";

type ReadKind = fn(&mut Cursor<'_>) -> Result<Kind, Fault>;

fn parts<'a>(
    cursor: &mut Cursor<'a>,
    what: &'static str,
    kind: Option<Kind>,
    read_kind: ReadKind,
    more: &mut dyn FnMut(&mut Cursor<'_>, &str) -> Result<bool, Fault>,
) -> Result<Parts<'a>, Fault> {
    cursor.peek();
    let mut parts = Parts { kind, start: cursor.at, ..Parts::default() };
    cursor.object(what, |cursor, key| {
        if more(cursor, key)? {
            return Ok(());
        }
        if parts.kind.is_some_and(|kind| !kind.has(key)) {
            return cursor.skip();
        }
        match key {
            "event" => parts.kind = Some(read_kind(cursor).at_key("event")?),
            "id" => parts.id = Some(cursor.name().at_key("id")?),
            "timestamp" => parts.timestamp = Some(timestamp(cursor).at_key("timestamp")?),
            "tenant" => parts.tenant = cursor.optional().at_key("tenant")?,
            "fields" => parts.fields = fields(cursor).at_key("fields")?,
            "item" => parts.item = Some(cursor.name().at_key("item")?),
            "user" if parts.kind == Some(Kind::User) => parts.user = Some(cursor.name().at_key("user")?),
            "user" => parts.user = cursor.optional().at_key("user")?,
            "session" => parts.session = cursor.optional().at_key("session")?,
            "ranking" => parts.ranking = cursor.optional().at_key("ranking")?,
            "items" => parts.items = Some(items(cursor).at_key("items")?),
            "type" => parts.name = Some(cursor.name().at_key("type")?),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(parts)
}

/// Reads a point in time: a string of milliseconds or of a date, or a number of milliseconds.
fn timestamp(cursor: &mut Cursor<'_>) -> Result<Timestamp, Fault> {
    let next = cursor.peek();
    let start = cursor.at;
    let time = match next {
        Some(b'"') => Timestamp::parse(&cursor.string("a string")?),
        _ => Timestamp::from_number(cursor.number("a time: a string or a number")?),
    };
    time.map_err(|invalid| {
        cursor.at = start;
        cursor.unexpected(match invalid {
            InvalidTimestamp::Form { .. } => {
                "milliseconds since 1970 (\"1636907100000\") or ISO 8601 with a zone (\"2021-11-14T16:25:00Z\")"
            }
            InvalidTimestamp::Range { .. } => {
                "a time from -253402300799999 to 253402300799999 milliseconds since 1970, which is the end of the year 9999"
            }
        })
    })
}
