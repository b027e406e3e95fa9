//! The columns of a feature, and what tells them from those of other definitions.

use crate::column::{Column, digest, digest_after};
use crate::extractor::compiler::definition;
use rankwright_config::feature::Feature;

/// Columns of a feature, in order. `more` is what its extractor adds to their meaning.
pub(super) fn of_feature(feature: &Feature, more: &str) -> Vec<Column> {
    let definition = definition(&feature.kind);
    let categorical = definition.is_categorical();
    // once for all columns: it may list many values
    let meaning = digest(&format!("{}{more} ", definition.meaning()));
    let column = |(name, suffix): (String, String)| Column {
        name,
        feature: feature.name.clone(),
        fingerprint: digest_after(meaning, &suffix),
        categorical,
    };
    feature.columns().zip(feature.kind.suffixes()).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_config::Config;

    #[test]
    fn a_column_is_told_by_the_digest_of_its_meaning_and_what_tells_it_from_others() {
        let feature = "{name: c, type: string, source: item.color, encode: onehot, values: [red, green]}";
        let (config, _) = Config::parse(&format!("features: [{feature}]"), "test").expect("a valid configuration");
        let columns = of_feature(&config.features[0], "");
        let fingerprints: Vec<u64> = columns.iter().map(|column| column.fingerprint).collect();
        let described =
            ["red", "green"].map(|value| digest(&format!("onehot item.color [\"red\", \"green\"] {value}")));
        assert_eq!(fingerprints, described);
    }
}
