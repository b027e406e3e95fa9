//! Reads LightGBM's model text: a header of `key=value` lines, a block of such lines for each tree, `end of trees`.
//!
//! What the fields mean is taken from LightGBM 4.7's `gbdt_model_text.cpp`, `tree.cpp` and `tree.h`. Nothing but what
//! scoring needs is read; importances and the training parameters at the end are passed over.

use std::collections::HashMap;
use std::str::FromStr;

use crate::ensemble::key::{View, at_most};
use crate::ensemble::tree::{Raw, Test, Tree, entry};
use crate::ensemble::{CategorySet, Parts};
use crate::error::ReadError;

const FORMAT: &str = "LightGBM";
/// Objectives whose prediction is the raw sum of leaves.
const OBJECTIVES: [&str; 3] = ["lambdarank", "rank_xendcg", "regression"];
/// Bits of `decision_type`: a category split, missing goes left, and two bits of missing type.
const CATEGORICAL: i8 = 1;
const DEFAULT_LEFT: i8 = 2;

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

/// What a block of lines ended with.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Tree,
    End,
    Nothing,
}

fn block<'a>(place: impl Into<String>, lines: &mut impl Iterator<Item = &'a str>) -> (Fields<'a>, Next) {
    let mut fields = Fields { place: place.into(), values: HashMap::new() };
    for line in lines {
        if line == "end of trees" {
            return (fields, Next::End);
        }
        if line.starts_with("Tree=") {
            return (fields, Next::Tree);
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        fields.values.insert(key, value);
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
    if header.values.contains_key("average_output") {
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
    if fields.values.get("is_linear").is_some_and(|&linear| linear != "0") {
        return Err(ReadError::unsupported(FORMAT, format!("{} has linear leaves", fields.place)));
    }
    let values: Vec<f64> = fields.list("leaf_value", leaves.max(1))?;
    let grown = if leaves <= 1 {
        Tree::grow(-1, 1, features, |_| entry(&values, 0).map(Raw::Leaf))
    } else {
        let splits = Splits::read(fields, leaves - 1, sets)?;
        Tree::grow(0, 2 * leaves - 1, features, |number| match number {
            0.. => splits.node(number),
            _ => entry(&values, !number).map(Raw::Leaf),
        })
    };
    grown.map_err(|reason| fields.invalid(reason))
}

/// The inner nodes of a tree; a negative child is the complement of a leaf's number.
struct Splits {
    columns: Vec<i64>,
    tests: Vec<Test>,
    left: Vec<i64>,
    right: Vec<i64>,
}

impl Splits {
    fn read(fields: &Fields, count: usize, sets: &mut Vec<CategorySet>) -> Result<Self, ReadError> {
        let thresholds: Vec<f64> = fields.list("threshold", count)?;
        let decisions: Vec<i8> = match fields.values.contains_key("decision_type") {
            true => fields.list("decision_type", count)?,
            false => vec![0; count],
        };
        let first = sets.len();
        let categories: usize = fields.number("num_cat")?;
        read_sets(fields, categories, sets)?;
        let test = |(&threshold, &decision): (&f64, &i8)| match decision & CATEGORICAL != 0 && categories > 0 {
            true => category(threshold, categories, first).ok_or_else(|| fields.invalid("a category set is missing")),
            false => Ok(numerical(threshold, decision)),
        };
        Ok(Self {
            columns: fields.list("split_feature", count)?,
            tests: thresholds.iter().zip(&decisions).map(test).collect::<Result<_, _>>()?,
            left: fields.list("left_child", count)?,
            right: fields.list("right_child", count)?,
        })
    }

    fn node(&self, number: i64) -> Result<Raw, String> {
        Ok(Raw::Split {
            column: entry(&self.columns, number)?,
            test: entry(&self.tests, number)?,
            left: entry(&self.left, number)?,
            right: entry(&self.right, number)?,
        })
    }
}

/// `NumericalDecision`: of missing type `zero`, values near 0 and NaN go the default way; of type `nan`, NaN does;
/// of type `none`, NaN is 0.
fn numerical(threshold: f64, decision: i8) -> Test {
    let default_left = decision & DEFAULT_LEFT != 0;
    let view = match (decision >> 2) & 3 {
        1 => View::zero(default_left),
        2 => View::nan(default_left),
        _ => View::nan(0.0 <= threshold),
    };
    Test::Key { threshold: at_most(threshold), view }
}

/// The threshold of a categorical split is the number of its set in the tree.
fn category(threshold: f64, count: usize, first: usize) -> Option<Test> {
    let number = (threshold >= 0.0 && threshold < count as f64).then_some(threshold as usize)?;
    u32::try_from(first + number).ok().map(Test::Category)
}

fn read_sets(fields: &Fields, count: usize, sets: &mut Vec<CategorySet>) -> Result<(), ReadError> {
    if count == 0 {
        return Ok(());
    }
    let bounds: Vec<usize> = fields.list("cat_boundaries", count.saturating_add(1))?;
    let words: Vec<u32> = fields.list("cat_threshold", bounds.last().copied().unwrap_or(0))?;
    for ends in bounds.windows(2) {
        let set = words.get(ends[0]..ends[1]).ok_or_else(|| fields.invalid("cat_boundaries do not ascend"))?;
        sets.push(CategorySet::lightgbm(set));
    }
    Ok(())
}

/// The `key=value` lines of one block.
struct Fields<'a> {
    place: String,
    values: HashMap<&'a str, &'a str>,
}

impl<'a> Fields<'a> {
    fn invalid(&self, reason: impl Into<String>) -> ReadError {
        ReadError::invalid(FORMAT, self.place.clone(), reason)
    }

    fn text(&self, key: &str) -> Result<&'a str, ReadError> {
        self.values.get(key).copied().ok_or_else(|| self.invalid(format!("{key} is missing")))
    }

    fn number<T: FromStr>(&self, key: &str) -> Result<T, ReadError> {
        let text = self.text(key)?;
        text.parse().map_err(|_| self.invalid(format!("{key} is {text:?}, not a number")))
    }

    /// A list of exactly `count` numbers.
    fn list<T: FromStr>(&self, key: &str, count: usize) -> Result<Vec<T>, ReadError> {
        let number = |word: &str| word.parse().map_err(|_| self.invalid(format!("{key} holds {word:?}, not a number")));
        let numbers: Vec<T> = self.text(key)?.split_ascii_whitespace().map(number).collect::<Result<_, _>>()?;
        match numbers.len() == count {
            true => Ok(numbers),
            false => Err(self.invalid(format!("{key} holds {} numbers, not {count}", numbers.len()))),
        }
    }
}
