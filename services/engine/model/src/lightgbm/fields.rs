//! The lines of a model's text, looked up by key.

use std::collections::HashMap;
use std::str::FromStr;

use super::FORMAT;
use crate::error::ReadError;

/// The `key=value` lines of one block.
pub(super) struct Fields<'a> {
    place: String,
    values: HashMap<&'a str, &'a str>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(place: impl Into<String>) -> Self {
        Self { place: place.into(), values: HashMap::new() }
    }

    /// Takes one line.
    pub(super) fn insert(&mut self, line: &'a str) {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        self.values.insert(key, value);
    }

    /// Where these lines stand.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    pub(super) fn invalid(&self, reason: impl Into<String>) -> ReadError {
        ReadError::invalid(FORMAT, self.place.clone(), reason)
    }

    pub(super) fn text(&self, key: &str) -> Result<&'a str, ReadError> {
        self.values.get(key).copied().ok_or_else(|| self.invalid(format!("{key} is missing")))
    }

    pub(super) fn number<T: FromStr>(&self, key: &str) -> Result<T, ReadError> {
        let text = self.text(key)?;
        text.parse().map_err(|_| self.invalid(format!("{key} is {text:?}, not a number")))
    }

    /// A list of exactly `count` numbers.
    pub(super) fn list<T: FromStr>(&self, key: &str, count: usize) -> Result<Vec<T>, ReadError> {
        let number = |word: &str| word.parse().map_err(|_| self.invalid(format!("{key} holds {word:?}, not a number")));
        let numbers: Vec<T> = self.text(key)?.split_ascii_whitespace().map(number).collect::<Result<_, _>>()?;
        match numbers.len() == count {
            true => Ok(numbers),
            false => Err(self.invalid(format!("{key} holds {} numbers, not {count}", numbers.len()))),
        }
    }
}
