//! Reads XGBoost's models, UBJSON or JSON: one schema in two notations.
//!
//! What the fields mean is taken from XGBoost 3.4's `learner.cc`, `gbtree_model.cc` and `tree_model.cc`. Nothing but what
//! scoring needs is read.

mod document;
mod json;
mod trees;
mod ubjson;

use document::Document;
use trees::TreeReader;

use crate::ensemble::Parts;
use crate::error::ReadError;
use crate::foreign::{Foreign, Splits};
use crate::version::Kind;

const FORMAT: &str = "XGBoost";

/// Reads a whole model.
pub(crate) fn read(bytes: &[u8]) -> Result<Parts<f32>, ReadError> {
    let document = parse(bytes)?;
    let learner = document.child("learner")?;
    let features = check(learner)?;
    let base = base_score(learner.child("learner_model_param")?)?;
    let model = learner.child("gradient_booster")?.child("model")?;
    if model.child("tree_info")?.ints()?.iter().any(|&group| group != 0) {
        return Err(ReadError::unsupported(FORMAT, "more than one output"));
    }
    let mut reader = TreeReader::new(features);
    let trees = model.child("trees")?.items()?.iter().enumerate();
    let trees = trees.map(|(number, tree)| reader.read(number, tree)).collect::<Result<Vec<_>, _>>()?;
    let promised = model.child("gbtree_model_param")?.child("num_trees")?.parsed::<usize>()?;
    if promised != trees.len() {
        return Err(ReadError::invalid(FORMAT, "num_trees", format!("{promised} trees, but {} follow", trees.len())));
    }
    Ok(Parts { trees, sets: reader.sets, base })
}

/// Both begin with a brace; in UBJSON the length of a key follows, with its marker.
fn parse(bytes: &[u8]) -> Result<Document, ReadError> {
    match bytes {
        [b'{', b'L', ..] => ubjson::parse(bytes),
        _ => json::parse(bytes),
    }
}

/// What a model that can be read says of itself.
pub(crate) fn describe(bytes: &[u8]) -> Result<Foreign, ReadError> {
    let document = parse(bytes)?;
    let learner = document.child("learner")?;
    let features =
        usize::try_from(check(learner)?).map_err(|_| ReadError::invalid(FORMAT, "num_feature", "it is negative"))?;
    let texts = |key: &str| -> Result<Vec<String>, ReadError> {
        let Ok(list) = learner.child(key) else { return Ok(Vec::new()) }; // of old versions
        list.items()?.iter().map(|item| item.text().map(str::to_owned)).collect()
    };
    let (names, types) = (texts("feature_names")?, texts("feature_types")?);
    let trees = learner.child("gradient_booster")?.child("model")?.child("trees")?.items()?;
    let mut splits = Splits::of(features);
    for tree in trees {
        trees::describe(tree, &mut splits)?;
    }
    for (categorical, of) in splits.categorical.iter_mut().zip(&types) {
        *categorical |= of == "c";
    }
    let Splits { gains, categorical } = splits;
    Ok(Foreign { kind: Kind::XgBoost, features, names, categorical, gains, trees: trees.len() })
}

/// Checks that the model is one of ours, and returns the number of its features.
fn check(learner: &Document) -> Result<i64, ReadError> {
    let booster = learner.child("gradient_booster")?.child("name")?.text()?;
    if booster != "gbtree" {
        return Err(ReadError::unsupported(FORMAT, format!("the booster {booster:?}")));
    }
    let objective = learner.child("objective")?.child("name")?.text()?;
    if !objective.starts_with("rank:") && objective != "reg:squarederror" {
        return Err(ReadError::unsupported(FORMAT, format!("the objective {objective:?}")));
    }
    let params = learner.child("learner_model_param")?;
    if params.child("num_class")?.parsed::<i64>()? > 1 {
        return Err(ReadError::unsupported(FORMAT, "more than one class"));
    }
    params.child("num_feature")?.parsed()
}

/// A number as text, of late in brackets.
fn base_score(params: &Document) -> Result<f32, ReadError> {
    let text = params.child("base_score")?.text()?;
    let number = text.trim_start_matches('[').trim_end_matches(']').parse::<f32>().ok();
    let invalid = || ReadError::invalid(FORMAT, "base_score", format!("{text:?} is not one number"));
    number.filter(|score| score.is_finite()).ok_or_else(invalid)
}
