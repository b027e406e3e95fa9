//! What is known about a version.

use crate::told::line;
use rankwright_model::{FeatureWeight, LearningCurve, Metadata, TrainedOn, TrainingRecord, Version};
use rankwright_prepare::count;
use serde_json::{Value, json};

/// The longest bar of a feature.
const BAR: f64 = 24.0;

/// As a table.
pub(super) fn table(version: &Version, is_current: bool) -> String {
    let metadata = version.metadata();
    let mark = if is_current { ", current" } else { "" };
    let mut text = format!("model {}, version {}{mark}\n\n", line(&metadata.model), version.id());
    text += &row("trained", &metadata.created_at.to_string());
    text += &row("type", &kind(metadata, version.body().len()));
    if let Some(on) = &metadata.trained_on {
        text += &row("learned from", &learned_from(metadata, on));
        if let Some(tested) = on.tested {
            let what = if is_ranker(metadata) { "rankings" } else { "visitors" };
            text += &row("tested on", &format!("{} {what}", count(tested as u64)));
        }
    }
    if let Some(replaced) = &metadata.replaced {
        text += &row("in place of", replaced.as_str());
    }
    let TrainingRecord { curve, gate, .. } = &metadata.record;
    if let Some(rounds) = curve.as_ref().and_then(rounds) {
        text += &row("rounds", &rounds);
    }
    if let Some(gate) = gate {
        text += &row("gate", &line(&gate.message));
    }
    for (title, rows) in [
        ("metrics on the test split", metrics(metadata)),
        ("features by gain", features(metadata)),
        ("settings", settings(metadata)),
    ] {
        if !rows.is_empty() {
            text += &format!("\n{title}\n{rows}");
        }
    }
    text
}

/// As JSON.
pub(super) fn json(version: &Version, is_current: bool) -> Value {
    let metadata = version.metadata();
    let trained_on = metadata.trained_on.as_ref().map(|on| {
        let (first, last) = (on.first.map(|time| time.to_string()), on.last.map(|time| time.to_string()));
        json!({ "rankings": on.rankings, "items": on.items, "first": first, "last": last, "tested": on.tested })
    });
    let column = |column: &rankwright_model::Column| json!({ "name": column.name, "feature": column.feature, "categorical": column.categorical });
    let feature = |(feature, share): (&FeatureWeight, f64)| json!({ "name": feature.name, "gain": feature.weights.iter().sum::<f64>(), "share": share });
    json!({
        "model": metadata.model,
        "version": version.id().to_string(),
        "current": is_current,
        "createdAt": metadata.created_at.to_string(),
        "type": metadata.kind.type_name(),
        "backend": metadata.kind.library(),
        "trees": metadata.iterations,
        "sizeBytes": version.body().len(),
        "trainedOn": trained_on,
        "replaced": metadata.replaced.as_ref().map(ToString::to_string),
        "metrics": metadata.metrics,
        "features": by_gain(metadata).into_iter().map(feature).collect::<Value>(),
        "columns": metadata.columns.iter().map(column).collect::<Value>(),
        "settings": metadata.settings,
        "curve": metadata.record.curve,
        "gate": metadata.record.gate,
    })
}

fn row(label: &str, value: &str) -> String {
    format!("{label:14}{value}\n")
}

fn is_ranker(metadata: &Metadata) -> bool {
    metadata.kind.library().is_some()
}

fn kind(metadata: &Metadata, bytes: usize) -> String {
    let bytes = count(bytes as u64);
    match metadata.kind.library() {
        Some(library) => {
            format!("{library}, {} trees, {} columns, {bytes} bytes", metadata.iterations, metadata.columns.len())
        }
        None => format!("{}, {bytes} bytes", metadata.kind.type_name()),
    }
}

pub(super) fn learned_from(metadata: &Metadata, on: &TrainedOn) -> String {
    let items = if is_ranker(metadata) { "with" } else { "and knows" };
    let mut text = format!("{} rankings {items} {} items", count(on.rankings as u64), count(on.items as u64));
    if let (Some(first), Some(last)) = (on.first, on.last) {
        text += &format!(", {first} to {last}");
    }
    text
}

/// How the training ended.
fn rounds(curve: &LearningCurve) -> Option<String> {
    let last = curve.rounds.last()?;
    let told = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.4}"));
    let (rounds, metric) = (count(last.round as u64), line(&curve.metric));
    Some(format!(
        "{rounds}; {metric} after the last {} on the test split, {} in training",
        told(last.test),
        told(last.train)
    ))
}

fn metrics(metadata: &Metadata) -> String {
    metadata.metrics.iter().map(|(name, value)| format!("  {name:28}  {value:.4}\n")).collect()
}

/// Features with their parts of the whole gain, the largest first.
pub(super) fn by_gain(metadata: &Metadata) -> Vec<(&FeatureWeight, f64)> {
    let gain = |feature: &FeatureWeight| feature.weights.iter().sum::<f64>();
    let all: f64 = metadata.weights.iter().map(gain).sum();
    let mut features: Vec<_> =
        metadata.weights.iter().map(|feature| (feature, if all > 0.0 { gain(feature) / all } else { 0.0 })).collect();
    features.sort_by(|(_, left), (_, right)| right.total_cmp(left)); // stable: equal ones keep their order
    features
}

fn features(metadata: &Metadata) -> String {
    let features = by_gain(metadata);
    let most = features.first().map_or(0.0, |(_, share)| *share);
    let mut text = String::new();
    for (feature, share) in features {
        let length = if most > 0.0 { (share / most * BAR).round() as usize } else { 0 };
        let row = format!("  {:28}  {:>5.1} %  {}", line(&feature.name), share * 100.0, "#".repeat(length));
        text += &format!("{}\n", row.trim_end());
    }
    text
}

fn settings(metadata: &Metadata) -> String {
    metadata.settings.iter().map(|(key, value)| format!("  {:28}  {}\n", line(key), line(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::metadata;
    use super::*;
    use rankwright_event::Timestamp;
    use rankwright_model::{Column, Kind, Verdict};
    use std::collections::BTreeMap;

    fn version() -> Version {
        let column =
            |name: &str| Column { name: name.into(), feature: name.into(), fingerprint: 1, categorical: false };
        let feature = |name: &str, weights: &[f64]| FeatureWeight { name: name.into(), weights: weights.to_vec() };
        let known = Metadata {
            kind: Kind::LightGbm,
            iterations: 37,
            columns: vec![column("price"), column("ctr")],
            metrics: BTreeMap::from([("NDCG@10".to_owned(), 0.61234)]),
            weights: vec![feature("price", &[10.0]), feature("ctr\u{1b}", &[20.0, 10.0])],
            trained_on: Some(TrainedOn {
                rankings: 7732,
                items: 185_568,
                first: Some(Timestamp::from_millis(0)),
                last: Some(Timestamp::from_millis(86_400_000)),
                tested: Some(1932),
            }),
            settings: BTreeMap::from([("split".to_owned(), "time=80%".to_owned())]),
            record: TrainingRecord {
                curve: Some(LearningCurve::new("NDCG@10".to_owned(), [(0.5, 0.5), (0.61234, f64::NAN)].into_iter(), 2)),
                gate: Some(Verdict { reason: "FirstVersion".to_owned(), message: "no version runs yet".to_owned() }),
                ..TrainingRecord::default()
            },
            ..metadata(1)
        };
        Version::new(known, Vec::new(), vec![0; 1234]).expect("a version")
    }

    #[test]
    fn a_version_is_shown_with_all_that_is_known() {
        let text = table(&version(), true);
        let expected = format!(
            "model m, version {}, current\n\n\
             trained       1970-01-01T00:00:01Z\n\
             type          lightgbm, 37 trees, 2 columns, 1,234 bytes\n\
             learned from  7,732 rankings with 185,568 items, 1970-01-01T00:00:00Z to 1970-01-02T00:00:00Z\n\
             tested on     1,932 rankings\n\
             rounds        2; NDCG@10 after the last 0.6123 on the test split, unknown in training\n\
             gate          no version runs yet\n\
             \nmetrics on the test split\n  NDCG@10                       0.6123\n\
             \nfeatures by gain\n\
             \x20 ctr\\u{{1b}}                      75.0 %  ########################\n\
             \x20 price                          25.0 %  ########\n\
             \nsettings\n  split                         time=80%\n",
            version().id()
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn a_version_from_before_is_shown_without_what_it_does_not_tell() {
        let version = Version::new(metadata(1), Vec::new(), Vec::new()).expect("a version");
        let text = table(&version, false);
        assert_eq!(
            text,
            format!(
                "model m, version {}\n\ntrained       1970-01-01T00:00:01Z\ntype          noop, 0 bytes\n",
                version.id()
            )
        );
    }

    #[test]
    fn the_json_holds_the_same() {
        let shown = json(&version(), true);
        assert_eq!(shown["features"][0], json!({"name": "ctr\u{1b}", "gain": 30.0, "share": 0.75}));
        assert_eq!(shown["trainedOn"]["last"], "1970-01-02T00:00:00Z");
        assert_eq!(
            (&shown["curve"]["rounds"][1]["round"], &shown["gate"]["reason"]),
            (&json!(2), &json!("FirstVersion"))
        );
        assert_eq!(
            (&shown["backend"], &shown["current"], &shown["trees"]),
            (&json!("lightgbm"), &json!(true), &json!(37))
        );
    }
}
