//! How two versions of a model differ.

use super::load;
use super::show::{by_gain, json as shown, learned_from};
use crate::told::line;
use anyhow::{Result, anyhow, bail};
use rankwright_model::{Metadata, Version, VersionStore};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The two versions: by default the one before the current one, and the current one.
///
/// # Errors
/// When one of them is not there, or they are the same.
pub(super) fn versions_of(
    versions: &dyn VersionStore,
    model: &str,
    from: Option<&str>,
    to: Option<&str>,
) -> Result<(Version, Version)> {
    let after = load(versions, model, to)?;
    let before = match from {
        Some(from) => load(versions, model, Some(from))?,
        None => {
            let previous = versions.previous(model)?;
            let previous = previous.ok_or_else(|| {
                anyhow!("model '{model}' has no version before the current one: name one with --from")
            })?;
            load(versions, model, Some(previous.as_str()))?
        }
    };
    if before.id() == after.id() {
        bail!("{} is compared with itself: name another one with --from or --to", after.id());
    }
    Ok((before, after))
}

/// As a table: what is the same is left out, metrics and features excepted.
pub(super) fn table(before: &Version, after: &Version) -> String {
    let (old, new) = (before.metadata(), after.metadata());
    let mut text = format!("model {}: {} and {}\n\n", line(&new.model), before.id(), after.id());
    text += &row("", "before", "after", "");
    for (label, of) in [("type", kind as fn(&Metadata) -> String), ("trees", trees), ("learned from", data)] {
        if of(old) != of(new) {
            text += &row(label, &of(old), &of(new), "");
        }
    }
    text += &titled("metrics on the test split", &metrics(old, new));
    text += &titled("features, part of the gain", &features(old, new));
    text += &titled("settings that differ", &settings(old, new));
    text + &titled("columns that differ", &columns(before, after))
}

/// As JSON: both versions as `models show` has them, and their columns that differ.
pub(super) fn json(before: &Version, after: &Version) -> Value {
    let mismatch = before.check_columns(&after.metadata().columns).err().unwrap_or_default();
    json!({
        "before": shown(before, false),
        "after": shown(after, false),
        "columns": { "removed": mismatch.missing, "added": mismatch.unknown, "changed": mismatch.changed, "moved": mismatch.moved },
    })
}

fn row(label: &str, before: &str, after: &str, change: &str) -> String {
    format!("{}\n", format!("  {label:28}  {before:>14}  {after:>14}  {change}").trim_end())
}

fn titled(title: &str, rows: &str) -> String {
    if rows.is_empty() { String::new() } else { format!("\n{title}\n{rows}") }
}

fn kind(metadata: &Metadata) -> String {
    metadata.kind.library().unwrap_or(metadata.kind.type_name()).to_owned()
}

fn trees(metadata: &Metadata) -> String {
    metadata.iterations.to_string()
}

fn data(metadata: &Metadata) -> String {
    metadata.trained_on.as_ref().map_or_else(|| "-".to_owned(), |on| learned_from(metadata, on))
}

/// Each metric of either one, with its change.
fn metrics(old: &Metadata, new: &Metadata) -> String {
    let names: BTreeSet<&String> = old.metrics.keys().chain(new.metrics.keys()).collect();
    let shown = |value: Option<&f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
    let rows = names.into_iter().map(|name| {
        let (before, after) = (old.metrics.get(name), new.metrics.get(name));
        let change = before.zip(after).map_or_else(String::new, |(before, after)| format!("{:+.4}", after - before));
        row(name, &shown(before), &shown(after), &change)
    });
    rows.collect()
}

/// Features of either one, those first that the newer one gains most by.
fn features(old: &Metadata, new: &Metadata) -> String {
    let (before, after) = (by_gain(old), by_gain(new));
    let part = |features: &[(&rankwright_model::FeatureWeight, f64)], name: &str| {
        let found = features.iter().find(|(feature, _)| feature.name == name);
        found.map_or_else(|| "-".to_owned(), |(_, share)| format!("{:.1} %", share * 100.0))
    };
    let gone = before.iter().filter(|(feature, _)| !after.iter().any(|(other, _)| other.name == feature.name));
    let names = after.iter().chain(gone).map(|(feature, _)| &feature.name);
    names.map(|name| row(&line(name), &part(&before, name), &part(&after, name), "")).collect()
}

fn settings(old: &Metadata, new: &Metadata) -> String {
    let keys: BTreeSet<&String> = old.settings.keys().chain(new.settings.keys()).collect();
    let of = |metadata: &Metadata, key: &String| {
        metadata.settings.get(key).map_or_else(|| "-".to_owned(), |value| line(value))
    };
    let differing = keys.into_iter().filter(|key| old.settings.get(*key) != new.settings.get(*key));
    differing.map(|key| row(&line(key), &of(old, key), &of(new, key), "")).collect()
}

fn columns(before: &Version, after: &Version) -> String {
    let Err(mismatch) = before.check_columns(&after.metadata().columns) else { return String::new() };
    let kinds = [
        ("removed", mismatch.missing),
        ("added", mismatch.unknown),
        ("defined differently", mismatch.changed),
        ("at another place", mismatch.moved),
    ];
    let told = kinds.iter().filter(|(_, names)| !names.is_empty());
    told.map(|(kind, names)| format!("  {kind:20}  {}\n", line(&names.join(", ")))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{metadata, stored};
    use super::*;
    use rankwright_model::{Column, FeatureWeight, Kind, MemoryVersions};
    use std::collections::BTreeMap;

    fn version(second: i64, ndcg: f64, names: &[&str], iterations: &str) -> Version {
        let column =
            |name: &&str| Column { name: (*name).into(), feature: (*name).into(), fingerprint: 1, categorical: false };
        let known = Metadata {
            kind: Kind::LightGbm,
            columns: names.iter().map(column).collect(),
            metrics: BTreeMap::from([("NDCG@10".to_owned(), ndcg)]),
            weights: names.iter().map(|name| FeatureWeight { name: (*name).into(), weights: vec![1.0] }).collect(),
            settings: BTreeMap::from([
                ("iterations".to_owned(), iterations.to_owned()),
                ("split".to_owned(), "time=80%".to_owned()),
            ]),
            ..metadata(second)
        };
        Version::new(known, Vec::new(), Vec::new()).expect("a version")
    }

    #[test]
    fn what_differs_is_told_side_by_side() {
        let (before, after) = (version(1, 0.5, &["price", "age"], "100"), version(2, 0.625, &["price", "ctr"], "200"));
        let text = table(&before, &after);
        let has = |line: &str| {
            assert!(text.lines().any(|found| found.split_whitespace().eq(line.split_whitespace())), "{line}: {text}")
        };
        has("NDCG@10 0.5000 0.6250 +0.1250");
        has("price 50.0 % 50.0 %");
        has("age 50.0 % -");
        has("ctr - 50.0 %");
        has("iterations 100 200");
        has("removed age");
        has("added ctr");
        assert!(!text.contains("split") || !text.contains("time=80%"), "what is the same is left out: {text}");
        let json = json(&before, &after);
        assert_eq!(json["columns"]["added"], json!(["ctr"]));
        assert_eq!(json["after"]["metrics"]["NDCG@10"], 0.625);
    }

    #[test]
    fn the_current_version_is_compared_with_the_one_before() {
        let (_, versions, ids) = stored(3);
        let (before, after) = versions_of(&versions, "m", None, None).expect("both are there");
        assert_eq!([before.id().as_str(), after.id().as_str()], [&ids[1], &ids[2]]);
        let (before, _) = versions_of(&versions, "m", Some(&ids[0]), None).expect("both are there");
        assert_eq!(before.id().as_str(), ids[0]);
        let refused = |versions: &MemoryVersions, from: Option<&str>| {
            versions_of(versions, "m", from, None).expect_err("is refused").to_string()
        };
        assert!(refused(&versions, Some(&ids[2])).contains("is compared with itself"));
        assert!(refused(&stored(1).1, None).contains("has no version before the current one"));
        assert!(refused(&stored(0).1, None).contains("has no version yet"));
    }
}
