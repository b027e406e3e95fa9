//! From the tree of a text to the checked types, section by section.
//!
//! A reader first reads all keys of its mapping, then asks it to report those that nobody read, and only then gives
//! up where something required is missing: this way one pass finds every mistake.

mod counter;
mod engine;
mod extractor;
mod feature;
mod field;
mod field_match;
mod inference;
mod lambdamart;
mod model;
mod selector;
mod source;
mod state;
mod train;

use crate::Config;
use crate::section::Section;
use crate::value::Value;
use std::collections::BTreeSet;

/// Reads the whole configuration; defaults stand in place of what was wrong.
pub(crate) fn config(root: &Value<'_>) -> Config {
    let section = if root.is_nothing() { None } else { root.section() };
    let config = section.map(sections).unwrap_or_default();
    if config.models.is_empty() {
        root.warn("no models are configured, so nothing can be ranked");
    }
    config
}

fn sections(section: Section<'_>) -> Config {
    let (features, names) = section.get("features").map(|value| feature::features(&value)).unwrap_or_default();
    let config = Config {
        state: section.or("state", Default::default(), |value| state::state(&value)),
        train: section.get("train").and_then(|value| train::train(&value)),
        features,
        models: section.get("models").map(|value| model::models(&value, &names)).unwrap_or_default(),
        inference: section.get("inference").map(|value| inference::inference(&value)).unwrap_or_default(),
        api: section.or("api", Default::default(), |value| engine::api(&value)),
        source: section.either("source", "input").and_then(|value| source::source(&value)),
        core: section.or("core", Default::default(), |value| engine::core(&value)),
    };
    section.ignored(&[
        ("items", "fields of items need no declaration"),
        ("interactions", "types of interactions need no declaration"),
    ]);
    // `x-` marks a place for anchors that others refer to
    section.finish_except(|key| key.starts_with("x-"));
    config
}

/// Names of features that some definition gives, be it right or wrong otherwise.
type Names = BTreeSet<String>;
