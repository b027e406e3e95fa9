//! Trees in the layout that suits each, and their sum.

use super::CategorySet;
use super::key::{Keys, LANES, Lanes, View};
use super::linked::Linked;
use super::perfect::{self, Perfect};
use super::tree::{Node, Test, Tree};

/// Trees whose leaves are added as `L`.
#[derive(Debug)]
pub(super) struct Forest<L> {
    trees: Vec<Laid<L>>,
    sets: Vec<CategorySet>,
    base: L,
    columns: usize,
    views: usize,
}

#[derive(Debug)]
enum Laid<L> {
    Perfect(Perfect<L>),
    Linked(Linked<L>),
}

/// What leaves are added in.
pub(super) trait Leaf: Copy + Default + std::ops::AddAssign + Into<f64> {
    fn from_double(value: f64) -> Self;
}

impl Leaf for f32 {
    fn from_double(value: f64) -> Self {
        value as Self
    }
}

impl Leaf for f64 {
    fn from_double(value: f64) -> Self {
        value
    }
}

impl<L: Leaf> Forest<L> {
    pub(super) fn new(trees: &[Tree], sets: Vec<CategorySet>, base: L) -> Self {
        let columns = trees.iter().flat_map(Tree::columns).max().map_or(1, |last| last as usize + 1);
        let views = trees.iter().map(Tree::views).max().unwrap_or(2);
        let trees = trees.iter().map(|tree| Laid::new(tree, columns)).collect();
        Self { trees, sets, base, columns, views }
    }

    pub(super) fn trees(&self) -> usize {
        self.trees.len()
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn score(&self, rows: &[f32], width: usize, scores: &mut [f64]) {
        let mut keys = Keys::missing(self.columns, self.views);
        for (block, scores) in scores.chunks_mut(LANES).enumerate() {
            let rows = rows.get(block * LANES * width..).unwrap_or_default();
            keys.fill(rows, width);
            let sums = self.sums(keys.lanes());
            scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = sum.into());
        }
    }

    fn sums(&self, keys: &[Lanes]) -> [L; LANES] {
        let mut sums = [self.base; LANES];
        self.trees.iter().for_each(|tree| tree.add(keys, &self.sets, &mut sums));
        sums
    }
}

impl<L: Leaf> Laid<L> {
    fn new(tree: &Tree, columns: usize) -> Self {
        if perfect::suits(tree) {
            Self::Perfect(Perfect::new(tree, columns, L::from_double))
        } else {
            Self::Linked(Linked::new(tree, columns, L::from_double))
        }
    }

    #[inline]
    fn add(&self, keys: &[Lanes], sets: &[CategorySet], sums: &mut [L; LANES]) {
        match self {
            Self::Perfect(tree) => tree.add(keys, sets, sums),
            Self::Linked(tree) => tree.add(keys, sets, sums),
        }
    }
}

impl Tree {
    fn columns(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Split { column, .. } => Some(*column),
            Node::Leaf(_) => None,
        })
    }

    /// Views that must be filled: all up to the highest one in use, and always those of NaN.
    fn views(&self) -> usize {
        let zero = |node: &Node| {
            matches!(node, Node::Split { test: Test::Key { view: View::ZeroLeft | View::ZeroRight, .. }, .. })
        };
        if self.nodes.iter().any(zero) { 4 } else { 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ensemble::Parts;
    use crate::{lightgbm, xgboost};
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static LIGHTGBM: LazyLock<Parts<f64>> = LazyLock::new(|| {
        lightgbm::read(include_bytes!("../../samples/trained/lightgbm-zero.txt")).expect("the sample is valid")
    });
    static XGBOOST: LazyLock<Parts<f32>> = LazyLock::new(|| {
        xgboost::read(include_bytes!("../../samples/trained/xgboost.ubj")).expect("the sample is valid")
    });

    /// The sums of each layout: perfect over few columns, perfect over many, linked.
    fn sums<L: Leaf>(parts: &Parts<L>, rows: &[f32]) -> [[L; LANES]; 3] {
        let mut sums = [[L::default(); LANES]; 3];
        for (layout, columns) in [8, 300, 8].into_iter().enumerate() {
            let mut keys = Keys::missing(columns, 4);
            keys.fill(rows, 8);
            for tree in &parts.trees {
                assert!(perfect::suits(tree));
                let laid = match layout {
                    2 => Laid::Linked(Linked::new(tree, columns, L::from_double)),
                    _ => Laid::Perfect(Perfect::new(tree, columns, L::from_double)),
                };
                laid.add(keys.lanes(), &parts.sets, &mut sums[layout]);
            }
        }
        sums
    }

    proptest! {
        #[test]
        fn every_layout_gives_the_same_sum(
            rows in prop::collection::vec(prop_oneof![Just(f32::NAN), Just(0.0), -3.0_f32..50.0, any::<f32>()], 64)
        ) {
            let [narrow, wide, linked] = sums(&LIGHTGBM, &rows);
            prop_assert_eq!((narrow, narrow), (wide, linked));
            let [narrow, wide, linked] = sums(&XGBOOST, &rows);
            prop_assert_eq!((narrow, narrow), (wide, linked));
        }
    }
}
