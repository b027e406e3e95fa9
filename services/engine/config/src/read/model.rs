//! `models`: the map, and which reader takes a model.

use super::recommender::{als, trending};
use super::semantic::semantic;
use super::{Names, lambdamart};
use crate::model::Model;
use crate::section::Section;
use crate::value::Value;
use std::collections::BTreeMap;

#[derive(Clone, Copy)]
enum Kind {
    LambdaMart,
    Shuffle,
    Noop,
    Als,
    Trending,
    Semantic,
}

/// In bytes, each of which takes three in the name of a file, at most.
const LONGEST_NAME: usize = 80;

/// All right models; `names` are those of the features there are.
pub(super) fn models(value: &Value<'_>, names: &Names) -> BTreeMap<String, Model> {
    let named = value.named("a mapping of names to models");
    named.into_iter().filter_map(|(name, value)| model(&name, &value, names).map(|model| (name, model))).collect()
}

fn model(name: &str, value: &Value<'_>, names: &Names) -> Option<Model> {
    let kinds = [
        ("lambdamart", Kind::LambdaMart),
        ("shuffle", Kind::Shuffle),
        ("noop", Kind::Noop),
        ("als", Kind::Als),
        ("trending", Kind::Trending),
        ("semantic", Kind::Semantic),
    ];
    if name.len() > LONGEST_NAME {
        value.wrong("the name of this model is too long for the files of its versions", "a name of at most 80 bytes");
    }
    if name.is_empty() || name.contains(['/', '?', '#']) {
        value.wrong("the name of this model cannot stand in a path", "a name without /, ? and #");
    }
    let section = value.section()?;
    let of_type = section.required("type", "lambdamart, shuffle, noop, als, trending or semantic");
    let kind = match of_type.and_then(|of_type| of_type.choice("model type", &kinds)) {
        Some(kind) => kind,
        None => section.guess(&kinds.map(|(_, kind)| kind), |section, kind| drop(of_kind(kind, section, names)))?,
    };
    let model = of_kind(kind, &section, names);
    section.finish();
    model
}

fn of_kind(kind: Kind, section: &Section<'_>, names: &Names) -> Option<Model> {
    match kind {
        Kind::LambdaMart => {}
        Kind::Shuffle | Kind::Noop => section.ignored(&[("split", UNTRAINED), ("selector", UNTRAINED)]),
        Kind::Als | Kind::Trending | Kind::Semantic => {
            section.ignored(&[("split", "this type of model has no test split")]);
        }
    }
    match kind {
        Kind::LambdaMart => lambdamart::lambdamart(section, names).map(Model::LambdaMart),
        Kind::Shuffle => shuffle(section),
        Kind::Noop => Some(Model::Noop),
        Kind::Als => als(section),
        Kind::Trending => trending(section),
        Kind::Semantic => semantic(section),
    }
}

/// Why a baseline looks at no events.
const UNTRAINED: &str = "this type of model is not trained";

fn shuffle(section: &Section<'_>) -> Option<Model> {
    let change = section.required("maxPositionChange", "how far an item may drift from its position");
    let change = change.and_then(|value| value.whole(0..=1_000_000));
    Some(Model::Shuffle { max_position_change: change? })
}
