//! Lists inside events: fields, and the items of a ranking.

use super::number::OptionalNumber;
use super::text::Text;
use super::trail::Trail;
use super::value::ValueSeed;
use crate::{Field, RankedItem};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// An object that a list consists of.
pub(super) trait Entry: Sized {
    /// What a list holds, for messages.
    const MANY: &'static str;
    /// What one entry is, for messages.
    const ONE: &'static str;

    /// Reads the entry from an object's keys.
    fn read<'de, A: MapAccess<'de>>(map: A, trail: &Trail) -> Result<Self, A::Error>;
}

/// Reads a list of entries; null is an empty one, where that is allowed.
pub(super) struct List<'t, T> {
    trail: &'t Trail,
    filled: bool,
    of: PhantomData<T>,
}

impl<'t, T> List<'t, T> {
    /// A list of any length.
    pub(super) fn any(trail: &'t Trail) -> Self {
        Self { trail, filled: false, of: PhantomData }
    }

    /// A list that is not empty.
    pub(super) fn filled(trail: &'t Trail) -> Self {
        Self { trail, filled: true, of: PhantomData }
    }
}

impl<'de, T: Entry> DeserializeSeed<'de> for List<'_, T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<T>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Entry> Visitor<'de> for List<'_, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of {}{}", T::MANY, if self.filled { ", at least one" } else { "" })
    }

    fn visit_unit<E: Error>(self) -> Result<Vec<T>, E> {
        if self.filled { Err(E::invalid_type(Unexpected::Unit, &self)) } else { Ok(Vec::new()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut entries = Vec::new();
        let next = || One { trail: self.trail, of: PhantomData };
        while let Some(entry) = self.trail.index(entries.len(), list.next_element_seed(next()))? {
            if entries.is_empty() {
                entries.reserve_exact(1); // an item of a request has one field more often than four
            }
            entries.push(entry);
        }
        if self.filled && entries.is_empty() { Err(A::Error::invalid_length(0, &self)) } else { Ok(entries) }
    }
}

struct One<'t, T> {
    trail: &'t Trail,
    of: PhantomData<T>,
}

impl<'de, T: Entry> DeserializeSeed<'de> for One<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Entry> Visitor<'de> for One<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::ONE)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::read(map, self.trail)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum FieldKey {
    Name,
    Value,
    #[serde(other)]
    Other,
}

impl Entry for Field {
    const MANY: &'static str = "fields";
    const ONE: &'static str = "a field: an object with `name` and `value`";

    fn read<'de, A: MapAccess<'de>>(mut map: A, trail: &Trail) -> Result<Self, A::Error> {
        let (mut name, mut value) = (None, None);
        while let Some(key) = map.next_key()? {
            match key {
                FieldKey::Name => name = trail.key("name", map.next_value_seed(Text::any()))?,
                FieldKey::Value => value = Some(trail.key("value", map.next_value_seed(ValueSeed(trail)))?),
                FieldKey::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match (name, value) {
            (Some(name), Some(value)) => Ok(Self { name, value }),
            (None, Some(_)) => Err(A::Error::custom("missing key `name`")),
            (Some(_), None) => Err(A::Error::custom("missing key `value`")),
            (None, None) => Err(A::Error::custom("missing keys `name`, `value`")),
        }
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum ItemKey {
    Id,
    Fields,
    Label,
    Score,
    #[serde(other)]
    Other,
}

impl Entry for RankedItem {
    const MANY: &'static str = "items";
    const ONE: &'static str = "an item: an object with `id`";

    fn read<'de, A: MapAccess<'de>>(mut map: A, trail: &Trail) -> Result<Self, A::Error> {
        let (mut id, mut fields, mut label, mut score) = (None, Vec::new(), None, None);
        while let Some(key) = map.next_key()? {
            match key {
                ItemKey::Id => id = trail.key("id", map.next_value_seed(Text::filled()))?,
                ItemKey::Fields => fields = trail.key("fields", map.next_value_seed(List::any(trail)))?,
                ItemKey::Label => {
                    label = trail.key("label", map.next_value_seed(OptionalNumber { booleans: true }))?;
                }
                ItemKey::Score => {
                    score = trail.key("score", map.next_value_seed(OptionalNumber { booleans: false }))?;
                }
                ItemKey::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let id = id.ok_or_else(|| A::Error::custom("missing key `id`"))?;
        Ok(Self { id, fields, label, score })
    }
}
