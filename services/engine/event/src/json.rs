//! Events as JSON: what files, streams and requests carry.
//!
//! An import spends much of its time here, so an event is read in one pass straight into its type: no tree in between,
//! no buffer of keys, text borrowed until it becomes an identifier. An error carries the path inside the event; the
//! path is put together while the error travels up, so that good input does not pay for it.
//!
//! Which keys count depends on the kind of event, and `event` may come last. Keys of other kinds are skipped once the
//! kind is known; where one of them fails before, the kind is looked up and the event is read once more. Of a key that
//! is there twice the last value counts.

mod cursor;
mod encode;
mod error;
mod event;
mod field;
mod item;
mod kind;
mod number;
mod parts;
mod skip;
pub mod snowplow;
mod string;

pub use encode::{encode, write};
pub use error::DecodeError;

use crate::{Event, Ranking, Timestamp};
use cursor::Cursor;
use error::{Fault, Within};

/// Reads one event, such as one line of a file. Blanks around it are fine, anything else is not.
pub fn decode(text: &[u8]) -> Result<Event, DecodeError> {
    whole(text, event::event)
}

/// Reads when an event happened, such as that of one line of a file, without building the event.
///
/// The text must be JSON with a known `event` and a `timestamp`; no other key is looked at. It takes a fraction of the time of
/// [`decode`].
///
/// # Errors
/// The text is no JSON object, or one of the two keys is missing or invalid.
pub fn decode_time(text: &[u8]) -> Result<Timestamp, DecodeError> {
    whole(text, event::time)
}

/// Reads the body of a rank request: a ranking event in which `event` may be left out.
pub fn decode_ranking_request(body: &[u8]) -> Result<Ranking, DecodeError> {
    whole(body, event::request)
}

/// Reads events sent together: one object, an array of them, or one after the other (JSON lines).
///
/// All or nothing: the path of an error begins with the index of the bad event (`[3].items[0].id`), unless the body is
/// a single object. An empty array holds no events; an empty body is an error.
pub fn decode_batch(body: &[u8]) -> Result<Vec<Event>, DecodeError> {
    whole(body, |cursor| match cursor.peek() {
        Some(b'[') => cursor.array("an array of events", event::event),
        _ => sequence(cursor),
    })
}

fn sequence(cursor: &mut Cursor<'_>) -> Result<Vec<Event>, Fault> {
    let mut events = Vec::new();
    while events.is_empty() || cursor.peek().is_some() {
        let start = cursor.at;
        let event = event::event(cursor);
        let single = event.is_err() && events.is_empty() && is_single(cursor, start);
        events.push(if single { event? } else { event.at_index(events.len())? });
    }
    Ok(events)
}

/// Whether the value at `start` is all there is, as far as a broken one lets us know. Reading does not go on from here.
fn is_single(cursor: &mut Cursor<'_>, start: usize) -> bool {
    cursor.at = start;
    match cursor.skip() {
        Ok(()) => cursor.peek().is_none(),
        Err(_) => !cursor.text[start..].trim_end().contains('\n'),
    }
}

/// Reads a text that holds one thing and nothing after it.
fn whole<'a, T>(text: &'a [u8], read: impl FnOnce(&mut Cursor<'a>) -> Result<T, Fault>) -> Result<T, DecodeError> {
    let mut cursor = Cursor::new(text)?;
    let value = read(&mut cursor).and_then(|value| match cursor.peek() {
        None => Ok(value),
        Some(_) => Err(cursor.unexpected("the end")),
    });
    value.map_err(|fault| fault.seen_in(text))
}
