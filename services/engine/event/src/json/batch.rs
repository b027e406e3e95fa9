//! Events sent together.

use super::event::EventSeed;
use super::kind::{Kind, KindSeed};
use super::{DecodeError, Trail, whole};
use crate::Event;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::fmt;

/// Reads all events of a body, or none.
pub(super) fn decode(body: &[u8]) -> Result<Vec<Event>, DecodeError> {
    match body.trim_ascii_start() {
        [b'[', ..] => array(body),
        _ if is_lines(body) => lines(body),
        _ => super::decode(body).map(|event| vec![event]),
    }
}

/// Whether a body is more than one object: its first line holds a whole one, or is broken before its end.
fn is_lines(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    let first = body.split(|&byte| byte == b'\n').next().unwrap_or(body);
    let object = serde_json::from_slice::<IgnoredAny>(first);
    first.len() < body.len() && !object.is_err_and(|error| error.is_eof())
}

fn lines(body: &[u8]) -> Result<Vec<Event>, DecodeError> {
    let mut events = Vec::new();
    for (above, line) in body.split(|&byte| byte == b'\n').enumerate() {
        if !line.trim_ascii().is_empty() {
            events.push(super::decode(line).map_err(|error| error.inside(events.len(), above))?);
        }
    }
    Ok(events)
}

fn array(body: &[u8]) -> Result<Vec<Event>, DecodeError> {
    array_as(body, &[]).or_else(|error| {
        let kinds = whole(body, &Trail::default(), Array { trail: &Trail::default(), seed: |_| KindSeed });
        kinds.map_or(Err(error), |kinds| array_as(body, &kinds))
    })
}

fn array_as(body: &[u8], kinds: &[Option<Kind>]) -> Result<Vec<Event>, DecodeError> {
    let trail = &Trail::default();
    let seed = |index| EventSeed::event(trail, kinds.get(index).copied().flatten());
    whole(body, trail, Array { trail, seed })
}

/// Reads an array, each element with the seed for its index.
struct Array<'t, F> {
    trail: &'t Trail,
    seed: F,
}

impl<'de, F: Fn(usize) -> S, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Array<'_, F> {
    type Value = Vec<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, F: Fn(usize) -> S, S: DeserializeSeed<'de>> Visitor<'de> for Array<'_, F> {
    type Value = Vec<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = self.trail.index(values.len(), list.next_element_seed((self.seed)(values.len())))? {
            values.push(value);
        }
        Ok(values)
    }
}
