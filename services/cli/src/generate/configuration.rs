//! The configuration that goes with the events.

use super::vocabulary::{BRANDS, CATEGORIES, COLORS, COUNTRIES, TAGS};

/// The text of `config.yml`, with every list of known values filled in.
pub(crate) fn text() -> String {
    let list = |words: &[&str]| format!("[{}]", words.join(", "));
    include_str!("config.yml")
        .replace("[CATEGORIES]", &list(&CATEGORIES.each_ref().map(|category| category.name)))
        .replace("[BRANDS]", &list(&BRANDS))
        .replace("[COLORS]", &list(&COLORS))
        .replace("[TAGS]", &list(&TAGS))
        .replace("[COUNTRIES]", &list(&COUNTRIES.map(|(country, _)| country)))
}
