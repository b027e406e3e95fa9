//! A `lambdamart` model and its booster.

use super::Names;
use super::learning::learning;
use crate::error::shown;
use crate::model::{Backend, Booster, LambdaMart, Metric, Split, SplitStrategy, Warmup};
use crate::nearest::nearest;
use crate::section::Section;
use crate::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const BOOSTERS: [(&str, Booster); 2] = [("xgboost", Booster::XgBoost), ("lightgbm", Booster::LightGbm)];

pub(super) fn lambdamart(section: &Section<'_>, names: &Names) -> Option<LambdaMart> {
    let backend = section.or("backend", defaults(Booster::XgBoost), |value| backend(&value));
    let weights = section.get("weights").map(|value| weights_of(&value));
    if weights.is_none() {
        section.warn(LABELS_ALONE);
    }
    let features = section.required("features", "a list of names of features");
    let features = features.map(|value| features_of(&value, names));
    let usual = Split { strategy: SplitStrategy::Time, ratio: 0.8 };
    let split = section.or("split", usual, |value| split_of(&value));
    let eval = section.get("eval").map(|value| metrics(&value));
    if eval.is_none() {
        section.leaves_out("eval", &"NDCG@10".to_owned());
    }
    let eval = eval.unwrap_or_else(|| vec![Metric::Ndcg(Some(10))]);
    let warmup = section.section("warmup").map(warmup);
    let learning = learning(section, &eval);
    let (weights, features) = (weights.unwrap_or_default(), features?);
    Some(LambdaMart { backend, weights, features, split, eval, warmup, learning })
}

/// What becomes of a model without weights.
const LABELS_ALONE: &str = "no weights are given: the model learns from labels that rankings bring along (items[].label), and from nothing else";

fn weights_of(value: &Value<'_>) -> BTreeMap<String, f64> {
    let given = value.named("a mapping of types of interaction to numbers");
    if given.is_empty() {
        value.warn(LABELS_ALONE);
    }
    let weight = |value: &Value<'_>| value.number("a number", f64::is_finite);
    let weights: BTreeMap<_, _> = given.into_iter().filter_map(|(name, value)| Some((name, weight(&value)?))).collect();
    let learns = weights.values().any(|weight| *weight > 0.0);
    let below = weights.iter().find(|(_, weight)| **weight < 0.0).filter(|_| learns);
    if let Some((name, weight)) = below {
        value.warn(format!(
            "the weight {weight} of `{}` counts as 0: nothing is learned from what is below 0",
            shown(name)
        ));
    }
    if !weights.is_empty() && !learns {
        value.warn("no weight is over 0: a model learns from labels that rankings bring along, and from nothing else");
    }
    weights
}

fn features_of(value: &Value<'_>, names: &Names) -> Vec<String> {
    const MOST_HINTS: usize = 100; // each takes a look at all names
    let (mut listed, mut unknown) = (BTreeSet::new(), 0);
    for element in value.elements("a list of names of features") {
        let Some(name) = element.text() else { continue };
        if !names.contains(&name) {
            unknown += 1;
            let near = if unknown > MOST_HINTS { None } else { nearest(&name, names.iter().map(String::as_str)) };
            let near = near.map(|name| format!("`{}`", shown(name)));
            let problem = format!("the feature `{}` is not defined", shown(&name));
            element.wrong_near(problem, some_of(names), near);
        } else if !listed.insert(name.clone()) {
            element.wrong(format!("the feature `{}` is listed twice", shown(&name)), "each feature once");
        }
    }
    value.texts("a list of names of features")
}

/// The names, as far as a line may hold them.
fn some_of(names: &Names) -> String {
    const MOST: usize = 30;
    let mut shown: Vec<_> = names.iter().take(MOST).map(|name| shown(name)).collect();
    match names.len() {
        0 => return "a name from the section features, which has none".to_owned(),
        all if all > MOST => shown.push(format!("and {} more", all - MOST)),
        _ => {}
    }
    shown.join(", ")
}

fn split_of(value: &Value<'_>) -> Option<Split> {
    let split: Split = value.spelled("a split")?;
    if split.ratio >= 1.0 {
        value.warn("nothing is left to test a version on, so none can be trained: give a part below 100%");
    }
    Some(split)
}

fn metrics(value: &Value<'_>) -> Vec<Metric> {
    let metrics = value.one_or_more("a list of metrics");
    metrics.iter().filter_map(|metric| metric.spelled("a metric such as NDCG@10")).collect()
}

fn warmup(section: Section<'_>) -> Warmup {
    let requests = section.either_or("sampledRequests", "sampleRequests", 100, |value| value.whole(0..=1_000_000));
    let duration = section.or("duration", Duration::from_secs(10), |value| value.duration(Duration::ZERO));
    section.finish();
    Warmup { sampled_requests: requests, duration }
}

/// The booster's options, or its name alone.
fn backend(value: &Value<'_>) -> Option<Backend> {
    if value.scalar().is_some() {
        return value.choice("backend", &BOOSTERS).map(defaults);
    }
    let section = value.section()?;
    let booster = section.required("type", "xgboost or lightgbm");
    let booster = booster.and_then(|value| value.choice("backend", &BOOSTERS));
    let default = defaults(booster.unwrap_or(Booster::XgBoost));
    let part = |value: Value<'_>| value.number("a number over 0, and 1 at most", |part| part > 0.0 && part <= 1.0);
    let rate = |value: Value<'_>| value.number("a number over 0", |rate| rate > 0.0);
    let leaves = section.get("numLeaves");
    if let (Some(value), Some(Booster::XgBoost)) = (&leaves, booster) {
        value.warn("numLeaves does nothing with xgboost");
    }
    if let (None, Some(Booster::LightGbm)) = (&leaves, booster) {
        section.leaves_out("numLeaves", &default.num_leaves);
    }
    let backend = Backend {
        iterations: section.or("iterations", default.iterations, |value| value.whole(1..=1_000_000)),
        learning_rate: section.or("learningRate", default.learning_rate, rate),
        ndcg_cutoff: section.or("ndcgCutoff", default.ndcg_cutoff, |value| value.whole(1..=1_000_000)),
        max_depth: section.or("maxDepth", default.max_depth, |value| depth(&value, default.booster)),
        seed: section.get("seed").and_then(|value| seed(&value)),
        sampling: section.or("sampling", default.sampling, part),
        debias: section.or("debias", default.debias, |value| value.boolean()),
        over_memory: section.or("overMemory", default.over_memory, |value| value.boolean()),
        num_leaves: leaves.and_then(|value| value.whole(2..=131_072)).unwrap_or(default.num_leaves),
        ..default
    };
    section.finish();
    Some(backend)
}

/// The most levels of a tree; 0 is no limit, as is -1 with LightGBM.
fn depth(value: &Value<'_>, booster: Booster) -> Option<usize> {
    let unlimited = booster == Booster::LightGbm && value.is_word("-1");
    if unlimited { Some(0) } else { value.whole(0..=64) }
}

fn defaults(booster: Booster) -> Backend {
    Backend {
        booster,
        iterations: 100,
        learning_rate: 0.1,
        ndcg_cutoff: 10,
        max_depth: 8,
        seed: None,
        sampling: 0.8,
        debias: false,
        num_leaves: 16,
        over_memory: false,
    }
}

/// A number as it stands, `random` as none, any other text by its FNV-1a digest.
pub(super) fn seed(value: &Value<'_>) -> Option<u64> {
    let text = value.text()?;
    if text == "random" {
        return None;
    }
    let negative = || text.parse::<i64>().ok().map(i64::cast_unsigned);
    let digest = || {
        let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
    };
    Some(text.parse().ok().or_else(negative).unwrap_or_else(digest))
}
