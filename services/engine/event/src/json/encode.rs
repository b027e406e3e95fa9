//! Events written as JSON, for generators and exports.

use crate::{Event, Field, RankedItem, Tenant, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::io;

/// One event as one line of JSON, without the line's end.
pub fn encode(event: &Event) -> String {
    serde_json::to_string(&Line(event)).unwrap_or_default()
}

/// Writes one event as a line of JSON, with the line's end. Errors are the writer's.
pub fn write(event: &Event, to: &mut impl io::Write) -> io::Result<()> {
    serde_json::to_writer(&mut *to, &Line(event))?;
    to.write_all(b"\n")
}

struct Line<'a>(&'a Event);
struct Fields<'a>(&'a [Field]);
struct OneField<'a>(&'a Field);
struct Plain<'a>(&'a Value);
struct Items<'a>(&'a [RankedItem]);
struct Item<'a>(&'a RankedItem);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("event", self.0.kind())?;
        match self.0 {
            Event::Item(event) => {
                map.serialize_entry("id", &event.id)?;
                map.serialize_entry("item", &event.item)?;
            }
            Event::User(event) => {
                map.serialize_entry("id", &event.id)?;
                map.serialize_entry("user", &event.user)?;
            }
            Event::Ranking(event) => {
                map.serialize_entry("id", &event.id)?;
                entry(&mut map, "user", event.user.as_ref())?;
                entry(&mut map, "session", event.session.as_ref())?;
                map.serialize_entry("items", &Items(&event.items))?;
            }
            Event::Interaction(event) => {
                map.serialize_entry("id", &event.id)?;
                entry(&mut map, "ranking", event.ranking.as_ref())?;
                entry(&mut map, "user", event.user.as_ref())?;
                entry(&mut map, "session", event.session.as_ref())?;
                map.serialize_entry("type", &event.kind)?;
                map.serialize_entry("item", &event.item)?;
            }
        }
        common(&mut map, self.0)?;
        map.end()
    }
}

fn common<M: SerializeMap>(map: &mut M, event: &Event) -> Result<(), M::Error> {
    map.serialize_entry("timestamp", &event.timestamp().millis().to_string())?;
    let tenant = Some(event.tenant()).filter(|&tenant| *tenant != Tenant::default());
    entry(map, "tenant", tenant)?;
    let fields = match event {
        Event::Item(event) => &event.fields,
        Event::User(event) => &event.fields,
        Event::Ranking(event) => &event.fields,
        Event::Interaction(event) => &event.fields,
    };
    map.serialize_entry("fields", &Fields(fields))
}

fn entry<M: SerializeMap>(map: &mut M, key: &str, value: Option<&impl Serialize>) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, value))
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(OneField))
    }
}

impl Serialize for OneField<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("value", &Plain(&self.0.value))?;
        map.end()
    }
}

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Bool(value) => value.serialize(to),
            Value::Number(value) => value.serialize(to),
            Value::Text(value) => value.serialize(to),
            Value::Numbers(values) => values.serialize(to),
            Value::Texts(values) => values.serialize(to),
        }
    }
}

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(Item))
    }
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("id", &self.0.id)?;
        if !self.0.fields.is_empty() {
            map.serialize_entry("fields", &Fields(&self.0.fields))?;
        }
        entry(&mut map, "label", self.0.label.as_ref())?;
        entry(&mut map, "score", self.0.score.as_ref())?;
        map.end()
    }
}
