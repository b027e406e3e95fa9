//! An event, read key by key.

use super::kind::{Key, Kind, KindName};
use super::list::List;
use super::raw::{Assemble, Raw};
use super::text::{Text, Time};
use super::trail::Trail;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Reads an event, or a rank request, from an object.
pub(super) struct EventSeed<'t, T> {
    trail: &'t Trail,
    /// The kind, if known beforehand.
    kind: Option<Kind>,
    request: bool,
    into: PhantomData<T>,
}

impl<'t, T> EventSeed<'t, T> {
    /// For an event; of `kind`, where that is known beforehand.
    pub(super) fn event(trail: &'t Trail, kind: Option<Kind>) -> Self {
        Self { trail, kind, request: false, into: PhantomData }
    }

    /// For a rank request.
    pub(super) fn request(trail: &'t Trail) -> Self {
        Self { trail, kind: Some(Kind::Ranking), request: true, into: PhantomData }
    }
}

impl<'de, T: Assemble> DeserializeSeed<'de> for EventSeed<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Assemble> Visitor<'de> for EventSeed<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.request { "a rank request: an object" } else { "an event: an object" })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut raw = Raw { kind: self.kind, ..Raw::default() };
        while let Some(key) = map.next_key()? {
            if raw.kind.is_none_or(|kind| kind.has(key)) {
                self.read(&mut raw, key, &mut map)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let missing = raw.missing();
        T::assemble(raw).ok_or_else(|| match missing.as_slice() {
            [key] => A::Error::custom(format_args!("missing key {key}")),
            keys => A::Error::custom(format_args!("missing keys {}", keys.join(", "))),
        })
    }
}

impl<T> EventSeed<'_, T> {
    fn read<'de, A: MapAccess<'de>>(&self, raw: &mut Raw, key: Key, map: &mut A) -> Result<(), A::Error> {
        let at = self.trail;
        match key {
            Key::Event => raw.kind = Some(at.key("event", map.next_value_seed(self.kind_name()))?),
            Key::Id => raw.id = at.key("id", map.next_value_seed(Text::filled()))?,
            Key::Timestamp => raw.timestamp = Some(at.key("timestamp", map.next_value_seed(Time))?),
            Key::Tenant => raw.tenant = at.key("tenant", map.next_value_seed(Text::optional()))?,
            Key::Fields => raw.fields = at.key("fields", map.next_value_seed(List::any(at)))?,
            Key::Item => raw.item = at.key("item", map.next_value_seed(Text::filled()))?,
            Key::User if raw.kind == Some(Kind::User) => {
                raw.user = at.key("user", map.next_value_seed(Text::filled()))?;
            }
            Key::User => raw.user = at.key("user", map.next_value_seed(Text::optional()))?,
            Key::Session => raw.session = at.key("session", map.next_value_seed(Text::optional()))?,
            Key::Ranking => raw.ranking = at.key("ranking", map.next_value_seed(Text::optional()))?,
            Key::Items => raw.items = Some(at.key("items", map.next_value_seed(List::filled(at)))?),
            Key::Type => raw.name = at.key("type", map.next_value_seed(Text::filled()))?,
            Key::Unknown => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    fn kind_name(&self) -> KindName {
        if self.request { KindName::Request } else { KindName::Any }
    }
}

