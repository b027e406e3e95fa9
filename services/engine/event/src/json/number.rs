//! Labels and scores of ranked items.

use serde::de::{DeserializeSeed, Deserializer, Error, Unexpected, Visitor};
use std::fmt;

/// Reads a number or null. A label may be a boolean too: relevant (1) or not (0).
pub(super) struct OptionalNumber {
    pub(super) booleans: bool,
}

impl<'de> DeserializeSeed<'de> for OptionalNumber {
    type Value = Option<f64>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl Visitor<'_> for OptionalNumber {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.booleans { "a number, a boolean or null" } else { "a number or null" })
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number as f64))
    }

    fn visit_bool<E: Error>(self, relevant: bool) -> Result<Self::Value, E> {
        if self.booleans { Ok(Some(f64::from(relevant))) } else { Err(E::invalid_type(Unexpected::Bool(relevant), &self)) }
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}
