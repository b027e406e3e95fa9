//! The columns of a feature, and what tells them from those of other definitions.

use super::need::{millis, named};
use crate::column::{Column, digest, digest_after};
use crate::slot::{Counted, Owner, Target};
use rankwright_config::feature::{Encoding, Feature, Kind, Scope};

/// Columns of a feature, in order.
pub(super) fn of_feature(feature: &Feature) -> Vec<Column> {
    let categorical = matches!(&feature.kind, Kind::Text { encode: Encoding::Index, .. });
    // once for all columns: it may list many values
    let meaning = digest(&format!("{} ", meaning(&feature.kind)));
    let column = |(name, suffix): (String, String)| Column {
        name,
        feature: feature.name.clone(),
        fingerprint: digest_after(meaning, &suffix),
        categorical,
    };
    feature.columns().zip(feature.kind.suffixes()).map(column).collect()
}

/// What a feature's numbers mean, in words that stay the same in every version.
fn meaning(kind: &Kind) -> String {
    match kind {
        Kind::Number(source) => format!("number {}", named(source)),
        Kind::Boolean(source) => format!("boolean {}", named(source)),
        Kind::Vector { source, .. } => format!("vector {}", named(source)),
        Kind::Text { source, values, encode: Encoding::OneHot } => format!("onehot {} {values:?}", named(source)),
        Kind::Text { source, values, encode: Encoding::Index } => format!("index {} {values:?}", named(source)),
        Kind::WordCount(source) => format!("word_count {}", named(source)),
        Kind::ListSize(source) => format!("list_size {}", named(source)),
        Kind::TimeDiff(source) => format!("time_diff {}", named(source)),
        Kind::FieldMatch(of) => format!("field_match {} {}", of.ranking_field, of.item_field),
        Kind::UserAgent { source, .. } => format!("ua {}", named(source)),
        Kind::InteractedWith { interaction, scope, count, duration, .. } => {
            let owner = Owner::from(*scope);
            format!("interacted_with {interaction:?} {owner:?} {count} {}", millis(*duration))
        }
        Kind::Referer { source, scope } => format!("referer {} {:?}", named(source), Owner::from(*scope)),
        Kind::Relevancy => "relevancy".to_string(),
        Kind::Position(_) => "position".to_string(),
        Kind::Diversity { field, top } => format!("diversity {field:?} {top:?}"),
        Kind::InteractionCount { interaction, scope } => format!("count {interaction:?} {}", counted(scope)),
        Kind::WindowCount { interaction, scope, bucket, .. } => {
            format!("window_count {interaction:?} {} {}", counted(scope), millis(*bucket))
        }
        Kind::Rate { top, bottom, bucket, scope, normalize, .. } => {
            format!("rate {top:?} {bottom:?} {} {:?} {normalize:?}", millis(*bucket), Target::from(scope))
        }
        Kind::LocalTime { source, parse } => format!("local_time {source:?} {parse:?}"),
        Kind::ItemAge(source) => format!("item_age {source:?}"),
        Kind::Random => "random".to_string(),
    }
}

fn counted(scope: &Scope) -> String {
    match Counted::from(scope) {
        Counted::By(owner) => format!("{owner:?}"),
        Counted::Under(target) => format!("{target:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_config::Config;

    #[test]
    fn a_column_is_told_by_the_digest_of_its_meaning_and_what_tells_it_from_others() {
        let feature = "{name: c, type: string, source: item.color, encode: onehot, values: [red, green]}";
        let (config, _) = Config::parse(&format!("features: [{feature}]"), "test").expect("a valid configuration");
        let columns = of_feature(&config.features[0]);
        let fingerprints: Vec<u64> = columns.iter().map(|column| column.fingerprint).collect();
        let described =
            ["red", "green"].map(|value| digest(&format!("onehot item.color [\"red\", \"green\"] {value}")));
        assert_eq!(fingerprints, described);
    }
}
