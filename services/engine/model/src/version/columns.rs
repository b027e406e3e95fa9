//! The columns a model was trained on, and how they differ from those it would be served.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

/// A column of a feature row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name of the column, as `ctr_7`.
    pub name: String,
    /// Name of the feature it is part of, as `ctr`.
    pub feature: String,
    /// Digest of everything that decides its values.
    pub fingerprint: u64,
    /// Whether its numbers are categories.
    pub categorical: bool,
}

/// A model was trained with other columns than it would be served; the names of those that differ.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnMismatch {
    /// Trained on, and no longer there.
    pub missing: Vec<String>,
    /// There, and unknown to the model.
    pub unknown: Vec<String>,
    /// In both, and defined in another way.
    pub changed: Vec<String>,
    /// In both, and at another place.
    pub moved: Vec<String>,
}

/// How the text of such an error begins.
const OTHER_FEATURES: &str = "model was trained with other features";

impl ColumnMismatch {
    /// Whether the text of an error, as one server gives it to another, is about such a mismatch.
    pub fn is_told_by(text: &str) -> bool {
        text.starts_with(OTHER_FEATURES)
    }
}

impl std::error::Error for ColumnMismatch {}

impl fmt::Display for ColumnMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OTHER_FEATURES)?;
        let parts = [
            ("no longer there", &self.missing),
            ("new", &self.unknown),
            ("defined in another way", &self.changed),
            ("in another order", &self.moved),
        ];
        for (index, (what, names)) in parts.iter().filter(|(_, names)| !names.is_empty()).enumerate() {
            write!(f, "{} {what}: {}", if index == 0 { ":" } else { ";" }, names.join(", "))?;
        }
        f.write_str("; train it again, or give it the previous features back")?;
        if !self.changed.is_empty() {
            f.write_str("; a dictionary or text model that was replaced needs another key")?;
        }
        Ok(())
    }
}

/// Compares by place, name, fingerprint and kind.
pub(super) fn check(trained: &[Column], wanted: &[Column]) -> Result<(), ColumnMismatch> {
    let (before, now) = (by_name(trained), by_name(wanted));
    let mut mismatch = ColumnMismatch::default();
    for (place, column) in trained.iter().enumerate() {
        match now.get(column.name.as_str()) {
            None => mismatch.missing.push(column.name.clone()),
            Some(&other) if !same(column, &wanted[other]) => mismatch.changed.push(column.name.clone()),
            Some(&other) if other != place => mismatch.moved.push(column.name.clone()),
            Some(_) => {}
        }
    }
    let unknown = wanted.iter().filter(|column| !before.contains_key(column.name.as_str()));
    mismatch.unknown = unknown.map(|column| column.name.clone()).collect();
    if mismatch == ColumnMismatch::default() { Ok(()) } else { Err(mismatch) }
}

/// Where columns are, the first of each name.
fn by_name(columns: &[Column]) -> HashMap<&str, usize> {
    // an earlier one takes the place of a later one
    columns.iter().enumerate().rev().map(|(place, column)| (column.name.as_str(), place)).collect()
}

fn same(left: &Column, right: &Column) -> bool {
    (left.fingerprint, left.categorical) == (right.fingerprint, right.categorical)
}
