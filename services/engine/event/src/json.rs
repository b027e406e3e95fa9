//! Events as JSON: what files, streams and requests carry.
//!
//! Decoding is what an import spends most of its time on, so an event is read in one pass over its text: keys become
//! numbers, identifiers are made from the borrowed text, nothing is kept in between. An error carries the path inside
//! the event; the path is put together while the error travels up, so good input does not pay for it.
//!
//! Which keys count depends on the kind of event, and `event` may come last. Keys of other kinds are skipped when the
//! kind is known; should one of them fail before, the kind is looked up and the event is read once more.

mod batch;
mod encode;
mod error;
mod event;
mod kind;
mod list;
mod number;
mod raw;
mod text;
mod trail;
mod value;

pub use encode::{encode, write};
pub use error::DecodeError;

use crate::{Event, Ranking};
use event::EventSeed;
use kind::{Kind, KindSeed};
use serde::de::DeserializeSeed;
use trail::Trail;

/// Reads one event, such as one line of a file. Blanks around it are fine, anything else is not.
pub fn decode(text: &[u8]) -> Result<Event, DecodeError> {
    event_as(text, None).or_else(|error| match kind_of(text) {
        Some(kind) => event_as(text, Some(kind)),
        None => Err(error),
    })
}

/// Reads the body of a rank request: a ranking event in which `event` may be left out.
pub fn decode_ranking_request(body: &[u8]) -> Result<Ranking, DecodeError> {
    let trail = Trail::default();
    whole(body, &trail, EventSeed::request(&trail))
}

/// Reads events sent together: one object, an array of them, or one after the other (JSON lines).
///
/// All or nothing: the path of an error begins with the index of the bad event (`[3].items[0].id`), unless the body is
/// one object. An empty array holds no events; an empty body is an error.
pub fn decode_batch(body: &[u8]) -> Result<Vec<Event>, DecodeError> {
    batch::decode(body)
}

fn event_as(text: &[u8], kind: Option<Kind>) -> Result<Event, DecodeError> {
    let trail = Trail::default();
    whole(text, &trail, EventSeed::event(&trail, kind))
}

fn kind_of(text: &[u8]) -> Option<Kind> {
    whole(text, &Trail::default(), KindSeed).ok().flatten()
}

/// Reads a text that holds one value and nothing after it.
fn whole<'de, S: DeserializeSeed<'de>>(text: &'de [u8], trail: &Trail, seed: S) -> Result<S::Value, DecodeError> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = seed.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    value.map_err(|error| DecodeError::new(trail, &error))
}
