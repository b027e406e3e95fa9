//! Whole numbers of a request: JSON has one kind of number, so `5.0` is 5.

use serde::de::{Deserializer, Error, Unexpected, Visitor};
use std::fmt;

/// Reads one, for `deserialize_with`.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(Whole)
}

/// Reads one, or null. The key may be missing where it has a default.
pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_option(OrNothing)
}

struct Whole;
struct OrNothing;

impl Visitor<'_> for Whole {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        const BEYOND: f64 = 18_446_744_073_709_551_616.0; // 2^64
        let whole = number.fract() == 0.0 && (0.0..BEYOND).contains(&number);
        whole.then_some(number as u64).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }
}

impl<'de> Visitor<'de> for OrNothing {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number or null")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        whole(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Wanted {
        #[serde(deserialize_with = "whole")]
        count: u64,
        #[serde(default, deserialize_with = "optional")]
        top: Option<u64>,
    }

    fn read(text: &str) -> Result<(u64, Option<u64>), String> {
        serde_json::from_str::<Wanted>(text).map(|read| (read.count, read.top)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_number_without_fraction_is_whole_however_it_is_written() {
        assert_eq!(read(r#"{"count": 5.0, "top": 1e1}"#), Ok((5, Some(10))));
        assert_eq!(read(r#"{"count": 18446744073709551615, "top": null}"#), Ok((u64::MAX, None)));
        assert_eq!(read(r#"{"count": 0}"#), Ok((0, None)));
        for wrong in
            [r#"{"count": 5.5}"#, r#"{"count": -1}"#, r#"{"count": -1.0}"#, r#"{"count": 1e300}"#, r#"{"count": "5"}"#]
        {
            assert!(read(wrong).is_err_and(|error| error.contains("expected a whole number")), "{wrong}");
        }
        assert!(read(r#"{"top": 1}"#).is_err_and(|error| error.contains("missing field `count`")));
    }
}
