//! Tree ensembles, evaluated without the libraries that trained them and with the same result to the last bit.
//!
//! Equality rests on three things. A split is decided as the library decides it, for every value an `f32` can have,
//! missing and infinite ones included (`key`). Leaves are added in the order of the trees, in the type the library
//! adds them in: `f32` from the base score on for XGBoost, `f64` from zero on for LightGBM. And nothing is added
//! besides: scores are raw margins, as both libraries predict them for ranking objectives.
//!
//! Speed rests on a layout that suits the tree (`masked`, `perfect`) and on eight rows that are looked at together.

mod category;
mod contributions;
mod forest;
pub(crate) mod key;
mod linked;
mod masked;
mod perfect;
pub(crate) mod tree;

pub(crate) use category::CategorySet;
pub use contributions::{Contributions, NoContributions};
use forest::{Forest, Leaf};
use tree::Tree;

use crate::error::ReadError;
use crate::{lightgbm, xgboost};

/// A trained forest, ready to score. Cheap to share, never changed.
#[derive(Debug)]
pub struct Ensemble {
    sum: Sum,
    /// As they were read, with their covers: what contributions are computed from.
    trees: Vec<Tree>,
}

/// The type leaves are added in.
#[derive(Debug)]
enum Sum {
    Single(Forest<f32>),
    Double(Forest<f64>),
}

impl Ensemble {
    /// Reads a model of XGBoost: UBJSON (`.ubj`) or JSON, which its first bytes tell apart.
    ///
    /// # Errors
    /// Bytes that are neither, trees that are none, and models that are no single-output tree ranker.
    pub fn xgboost(bytes: &[u8]) -> Result<Self, ReadError> {
        xgboost::read(bytes).map(|parts| Self::new(parts, Sum::Single))
    }

    /// Reads a model of LightGBM, in its text format.
    ///
    /// # Errors
    /// Text that is none, trees that are none, and models that are no single-output tree ranker.
    pub fn lightgbm(text: &[u8]) -> Result<Self, ReadError> {
        lightgbm::read(text).map(|parts| Self::new(parts, Sum::Double))
    }

    fn new<L: Leaf>(parts: Parts<L>, sum: impl Fn(Forest<L>) -> Sum) -> Self {
        let Parts { trees, sets, base } = parts;
        Self { sum: sum(Forest::new(&trees, sets, base)), trees }
    }

    /// Scores rows: `scores[i]` is the raw margin of the row `rows[i * width..][..width]`, whose column `j` is the feature
    /// `j` of training; NaN is missing. Columns that the trees read beyond `width` count as missing.
    ///
    /// # Panics
    /// When `rows` does not hold `scores.len()` rows of `width` columns.
    pub fn score(&self, rows: &[f32], width: usize, scores: &mut [f64]) {
        assert_eq!(rows.len(), width * scores.len(), "rows are given whole, one for each score");
        match &self.sum {
            Sum::Single(forest) => forest.score(rows, width, scores),
            Sum::Double(forest) => forest.score(rows, width, scores),
        }
    }

    /// Adds these trees to scores that others have begun: scores of a model's first trees become those of the model with
    /// these trees after them, to the last bit. Its own base score counts for nothing here.
    ///
    /// # Panics
    /// As [`Self::score`].
    pub fn add(&self, rows: &[f32], width: usize, scores: &mut [f64]) {
        assert_eq!(rows.len(), width * scores.len(), "rows are given whole, one for each score");
        match &self.sum {
            Sum::Single(forest) => forest.add(rows, width, scores),
            Sum::Double(forest) => forest.add(rows, width, scores),
        }
    }

    /// How much each column brings to the score of each row, as XGBoost's and LightGBM's `pred_contribs` tell it.
    ///
    /// # Errors
    /// When the model does not say how much data reached each node, or reads columns beyond `width`.
    ///
    /// # Panics
    /// When `rows` does not hold whole rows of `width` columns.
    pub fn contributions(&self, rows: &[f32], width: usize) -> Result<Contributions, NoContributions> {
        assert!(rows.len().is_multiple_of(width), "rows are given whole");
        match &self.sum {
            Sum::Single(forest) => contributions::of(&self.trees, forest, rows, width),
            Sum::Double(forest) => contributions::of(&self.trees, forest, rows, width),
        }
    }

    /// Number of trees.
    pub fn trees(&self) -> usize {
        self.trees.len()
    }

    /// Whether any tree has a split: without one, all rows score the same.
    pub fn splits(&self) -> bool {
        match &self.sum {
            Sum::Single(forest) => forest.splits(),
            Sum::Double(forest) => forest.splits(),
        }
    }

    /// How wide a row must be at least: one more than the highest column that a split reads.
    pub fn columns(&self) -> usize {
        match &self.sum {
            Sum::Single(forest) => forest.columns(),
            Sum::Double(forest) => forest.columns(),
        }
    }
}

/// What a reader makes of a model's bytes.
pub(crate) struct Parts<L> {
    pub(crate) trees: Vec<Tree>,
    pub(crate) sets: Vec<CategorySet>,
    pub(crate) base: L,
}
