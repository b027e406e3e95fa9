//! What JSON and UBJSON have in common: values by name and number.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::FORMAT;
use crate::error::ReadError;

/// Nesting of a model; XGBoost's own has ten levels.
pub(super) const MAX_NESTING: usize = 64;

/// A value of a model's document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Document {
    Null,
    Bool(bool),
    Int(i64),
    Float(f32),
    Text(String),
    List(Vec<Document>),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Object(BTreeMap<String, Document>),
}

impl Document {
    /// The value of a key.
    pub(super) fn child(&self, key: &str) -> Result<&Self, ReadError> {
        match self {
            Self::Object(children) => children.get(key).ok_or_else(|| invalid(key, "it is missing")),
            _ => Err(invalid(key, "what should hold it is no object")),
        }
    }

    pub(super) fn text(&self) -> Result<&str, ReadError> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(expected("a text", other)),
        }
    }

    /// A number that is written as text.
    pub(super) fn parsed<T: FromStr>(&self) -> Result<T, ReadError> {
        self.text()?.parse().map_err(|_| expected("a number in a text", self))
    }

    pub(super) fn items(&self) -> Result<&[Self], ReadError> {
        match self {
            Self::List(items) => Ok(items),
            other => Err(expected("a list", other)),
        }
    }

    /// A list of integers or truth values.
    pub(super) fn ints(&self) -> Result<Vec<i64>, ReadError> {
        let int = |item: &Self| match item {
            Self::Int(int) => Ok(*int),
            Self::Bool(bool) => Ok(i64::from(*bool)),
            other => Err(expected("an integer", other)),
        };
        match self {
            Self::Ints(ints) => Ok(ints.clone()),
            Self::List(items) => items.iter().map(int).collect(),
            other => Err(expected("a list of integers", other)),
        }
    }

    /// A list of numbers.
    pub(super) fn floats(&self) -> Result<Vec<f32>, ReadError> {
        let float = |item: &Self| match item {
            Self::Float(float) => Ok(*float),
            Self::Int(int) => Ok(*int as f32),
            other => Err(expected("a number", other)),
        };
        match self {
            Self::Floats(floats) => Ok(floats.clone()),
            Self::List(items) => items.iter().map(float).collect(),
            other => Err(expected("a list of numbers", other)),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a truth value",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Ints(_) => "a list of integers",
            Self::Floats(_) => "a list of numbers",
            Self::Object(_) => "an object",
        }
    }
}

fn invalid(key: &str, reason: &str) -> ReadError {
    ReadError::invalid(FORMAT, key, reason)
}

fn expected(what: &str, found: &Document) -> ReadError {
    ReadError::invalid(FORMAT, "a value", format!("expected {what}, found {}", found.kind()))
}
