//! What there is: every type of feature, with an example and what it computes; and the JSON schema of a configuration.
//!
//! The reader takes the names from here, and the tests of other crates walk this table to prove that no type lacks an
//! extractor.

mod json;
mod keys;
mod place;
mod scalar;
mod shape;

pub use json::document;
pub(crate) use keys::key;
pub use keys::{KEYS, Key, Keys, NO_EFFECT};

pub use crate::feature::FEATURE_TYPES;

/// A type of feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureType {
    /// What stands under `type`.
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// A definition in YAML, on one line.
    pub example: &'static str,
    /// What it computes, in a sentence.
    pub doc: &'static str,
    /// Keys of its own, in the order of its table.
    pub keys: &'static [Key],
}

impl FeatureType {
    /// A whole configuration with the example as its only feature, used by a model named `example`.
    pub fn configuration(&self) -> String {
        let name = self.example.split(['{', ',']).find_map(|part| part.trim().strip_prefix("name:"));
        let name = name.unwrap_or_default().trim();
        let model = format!("{{type: lambdamart, weights: {{click: 1}}, features: [{name}]}}");
        format!("features:\n  - {}\nmodels:\n  example: {model}\n", self.example)
    }
}
