//! How the parts of a value are written, where the derived way does not fit.

use crate::entity::Ordered;
use crate::{Cell, Entity, Part, Parts, Recent, Term, Terms, Visit, Windows};
use compact_str::CompactString;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::fmt;

/// An order of values for ties: that of their bytes, since numbers have no total one.
pub(crate) fn compare(left: &Cell, right: &Cell) -> Ordering {
    let bytes = |cell| postcard::to_stdvec(cell).unwrap_or_default();
    bytes(left).cmp(&bytes(right))
}

impl Serialize for Entity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        self.values().try_for_each(|value| list.serialize_element(&value))?;
        list.end()
    }
}

impl<'de> Deserialize<'de> for Entity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(EntityVisitor)
    }
}

struct EntityVisitor;

impl<'de> Visitor<'de> for EntityVisitor {
    type Value = Entity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values in order of their slots")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Entity, A::Error> {
        let mut ordered = Ordered::expecting(expected(&values));
        while let Some((slot, stored)) = values.next_element()? {
            if !ordered.push(slot, stored) {
                return Err(A::Error::custom("slots are not in order"));
            }
        }
        Ok(ordered.entity())
    }
}

/// How many elements there are likely to be: bytes that lie take little memory.
fn expected<'de>(list: &impl SeqAccess<'de>) -> usize {
    const MOST: usize = 64;
    list.size_hint().unwrap_or(0).min(MOST)
}

impl Serialize for Windows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.keep(), self.counts().collect::<SmallVec<[(i64, u64); 8]>>()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Windows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (keep, counts) = <(u32, SmallVec<[(i64, u64); 8]>)>::deserialize(deserializer)?;
        Self::from_parts(keep, &counts).ok_or_else(|| D::Error::custom("periods are not in order"))
    }
}

impl Serialize for Recent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.keep(), self.visits()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Recent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (keep, visits) = <(u32, Vec<Visit>)>::deserialize(deserializer)?;
        Self::from_parts(keep, visits).ok_or_else(|| D::Error::custom("visits are not newest first"))
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parts = Vec::<Part>::deserialize(deserializer)?;
        Self::from_parts(parts).ok_or_else(|| D::Error::custom("parts are not in order"))
    }
}

impl Serialize for Term {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Term {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        CompactString::deserialize(deserializer).map(Self::from_text)
    }
}

impl Serialize for Terms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.texts().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Terms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(TermsVisitor)
    }
}

struct TermsVisitor;

impl<'de> Visitor<'de> for TermsVisitor {
    type Value = Terms;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<Terms, A::Error> {
        let mut read = Vec::<CompactString>::with_capacity(expected(&texts));
        while let Some(text) = texts.next_element()? {
            read.push(text);
        }
        Ok(Terms::from_texts(read))
    }
}

/// A number that comes back bit by bit: a string in readable formats, where they would round it or do not know it.
struct Exact(f64);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() && !survives_json(self.0) {
            return serializer.collect_str(&self.0);
        }
        serializer.serialize_f64(self.0)
    }
}

fn survives_json(number: f64) -> bool {
    let back = serde_json::to_string(&number).and_then(|text| serde_json::from_str::<f64>(&text));
    back.is_ok_and(|back| back.to_bits() == number.to_bits())
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_any(ExactVisitor);
        }
        f64::deserialize(deserializer).map(Self)
    }
}

struct ExactVisitor;

impl Visitor<'_> for ExactVisitor {
    type Value = Exact;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or one as a string")
    }

    fn visit_f64<E>(self, number: f64) -> Result<Exact, E> {
        Ok(Exact(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Exact, E> {
        Ok(Exact(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Exact, E> {
        Ok(Exact(number as f64))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Exact, E> {
        text.parse().map(Exact).map_err(E::custom)
    }
}

/// One number.
pub(crate) mod number {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Exact(*number).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Exact::deserialize(deserializer).map(|exact| exact.0)
    }
}

/// A list of numbers.
pub(crate) mod numbers {
    use super::*;
    use std::sync::Arc;

    pub(crate) fn serialize<S: Serializer>(numbers: &Arc<[f64]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(numbers.iter().map(|number| Exact(*number)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[f64]>, D::Error> {
        let numbers = Vec::<Exact>::deserialize(deserializer)?;
        Ok(numbers.into_iter().map(|exact| exact.0).collect())
    }
}

/// Bytes: as they are, or two hexadecimal digits each in readable formats.
pub(crate) mod bytes {
    use super::*;
    use std::fmt::Write;
    use std::sync::Arc;

    pub(crate) fn serialize<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(bytes);
        }
        let mut text = String::with_capacity(bytes.len() * 2);
        bytes.iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string takes any text"));
        serializer.serialize_str(&text)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
        if !deserializer.is_human_readable() {
            return <&[u8]>::deserialize(deserializer).map(Arc::from);
        }
        let text = String::deserialize(deserializer)?;
        let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
            &[high, low] => Some((digit(high)? << 4) | digit(low)?),
            _ => None,
        });
        pairs
            .collect::<Option<Vec<u8>>>()
            .map(Arc::from)
            .ok_or_else(|| D::Error::custom("bytes that are no hexadecimal"))
    }

    fn digit(character: u8) -> Option<u8> {
        char::from(character).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
    }
}
