//! The fields that are counted, and which others there are.

use crate::told::line;
use anyhow::{Result, bail};
use compact_str::CompactString;
use rankwright_event::{ItemUpdate, Value};
use std::collections::BTreeSet;

/// Names of other fields that are kept for a message.
const SHOWN: usize = 50;

/// Fields of items, by their names.
#[derive(Debug)]
pub(crate) struct Fields {
    names: Vec<String>,
    /// What each of them held so far.
    held: Vec<Held>,
    others: BTreeSet<CompactString>,
}

/// What a field held so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    Nothing,
    NoText,
    Text,
}

impl Fields {
    /// Fields of these names, each once, in the order of their names.
    pub(crate) fn named(names: &[String]) -> Result<Self> {
        let name = |name: &String| {
            let name = name.trim();
            name.strip_prefix("item.").or_else(|| name.strip_prefix("metadata.")).unwrap_or(name).to_owned()
        };
        let names: BTreeSet<String> = names.iter().map(name).collect();
        if names.contains("") {
            bail!("--fields: a name is empty; expected names of item fields, such as title,description");
        }
        let held = vec![Held::Nothing; names.len()];
        Ok(Self { names: names.into_iter().collect(), held, others: BTreeSet::new() })
    }

    /// Their names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// What an item holds of them: the texts of each.
    pub(crate) fn of<'e>(&mut self, item: &'e ItemUpdate) -> Vec<Vec<&'e str>> {
        let mut texts = Vec::new();
        for field in &item.fields {
            match self.names.iter().position(|name| *name == field.name) {
                Some(place) => {
                    let found = texts_of(&field.value);
                    self.held[place] = match (self.held[place], &found) {
                        (Held::Text, _) | (_, Some(_)) => Held::Text,
                        _ => Held::NoText,
                    };
                    texts.extend(found);
                }
                None if self.others.len() < SHOWN && !self.others.contains(&field.name) => {
                    self.others.insert(field.name.clone());
                }
                None => {}
            }
        }
        texts
    }

    /// What is wrong where one of them held no text: most often a misspelt name.
    pub(crate) fn check(&self) -> Result<()> {
        let Some(place) = self.held.iter().position(|&held| held != Held::Text) else { return Ok(()) };
        let name = &self.names[place];
        if self.held[place] == Held::NoText {
            bail!("--fields: the field '{name}' of items holds no text, in any event");
        }
        let found = self.names.iter().zip(&self.held).filter(|(_, held)| **held != Held::Nothing);
        let known: BTreeSet<&str> =
            found.map(|(name, _)| name.as_str()).chain(self.others.iter().map(CompactString::as_str)).collect();
        let known: Vec<String> = known.into_iter().map(line).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        bail!("--fields: no item event has the field '{name}'; fields of items are: {known}");
    }
}

/// The texts of a string or of a list of strings.
fn texts_of(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::Text(text) => Some(vec![text]),
        Value::Texts(texts) => Some(texts.iter().map(CompactString::as_str).collect()),
        _ => None,
    }
}
