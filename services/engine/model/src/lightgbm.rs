//! Reads LightGBM's model text: a header of `key=value` lines, a block of such lines for each tree, `end of trees`.
//!
//! What the fields mean is taken from LightGBM 4.7's `gbdt_model_text.cpp`, `tree.cpp` and `tree.h`. Nothing but what
//! scoring needs is read; importances and the training parameters at the end are passed over.

mod fields;
mod leading;
mod splits;

use fields::Fields;
use splits::Splits as TreeSplits;

use crate::ensemble::tree::{Raw, Tree, entry};
use crate::ensemble::{CategorySet, Parts};
use crate::error::ReadError;
use crate::foreign::{Foreign, Splits};
use crate::version::Kind;

const FORMAT: &str = "LightGBM";
/// Objectives whose prediction is the raw sum of leaves.
const OBJECTIVES: [&str; 3] = ["lambdarank", "rank_xendcg", "regression"];

/// Reads a whole model.
pub(crate) fn read(text: &[u8]) -> Result<Parts<f64>, ReadError> {
    let text = std::str::from_utf8(text)
        .map_err(|error| ReadError::malformed(FORMAT, error.valid_up_to(), "it is not UTF-8 text"))?;
    if text.lines().next() != Some("tree") {
        return Err(ReadError::malformed(FORMAT, 0, "the first line is not \"tree\""));
    }
    let mut lines = text.lines().map(str::trim_end);
    let (header, mut next) = block("header", &mut lines);
    let features = check(&header)?;
    let mut parts = Parts { trees: Vec::new(), sets: Vec::new(), base: 0.0 };
    while next == Next::Tree {
        let (fields, after) = block(format!("tree {}", parts.trees.len()), &mut lines);
        parts.trees.push(tree(&fields, features, &mut parts.sets)?);
        next = after;
    }
    if next == Next::Nothing {
        return Err(ReadError::malformed(FORMAT, text.len(), "it ends before \"end of trees\""));
    }
    let promised = header.text("tree_sizes").map(|sizes| sizes.split_whitespace().count());
    if promised.is_ok_and(|promised| promised != parts.trees.len()) {
        return Err(header.invalid("tree_sizes does not list as many trees as follow"));
    }
    Ok(parts)
}

/// What a model that can be read says of itself.
pub(crate) fn describe(text: &[u8]) -> Result<Foreign, ReadError> {
    let text = std::str::from_utf8(text)
        .map_err(|error| ReadError::malformed(FORMAT, error.valid_up_to(), "it is not UTF-8 text"))?;
    let mut lines = text.lines().map(str::trim_end);
    let (header, mut next) = block("header", &mut lines);
    let features = usize::try_from(check(&header)?).map_err(|_| header.invalid("max_feature_idx is below -1"))?;
    let names = header.text("feature_names").unwrap_or_default();
    let (names, mut splits, mut trees) =
        (names.split_whitespace().map(str::to_owned).collect(), Splits::of(features), 0);
    while next == Next::Tree {
        let (fields, after) = block(format!("tree {trees}"), &mut lines);
        splits::describe(&fields, &mut splits)?;
        (trees, next) = (trees + 1, after);
    }
    let Splits { gains, categorical } = splits;
    Ok(Foreign { kind: Kind::LightGbm, features, names, categorical, gains, trees })
}

/// The same model without its first columns, which no split uses.
pub(crate) fn without(bytes: &[u8], columns: usize) -> Result<Vec<u8>, ReadError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ReadError::malformed(FORMAT, error.valid_up_to(), "it is not UTF-8 text"))?;
    leading::without(text, columns).map(String::into_bytes)
}

/// What a block of lines ended with.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Tree,
    End,
    Nothing,
}

fn block<'a>(place: impl Into<String>, lines: &mut impl Iterator<Item = &'a str>) -> (Fields<'a>, Next) {
    let mut fields = Fields::new(place);
    for line in lines {
        if line == "end of trees" {
            return (fields, Next::End);
        }
        if line.starts_with("Tree=") {
            return (fields, Next::Tree);
        }
        fields.insert(line);
    }
    (fields, Next::Nothing)
}

/// Checks that the model is one of ours, and returns the number of its features.
fn check(header: &Fields) -> Result<i64, ReadError> {
    for key in ["num_class", "num_tree_per_iteration"] {
        if header.number::<i64>(key)? != 1 {
            return Err(ReadError::unsupported(FORMAT, format!("{key} is not 1")));
        }
    }
    if header.has("average_output") {
        return Err(ReadError::unsupported(FORMAT, "a random forest"));
    }
    if let Ok(objective) = header.text("objective")
        && !OBJECTIVES.contains(&objective)
    {
        return Err(ReadError::unsupported(FORMAT, format!("the objective {objective:?}")));
    }
    Ok(header.number::<i64>("max_feature_idx")?.saturating_add(1))
}

fn tree(fields: &Fields, features: i64, sets: &mut Vec<CategorySet>) -> Result<Tree, ReadError> {
    let leaves: usize = fields.number("num_leaves")?;
    if fields.text("is_linear").is_ok_and(|linear| linear != "0") {
        return Err(ReadError::unsupported(FORMAT, format!("{} has linear leaves", fields.place())));
    }
    let values: Vec<f64> = fields.list("leaf_value", leaves.max(1))?;
    let grown = if leaves <= 1 {
        Tree::grow(-1, 1, features, |_| entry(&values, 0).map(Raw::Leaf), |_| None)
    } else {
        let splits = TreeSplits::read(fields, leaves - 1, sets)?;
        let covers = Covers::read(fields, leaves);
        let node = |number| match number {
            0.. => splits.node(number),
            _ => entry(&values, !number).map(Raw::Leaf),
        };
        Tree::grow(0, 2 * leaves - 1, features, node, |number| covers.as_ref()?.of(number))
    };
    grown.map_err(|reason| fields.invalid(reason))
}

/// How many rows reached each node in training; scoring does without it.
struct Covers {
    splits: Vec<f64>,
    leaves: Vec<f64>,
}

impl Covers {
    fn read(fields: &Fields, leaves: usize) -> Option<Self> {
        let list = |key, count| fields.list(key, count).ok();
        Some(Self { splits: list("internal_count", leaves - 1)?, leaves: list("leaf_count", leaves)? })
    }

    fn of(&self, number: i64) -> Option<f64> {
        match number {
            0.. => entry(&self.splits, number).ok(),
            _ => entry(&self.leaves, !number).ok(),
        }
    }
}
