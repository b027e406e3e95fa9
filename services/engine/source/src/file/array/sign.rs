//! Signs of an element in text of which nothing else is known.

use super::place::{is_lead, is_mark};
use memchr::{memchr_iter, memchr2_iter};
use rankwright_event::json;
use serde::Deserialize;
use serde::de::IgnoredAny;

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

/// The key that all events have, and whatever else.
#[derive(Deserialize)]
struct Kind {
    event: Option<IgnoredAny>,
}

/// What stands at the beginning of a text, and how much of that was read, in bytes.
pub(super) fn object(text: &[u8]) -> (Object, usize) {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<Kind>();
    match values.next() {
        Some(Ok(Kind { event: Some(_) })) => (Object::Event, values.byte_offset()),
        Some(Ok(_)) => (Object::Other, values.byte_offset()),
        Some(Err(error)) if error.is_eof() => (Object::Unended, text.len()),
        Some(Err(error)) if error.is_data() => (Object::Broken, text.len()), // `event` twice
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
