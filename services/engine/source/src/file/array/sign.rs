//! Signs of an element in text of which nothing else is known.

use super::place::{is_lead, is_mark};
use memchr::{memchr_iter, memchr2_iter};
use rankwright_event::{Event, json};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// What an object is, as far as one can see.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    /// It is whole, and has a key `event` as events have.
    Event,
    /// It is whole, and no event.
    Other,
    /// It is not JSON.
    Broken,
    /// More of the text has to tell.
    Unended,
}

/// Whether it has the key that all events have, once or more.
struct Kind(bool);

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        let mut has_kind = false;
        while let Some((key, IgnoredAny)) = map.next_entry::<Cow<'_, str>, _>()? {
            has_kind |= key == "event";
        }
        Ok(Kind(has_kind))
    }
}

/// What stands at the beginning of a text, and how much of that was read, in bytes.
pub(super) fn object(text: &[u8]) -> (Object, usize) {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<Kind>();
    match values.next() {
        Some(Ok(Kind(true))) => (Object::Event, values.byte_offset()),
        Some(Ok(_)) => (Object::Other, values.byte_offset()),
        Some(Err(error)) if error.is_eof() => (Object::Unended, text.len()),
        Some(Err(error)) => {
            let line = error.line().checked_sub(2).and_then(|before| memchr_iter(b'\n', text).nth(before));
            (Object::Broken, line.unwrap_or(0) + error.column())
        }
        None => (Object::Unended, text.len()),
    }
}

/// Whether an event that nothing is wrong with stands at the beginning of a text, and how much was read.
pub(super) fn is_event(text: &[u8]) -> (bool, usize) {
    let (object, read) = object(text);
    (object == Object::Event && json::decode(&text[..read]).is_ok(), read)
}

/// Whether an object has `event` for its first key, as far as one can see: within a text its quotes would be escaped.
pub(super) fn begins_event(text: &[u8]) -> Option<bool> {
    const KEY: &[u8] = b"\"event\"";
    const FARTHEST: usize = 64;
    let rest = text.get(1..text.len().min(FARTHEST))?.trim_ascii_start();
    let seen = rest.len().min(KEY.len());
    match rest[..seen] == KEY[..seen] {
        true if seen == KEY.len() => Some(true),
        true => (text.len() >= FARTHEST).then_some(false),
        false => Some(false),
    }
}

/// The events in a text that is none, and where they begin: brackets that are missing at one place and left over at another may
/// hold several elements together. What stands in JSON is a part of that, whatever it looks like, but where other things have to be
/// by the `path` of what is wrong with it.
pub(in super::super) fn events(text: &[u8], path: &str) -> Vec<(usize, Event)> {
    /// Bytes that may be read of a text, as a multiple of its length.
    const AGAIN: usize = 16;
    let (mut events, mut read, mut end) = (Vec::new(), 0, 0);
    let within = path.starts_with("fields[") || path.starts_with("items[");
    if !within && serde_json::from_slice::<IgnoredAny>(text).is_ok() {
        return events;
    }
    for sign in signs(text).filter(|sign| *sign > 0) {
        if sign < end || read > AGAIN * text.len() {
            continue;
        }
        let (object, bytes) = object(&text[sign..]);
        read += bytes;
        if object == Object::Event
            && let Ok(event) = json::decode(&text[sign..sign + bytes])
        {
            events.push((sign, event));
            end = sign + bytes;
        }
    }
    events
}

/// Where elements seem to begin within a text.
pub(super) fn signs(text: &[u8]) -> impl Iterator<Item = usize> {
    let mut line = None;
    let begins = move |at: &usize| {
        if text[*at] == b'\n' {
            line = Some(at + 1);
            return false;
        }
        let before = &text[..*at];
        let leads = line.take().is_some_and(|line| before[line..].iter().all(|byte| is_lead(*byte)));
        let behind = before.iter().rev().find(|byte| !byte.is_ascii_whitespace());
        leads || behind.is_some_and(|byte| is_mark(*byte))
    };
    memchr2_iter(b'{', b'\n', text).filter(begins)
}
