//! The columns of a feature, and what tells them from those of other definitions.

use super::need::{millis, named};
use crate::column::{Column, digest};
use crate::slot::{Owner, Target};
use rankwright_config::feature::{Encoding, Feature, Kind};

/// Columns of a feature, in order.
pub(super) fn of_feature(feature: &Feature) -> Vec<Column> {
    let categorical = matches!(&feature.kind, Kind::Text { encode: Encoding::Index, .. });
    let meaning = meaning(&feature.kind);
    let column = |(name, suffix): (String, String)| Column {
        name,
        feature: feature.name.clone(),
        fingerprint: digest(&format!("{meaning} {suffix}")),
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
        Kind::InteractionCount { interaction, scope } => format!("count {interaction:?} {:?}", Owner::from(*scope)),
        Kind::WindowCount { interaction, scope, bucket, .. } => {
            format!("window_count {interaction:?} {:?} {}", Owner::from(*scope), millis(*bucket))
        }
        Kind::Rate { top, bottom, bucket, scope, normalize, .. } => {
            format!("rate {top:?} {bottom:?} {} {:?} {normalize:?}", millis(*bucket), Target::from(scope))
        }
        Kind::LocalTime { source, parse } => format!("local_time {source:?} {parse:?}"),
        Kind::ItemAge(source) => format!("item_age {source:?}"),
    }
}
