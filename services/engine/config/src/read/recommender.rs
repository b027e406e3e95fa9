//! Models that recommend by interactions: `als`, `trending`.

use super::lambdamart::seed;
use crate::model::{Als, Learning, Model, Seen, Trending, TrendingWeight};
use crate::section::Section;
use crate::value::Value;
use std::time::Duration;

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const MILLISECOND: Duration = Duration::from_millis(1);
const REGULARIZATION: f64 = 0.01;

pub(super) fn als(section: &Section<'_>) -> Option<Model> {
    let what = "a list of types of interaction";
    let interactions = section.required("interactions", what).map(|value| value.texts(what));
    let factors = section.or("factors", 100, |value| value.whole(1..=10_000));
    let iterations = section.or("iterations", 100, |value| value.whole(1..=100_000));
    let regularization = |value: Value<'_>| value.number("a number, 0 or more", |number| number >= 0.0);
    let user_reg = section.or("userReg", REGULARIZATION, regularization);
    let item_reg = section.or("itemReg", REGULARIZATION, regularization);
    let seed = section.or("seed", 0, |value| seed(&value));
    let over_memory = section.or("overMemory", false, |value| value.boolean());
    store(section);
    let learning = learning(section, interactions.as_deref().unwrap_or_default());
    let interactions = interactions?;
    Some(Model::Als(Als { interactions, factors, iterations, user_reg, item_reg, seed, over_memory, learning }))
}

/// What recommenders share. `counted` are the types of interaction that the model learns from; none where it does not tell them
/// apart.
pub(super) fn learning(section: &Section<'_>, counted: &[String]) -> Learning {
    let exclude_seen = section.get("excludeSeen").and_then(|value| seen(&value, counted));
    Learning { exclude_seen, ..super::learning::learning(section, &[]) }
}

/// `true`: what the model learns from; or types of interaction.
fn seen(value: &Value<'_>, counted: &[String]) -> Option<Seen> {
    let mut interactions = match value.is_boolean() {
        Some(false) => return None,
        Some(true) => counted.to_vec(),
        None => value.texts("true, false, or a list of types of interaction"),
    };
    interactions.sort_unstable();
    interactions.dedup();
    Some(Seen { interactions })
}

/// An index of nearest neighbours: checked, and of no use. Neighbours are found in the process.
pub(super) fn store(section: &Section<'_>) {
    const KINDS: [(&str, bool); 2] = [("hnsw", false), ("qdrant", true)];
    let Some(value) = section.get("store") else { return };
    value.warn("store is ignored: neighbours are found in the process");
    let Some(section) = value.section() else { return };
    let remote = section.required("type", "hnsw or qdrant").and_then(|value| value.choice("index", &KINDS));
    let Some(remote) = remote else { return };
    if remote {
        section.required("endpoint", "the index's URL").and_then(|value| value.url(&["http://", "https://"]));
        section.required("collection", "a name").and_then(|value| value.text());
        section.required("size", "the length of an embedding").and_then(|value| value.whole::<usize>(1..=65_536));
        section.required("distance", "such as Cosine").and_then(|value| value.text());
    } else {
        let checked = |key| section.get(key).and_then(|value| value.whole::<usize>(1..=1_000_000));
        let (_, _) = (checked("m"), checked("ef"));
    }
    section.finish();
}

pub(super) fn trending(section: &Section<'_>) -> Option<Model> {
    let what = "a list of {interaction, decay, weight, window}";
    let weights = section.required("weights", what).map(|value| value.elements(what));
    let weights = weights.map(|weights| weights.iter().filter_map(trending_weight).collect::<Vec<_>>());
    let counted: Vec<String> = weights.iter().flatten().map(|part| part.interaction.clone()).collect();
    let learning = learning(section, &counted);
    let weights = weights?;
    Some(Model::Trending(Trending { weights, learning }))
}

fn trending_weight(value: &Value<'_>) -> Option<TrendingWeight> {
    let section = value.section()?;
    let decay = |value: Value<'_>| value.number("a number over 0, and 1 at most", |decay| decay > 0.0 && decay <= 1.0);
    let interaction = section.required("interaction", "a type of interaction, such as click");
    let interaction = interaction.and_then(|value| value.text());
    let decay = section.or("decay", 1.0, decay);
    let weight = section.or("weight", 1.0, |value| value.number("a number", |_| true));
    let window = section.or("window", MONTH, |value| value.duration(MILLISECOND));
    section.finish();
    Some(TrendingWeight { interaction: interaction?, decay, weight, window })
}
