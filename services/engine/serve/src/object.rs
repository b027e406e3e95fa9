//! Objects of a request: serde would also take a list of their values in order, which no description of them says.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Deserialises from an object alone.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

struct Entries<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Object<T>, M::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Pair {
        query: String,
        text: String,
    }

    fn read(text: &str) -> Result<Pair, String> {
        serde_json::from_str(text).map(|Object(pair)| pair).map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_is_no_object() {
        let pair = read(r#"{"query": "q", "text": "t", "more": 1}"#).expect("it has both keys");
        assert_eq!((pair.query.as_str(), pair.text.as_str()), ("q", "t"));
        let error = read(r#"["q", "t"]"#).expect_err("it is a list");
        assert!(error.contains("expected an object"), "{error}");
        assert!(read(r#"{"query": "q"}"#).is_err_and(|error| error.contains("missing field `text`")));
    }
}
