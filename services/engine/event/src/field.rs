//! Named values of items, users and rankings.

use compact_str::CompactString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One named value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Field {
    /// Name, as configurations refer to it after the dot (`price` in `item.price`).
    #[schemars(with = "String")]
    pub name: CompactString,
    /// Value.
    pub value: Value,
}

/// What a field may hold. Numbers are finite: the formats know no others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(untagged)]
pub enum Value {
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string.
    Text(#[schemars(with = "String")] CompactString),
    /// A list of numbers.
    Numbers(Vec<f64>),
    /// A list of strings; an empty list of the input is this one.
    Texts(#[schemars(with = "Vec<String>")] Vec<CompactString>),
}

impl Value {
    /// What kind of value this is, in the words of the specification.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::Numbers(_) => "list of numbers",
            Self::Texts(_) => "list of strings",
        }
    }
}

impl Field {
    /// About this many bytes of memory, with what it points to.
    pub fn bytes(&self) -> usize {
        let text = |text: &CompactString| if text.is_heap_allocated() { text.len() } else { 0 };
        let value = match &self.value {
            Value::Bool(_) | Value::Number(_) => 0,
            Value::Text(one) => text(one),
            Value::Numbers(numbers) => size_of_val(&numbers[..]),
            Value::Texts(texts) => size_of_val(&texts[..]) + texts.iter().map(text).sum::<usize>(),
        };
        size_of::<Self>() + text(&self.name) + value
    }

    /// A field from its parts.
    pub fn new(name: &str, value: Value) -> Self {
        Self { name: CompactString::from(name), value }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(CompactString::from(text))
    }
}
