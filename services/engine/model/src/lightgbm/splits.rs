//! The splits of one tree of the text.

use super::fields::Fields;
use crate::ensemble::CategorySet;
use crate::ensemble::key::{View, at_most};
use crate::ensemble::tree::{Raw, Test, entry};
use crate::error::ReadError;
use crate::foreign;

/// Bits of `decision_type`: a category split, missing goes left, and two bits of missing type.
const CATEGORICAL: i8 = 1;
const DEFAULT_LEFT: i8 = 2;

/// The inner nodes of a tree; a negative child is the complement of a leaf's number.
pub(super) struct Splits {
    columns: Vec<i64>,
    tests: Vec<Test>,
    left: Vec<i64>,
    right: Vec<i64>,
}

impl Splits {
    pub(super) fn read(fields: &Fields, count: usize, sets: &mut Vec<CategorySet>) -> Result<Self, ReadError> {
        let thresholds: Vec<f64> = fields.list("threshold", count)?;
        let decisions: Vec<i8> = match fields.has("decision_type") {
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

    pub(super) fn node(&self, number: i64) -> Result<Raw, String> {
        Ok(Raw::Split {
            column: entry(&self.columns, number)?,
            test: entry(&self.tests, number)?,
            left: entry(&self.left, number)?,
            right: entry(&self.right, number)?,
        })
    }
}

/// Adds a tree's splits.
pub(super) fn describe(fields: &Fields, splits: &mut foreign::Splits) -> Result<(), ReadError> {
    let count = fields.number::<usize>("num_leaves")?.saturating_sub(1);
    if count == 0 {
        return Ok(());
    }
    let (columns, gains): (Vec<i64>, Vec<f64>) =
        (fields.list("split_feature", count)?, fields.list("split_gain", count)?);
    let decisions: Vec<i8> = match fields.has("decision_type") {
        true => fields.list("decision_type", count)?,
        false => vec![0; count],
    };
    for ((column, gain), decision) in columns.into_iter().zip(gains).zip(decisions) {
        splits.add(column, gain, decision & CATEGORICAL != 0);
    }
    Ok(())
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
