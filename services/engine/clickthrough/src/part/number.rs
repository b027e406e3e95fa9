//! Numbers in JSON that come back as the bits they were.
//!
//! The shortest decimal form names one float, and the standard library finds it again, while a fast JSON parser may
//! miss it by the last bit. Of what JSON cannot say, NaN is `null` and an infinite value the string `"inf"`.

use rankwright_event::Value;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::str::FromStr;

/// A label, or a number of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Double(pub(crate) f64);

/// A value of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Single(pub(crate) f32);

/// The value of a field as plain JSON.
#[derive(Debug, Clone)]
pub(crate) struct Plain(pub(crate) Value);

impl Serialize for Double {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Double {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse(<&RawValue>::deserialize(deserializer)?.get()).map(Self)
    }
}

impl Serialize for Single {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.is_infinite() {
            true => serializer.collect_str(&self.0),
            false => serializer.serialize_f32(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Single {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match <&RawValue>::deserialize(deserializer)?.get() {
            "null" => Ok(Self(f32::NAN)),
            raw => parse(raw.trim_matches('"')).map(Self),
        }
    }
}

impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Value::Bool(value) => value.serialize(serializer),
            Value::Number(value) => value.serialize(serializer),
            Value::Text(value) => value.serialize(serializer),
            Value::Numbers(values) => values.serialize(serializer),
            Value::Texts(values) => values.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        let first = |text: &str| text.bytes().find(|byte| !byte.is_ascii_whitespace());
        match (first(raw), first(raw.get(1..).unwrap_or_default())) {
            (Some(b't' | b'f'), _) => read(raw).map(Value::Bool),
            (Some(b'"'), _) => read(raw).map(Value::Text),
            (Some(b'['), Some(b'"' | b']')) => read(raw).map(Value::Texts),
            (Some(b'['), _) => read::<Vec<Double>, _>(raw)
                .map(|list| Value::Numbers(list.iter().map(|Double(value)| *value).collect())),
            _ => parse(raw).map(Value::Number),
        }
        .map(Self)
    }
}

fn read<'a, T: Deserialize<'a>, E: Error>(raw: &'a str) -> Result<T, E> {
    serde_json::from_str(raw).map_err(E::custom)
}

fn parse<T: FromStr, E: Error>(raw: &str) -> Result<T, E> {
    raw.parse().map_err(|_| E::custom(format_args!("{raw} is no number")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_kind_of_value_comes_back_from_plain_json() {
        for value in [
            Value::Bool(true),
            Value::Number(0.1 + 0.2),
            Value::Number(-0.0),
            Value::Text("inf".into()),
            Value::Numbers(vec![1.0, f64::MIN_POSITIVE, f64::MAX]),
            Value::Texts(vec!["a\"b".into(), "".into()]),
            Value::Texts(vec![]),
        ] {
            let text = serde_json::to_string(&Plain(value.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Plain>(&text).unwrap().0, value, "{text}");
        }
    }

    #[test]
    fn a_row_keeps_its_infinite_and_its_missing_values() {
        let text =
            serde_json::to_string(&[f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 16_777_217.0].map(Single)).unwrap();
        assert_eq!(text, r#"["inf","-inf",null,16777216.0]"#);
        let values: Vec<Single> = serde_json::from_str(&text).unwrap();
        assert_eq!((values[0].0, values[1].0, values[2].0.is_nan()), (f32::INFINITY, f32::NEG_INFINITY, true));
    }
}
