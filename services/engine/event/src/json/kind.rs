//! Kinds of events, the keys they have, and the kind of an event that is not read yet.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Unexpected, Visitor};
use std::fmt;

/// The kinds of events, as `event` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Item,
    User,
    Ranking,
    Interaction,
}

/// The keys of events of all kinds.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
pub(super) enum Key {
    Event,
    Id,
    Timestamp,
    Tenant,
    Fields,
    Item,
    User,
    Session,
    Ranking,
    Items,
    Type,
    #[serde(other)]
    Unknown,
}

impl Kind {
    /// Whether an event of this kind has such a key; it ignores all others.
    pub(super) fn has(self, key: Key) -> bool {
        match key {
            Key::Event | Key::Id | Key::Timestamp | Key::Tenant | Key::Fields => true,
            Key::Item => matches!(self, Self::Item | Self::Interaction),
            Key::User => self != Self::Item,
            Key::Session => matches!(self, Self::Ranking | Self::Interaction),
            Key::Items => self == Self::Ranking,
            Key::Ranking | Key::Type => self == Self::Interaction,
            Key::Unknown => false,
        }
    }
}

/// Reads the value of `event`.
pub(super) enum KindName {
    /// Any kind.
    Any,
    /// Of a rank request: a ranking, which need not be said.
    Request,
}

impl<'de> DeserializeSeed<'de> for KindName {
    type Value = Kind;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Kind, D::Error> {
        from.deserialize_any(self)
    }
}

impl Visitor<'_> for KindName {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "`item`, `user`, `ranking` or `interaction`",
            Self::Request => "`ranking` in a rank request",
        })
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Kind, E> {
        match (name, &self) {
            ("ranking", _) => Ok(Kind::Ranking),
            ("item", Self::Any) => Ok(Kind::Item),
            ("user", Self::Any) => Ok(Kind::User),
            ("interaction", Self::Any) => Ok(Kind::Interaction),
            _ => Err(E::invalid_value(Unexpected::Str(name), &self)),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        match self {
            Self::Request => Ok(Kind::Ranking),
            Self::Any => Err(E::invalid_type(Unexpected::Unit, &self)),
        }
    }
}

/// Looks only for the kind of an event; `None` where there is none to be found.
pub(super) struct KindSeed;

impl<'de> DeserializeSeed<'de> for KindSeed {
    type Value = Option<Kind>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for KindSeed {
    type Value = Option<Kind>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut kind = None;
        while let Some(key) = map.next_key()? {
            match key {
                Key::Event => kind = Some(map.next_value_seed(KindName::Any)?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(kind)
    }
}
