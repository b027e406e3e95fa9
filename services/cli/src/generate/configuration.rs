//! The configuration that goes with the events.

use super::vocabulary::{BRANDS, CATEGORIES, COLORS, COUNTRIES, TAGS};
use std::path::Path;

/// The text of `config.yml`, with every list of known values filled in, and where the terms of titles lie.
pub(crate) fn text(terms: &Path) -> String {
    let list = |words: &[&str]| format!("[{}]", words.join(", "));
    include_str!("config.yml")
        .replace("[CATEGORIES]", &list(&CATEGORIES.each_ref().map(|category| category.name)))
        .replace("[BRANDS]", &list(&BRANDS))
        .replace("[COLORS]", &list(&COLORS))
        .replace("[TAGS]", &list(&TAGS))
        .replace("[TERMS]", &serde_json::json!(terms.to_string_lossy()).to_string())
        .replace("[COUNTRIES]", &list(&COUNTRIES.map(|(country, _)| country)))
}
