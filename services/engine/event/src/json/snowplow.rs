//! Events that a pipeline of Snowplow carries: enriched events, of which self-describing ones may hold ours.
//!
//! An enriched event is a line of 131 columns, or the same as a JSON object. What was tracked lies in `unstruct_event`; all
//! else is stepped over. Our events are the data of the schemas `item`, `user`, `ranking` and `interaction`, version 1, and
//! look as in every other channel. Other enriched events, such as page views, are none of ours.

use super::cursor::Cursor;
use super::error::{DecodeError, Fault, Within};
use super::event::event_of;
use super::kind::Kind;
use super::whole;
use crate::Event;
use memchr::memchr_iter;

/// Who publishes the schemas of our events: this project, and the service that it replaces.
const VENDORS: [(&str, &str); 2] = [("com.rankwright", "com_rankwright_"), ("ai.metarank", "ai_metarank_")];

/// The column that says what kind of enriched event it is, from 0.
const KIND: usize = 5;
/// The column that holds what was tracked.
const TRACKED: usize = 58;
/// What kind of enriched event holds something self-describing.
const SELF_DESCRIBING: &[u8] = b"unstruct";

/// Reads an enriched event in columns. Nothing where it is none of ours.
///
/// # Errors
/// The line has too few columns, or the event in it is wrong.
pub fn decode_tsv(line: &[u8]) -> Result<Option<Event>, DecodeError> {
    let mut tabs = memchr_iter(b'\t', line);
    let kind = tabs.nth(KIND - 1).zip(tabs.next());
    let Some((kind, before)) = kind.zip(tabs.nth(TRACKED - KIND - 2)) else { return Err(too_few_columns(line)) };
    let tracked = before + 1..tabs.next().unwrap_or(line.len());
    if &line[kind.0 + 1..kind.1] != SELF_DESCRIBING || tracked.is_empty() {
        return Ok(None);
    }
    let column = tracked.start;
    whole(&line[tracked], |cursor| self_describing(cursor).at_key("unstruct_event"))
        .map_err(|error| error.behind(column))
}

/// Reads an enriched event as JSON: with `unstruct_event` as in the columns, or with a key that its schema names, as
/// Snowplow's SDKs for analytics write it. Nothing where it is none of ours.
///
/// # Errors
/// The text is no such object, or the event in it is wrong.
pub fn decode_json(text: &[u8]) -> Result<Option<Event>, DecodeError> {
    whole(text, enriched)
}

fn too_few_columns(line: &[u8]) -> DecodeError {
    let columns = memchr_iter(b'\t', line).count() + 1;
    let reason = format!("expected an enriched event of Snowplow: 131 columns with tabs between them, found {columns}");
    Fault::new(0, reason).seen_in(line)
}

fn enriched(cursor: &mut Cursor<'_>) -> Result<Option<Event>, Fault> {
    cursor.peek();
    let (start, mut event, mut is_enriched) = (cursor.at, None, false);
    cursor.object("an enriched event of Snowplow: an object", |cursor, key| {
        match key {
            "unstruct_event" if cursor.took_word("null") => is_enriched = true,
            "unstruct_event" => {
                event = self_describing(cursor).at_key("unstruct_event")?;
                is_enriched = true;
            }
            "event_id" | "collector_tstamp" => {
                is_enriched = true;
                cursor.skip()?;
            }
            key => match kind_of_key(key) {
                Some(_) if cursor.took_word("null") => is_enriched = true,
                Some(kind) => event = Some(event_of(cursor, kind).at_key("unstruct_event")?),
                None => cursor.skip()?,
            },
        }
        Ok(())
    })?;
    if event.is_none() && !is_enriched {
        let reason =
            "expected an enriched event of Snowplow: an object with `unstruct_event`, `event_id` or `collector_tstamp`";
        return Err(Fault::new(start, reason.to_owned()));
    }
    Ok(event)
}

/// The kind that a key such as `unstruct_event_com_rankwright_item_1` names.
fn kind_of_key(key: &str) -> Option<Kind> {
    let rest = key.strip_prefix("unstruct_event_")?;
    let named = VENDORS.iter().find_map(|(_, vendor)| rest.strip_prefix(vendor))?;
    Kind::named(named.strip_suffix("_1")?)
}

/// Reads `{schema, data}` around `{schema, data}` around an event.
fn self_describing(cursor: &mut Cursor<'_>) -> Result<Option<Event>, Fault> {
    let outer = described(cursor)?;
    let end = std::mem::replace(&mut cursor.at, outer.data);
    let event = inner(cursor).at_key("data");
    cursor.at = end;
    event
}

fn inner(cursor: &mut Cursor<'_>) -> Result<Option<Event>, Fault> {
    let described = described(cursor)?;
    let Some(kind) = kind_of_schema(&described)? else { return Ok(None) };
    cursor.at = described.data;
    event_of(cursor, kind).at_key("data").map(Some)
}

/// A schema, and where in the text its data begins.
struct Described {
    schema: String,
    schema_at: usize,
    data: usize,
}

fn described(cursor: &mut Cursor<'_>) -> Result<Described, Fault> {
    cursor.peek();
    let (start, mut schema, mut data) = (cursor.at, None, None);
    cursor.object("an object with `schema` and `data`", |cursor, key| {
        cursor.peek();
        match key {
            "schema" => schema = Some((cursor.at, cursor.string("a schema").at_key("schema")?.into_owned())),
            "data" => {
                data = Some(cursor.at);
                cursor.skip()?;
            }
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    match (schema, data) {
        (Some((schema_at, schema)), Some(data)) => Ok(Described { schema, schema_at, data }),
        (None, _) => Err(Fault::new(start, "missing key `schema`".to_owned())),
        (_, None) => Err(Fault::new(start, "missing key `data`".to_owned())),
    }
}

/// The kind of event that a schema describes; nothing where the schema is none of ours.
fn kind_of_schema(described: &Described) -> Result<Option<Kind>, Fault> {
    let mut parts = described.schema.strip_prefix("iglu:").unwrap_or_default().split('/');
    let (vendor, name, format, version) = (parts.next(), parts.next(), parts.next(), parts.next());
    if !VENDORS.iter().any(|(ours, _)| vendor == Some(ours)) {
        return Ok(None);
    }
    let is_known = format == Some("jsonschema") && version.is_some_and(|version| version.starts_with("1-"));
    match name.and_then(Kind::named).filter(|_| is_known) {
        Some(kind) => Ok(Some(kind)),
        None => {
            let schema: String = described.schema.chars().take(100).collect();
            let reason =
                format!("unknown schema {schema:?}: there are item, user, ranking and interaction, in version 1-*-*");
            Err(Fault::new(described.schema_at, reason)).at_key("schema")
        }
    }
}
