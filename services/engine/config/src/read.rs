//! From the tree of a text to the checked types, section by section.
//!
//! A reader first reads all keys of its mapping, then reports those that were not read, and only then fails where
//! something required is missing: this way one pass finds every mistake.

mod engine;
mod feature;
pub(crate) mod inference;
mod lambdamart;
mod learning;
mod model;
mod recommender;
mod selector;
mod semantic;
mod source;
mod state;
mod train;

use crate::Config;
use crate::error::shown;
use crate::section::Section;
use crate::value::Value;
use std::collections::BTreeSet;

/// Reads the whole configuration; defaults stand in place of what was wrong.
pub(crate) fn config(root: &Value<'_>) -> Config {
    let section = if root.is_nothing() { None } else { root.section() };
    let config = section.map(sections).unwrap_or_default();
    if config.models.is_empty() && config.inference.is_empty() {
        root.warn("no models are configured, so nothing can be ranked");
    }
    config
}

fn sections(section: Section<'_>) -> Config {
    let read = section.get("features").map(|value| feature::features(&value)).unwrap_or_default();
    let mut config = Config {
        state: state::state(section.filled("state")).unwrap_or_default(),
        train: section.get("train").and_then(|value| train::train(&value)),
        features: read.features,
        models: section.get("models").map(|value| model::models(&value, &read.names)).unwrap_or_default(),
        inference: section.get("inference").map(|value| inference::inference(&value)).unwrap_or_default(),
        api: engine::api(section.filled("api")),
        source: section.either("source", "input").and_then(|value| source::source(&value)),
        core: engine::core(section.filled("core")),
    };
    without(&read.left_out, &section, &mut config);
    section.ignored(&[
        ("items", "fields of items need no declaration"),
        ("interactions", "types of interactions need no declaration"),
    ]);
    // `x-` marks a place for anchors that others refer to
    section.finish_except(|key| key.starts_with("x-"));
    config
}

/// Takes features without columns from the models that list them.
fn without(left_out: &Names, section: &Section<'_>, config: &mut Config) {
    for (name, model) in &mut config.models {
        let Some(model) = model.trees_mut() else { continue };
        let listed = model.features.len();
        model.features.retain(|name| !left_out.contains(name));
        if model.features.is_empty() && listed > 0 {
            let model = shown(name);
            section.warn(format!(
                "no feature of the model `{model}` has columns: it cannot be trained, and keeps the order of requests"
            ));
        }
    }
}

/// Names of features that some definition gives, be it right or wrong otherwise.
type Names = BTreeSet<String>;
