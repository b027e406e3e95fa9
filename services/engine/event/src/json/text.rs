//! Identifiers, names and points in time.

use crate::Timestamp;
use serde::de::{DeserializeSeed, Deserializer, Error, Unexpected, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Reads a text into `T`, by one of three rules.
pub(super) struct Text<T> {
    rule: Rule,
    made: PhantomData<T>,
}

#[derive(Clone, Copy, PartialEq)]
enum Rule {
    Any,
    Filled,
    Optional,
}

impl<T> Text<T> {
    /// Any text, the empty one too.
    pub(super) fn any() -> Self {
        Self { rule: Rule::Any, made: PhantomData }
    }

    /// A text that names something: not empty.
    pub(super) fn filled() -> Self {
        Self { rule: Rule::Filled, made: PhantomData }
    }

    /// A text or nothing: null and the empty text are nothing.
    pub(super) fn optional() -> Self {
        Self { rule: Rule::Optional, made: PhantomData }
    }
}

impl<'de, T: for<'a> From<&'a str>> DeserializeSeed<'de> for Text<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: for<'a> From<&'a str>> Visitor<'de> for Text<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.rule {
            Rule::Any => "a string",
            Rule::Filled => "a string that is not empty",
            Rule::Optional => "a string or null",
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        match (text, self.rule) {
            ("", Rule::Filled) => Err(E::invalid_value(Unexpected::Str(text), &self)),
            ("", Rule::Optional) => Ok(None),
            _ => Ok(Some(T::from(text))),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        match self.rule {
            Rule::Optional => Ok(None),
            _ => Err(E::invalid_type(Unexpected::Unit, &self)),
        }
    }
}

/// Reads a point in time: a string of milliseconds or of a date, or a number of milliseconds.
pub(super) struct Time;

impl<'de> DeserializeSeed<'de> for Time {
    type Value = Timestamp;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Timestamp, D::Error> {
        from.deserialize_any(self)
    }
}

impl Visitor<'_> for Time {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("milliseconds since 1970 (\"1636907100000\") or ISO 8601 with a zone (\"2021-11-14T16:25:00Z\")")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
        Timestamp::parse(text).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, millis: f64) -> Result<Timestamp, E> {
        Timestamp::from_number(millis).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, millis: i64) -> Result<Timestamp, E> {
        self.visit_f64(millis as f64)
    }

    fn visit_u64<E: Error>(self, millis: u64) -> Result<Timestamp, E> {
        self.visit_f64(millis as f64)
    }
}
