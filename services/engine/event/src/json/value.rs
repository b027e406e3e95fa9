//! Values of fields: boolean, number, string, list of strings, list of numbers.

use super::trail::Trail;
use crate::Value;
use compact_str::CompactString;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;

/// Reads a value of a field.
pub(super) struct ValueSeed<'t>(pub(super) &'t Trail);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a boolean, a number, a string, a list of strings or a list of numbers")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let first = self.0.index(0, list.next_element_seed(Element { accepts: Accepts::Both }))?;
        match first {
            None => Ok(Value::Texts(Vec::new())),
            Some(Scalar::Number(first)) => self.numbers(first, list).map(Value::Numbers),
            Some(Scalar::Text(first)) => self.texts(first, list).map(Value::Texts),
        }
    }
}

impl ValueSeed<'_> {
    fn numbers<'de, A: SeqAccess<'de>>(&self, first: f64, mut list: A) -> Result<Vec<f64>, A::Error> {
        let mut numbers = vec![first];
        let next = || Element { accepts: Accepts::Numbers };
        while let Some(element) = self.0.index(numbers.len(), list.next_element_seed(next()))? {
            if let Scalar::Number(number) = element {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    fn texts<'de, A: SeqAccess<'de>>(&self, first: CompactString, mut list: A) -> Result<Vec<CompactString>, A::Error> {
        let mut texts = vec![first];
        let next = || Element { accepts: Accepts::Texts };
        while let Some(element) = self.0.index(texts.len(), list.next_element_seed(next()))? {
            if let Scalar::Text(text) = element {
                texts.push(text);
            }
        }
        Ok(texts)
    }
}

enum Scalar {
    Number(f64),
    Text(CompactString),
}

/// What a list accepts follows from its first element.
#[derive(Clone, Copy, PartialEq)]
enum Accepts {
    Both,
    Numbers,
    Texts,
}

struct Element {
    accepts: Accepts,
}

impl<'de> DeserializeSeed<'de> for Element {
    type Value = Scalar;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Scalar, D::Error> {
        from.deserialize_any(self)
    }
}

impl Visitor<'_> for Element {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.accepts {
            Accepts::Both => "a string or a number",
            Accepts::Numbers => "a number like those before it",
            Accepts::Texts => "a string like those before it",
        })
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar, E> {
        match self.accepts {
            Accepts::Texts => Err(E::invalid_type(serde::de::Unexpected::Float(number), &self)),
            _ => Ok(Scalar::Number(number)),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
        self.visit_f64(number as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
        match self.accepts {
            Accepts::Numbers => Err(E::invalid_type(serde::de::Unexpected::Str(text), &self)),
            _ => Ok(Scalar::Text(text.into())),
        }
    }
}
