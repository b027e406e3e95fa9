//! Trees in the layout that suits each, and their sum.

use super::CategorySet;
use super::key::{Categories, Keys, LANES, View};
use super::linked::Linked;
use super::masked::{self, Masked};
use super::perfect::{self, Perfect};
use super::tree::{Node, Test, Tree};

/// Trees whose leaves are added as `L`.
#[derive(Debug)]
pub(super) struct Forest<L> {
    trees: Vec<Laid<L>>,
    sets: Vec<CategorySet>,
    base: L,
    columns: usize,
    splits: bool,
    views: usize,
    categories: Categories,
}

#[derive(Debug)]
enum Laid<L> {
    Masked(Masked<L>),
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
        let last = trees.iter().flat_map(Tree::columns).max();
        let (columns, splits) = (last.map_or(1, |last| last as usize + 1), last.is_some());
        let views = trees.iter().map(Tree::views).max().unwrap_or(2);
        let categories = categories(trees, &sets);
        let trees = trees.iter().map(|tree| Laid::new(tree, columns, &sets)).collect();
        Self { trees, sets, base, columns, splits, views, categories }
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn base(&self) -> L {
        self.base
    }

    pub(super) fn sets(&self) -> &[CategorySet] {
        &self.sets
    }

    /// Keys of rows that are all missing, as the trees need them.
    pub(super) fn keys(&self) -> Keys<'_> {
        Keys::missing(self.columns, self.views, &self.categories)
    }

    pub(super) fn splits(&self) -> bool {
        self.splits
    }

    pub(super) fn score(&self, rows: &[f32], width: usize, scores: &mut [f64]) {
        self.sum(rows, width, scores, |_| self.base);
    }

    /// Adds the trees to sums that other trees have begun.
    pub(super) fn add(&self, rows: &[f32], width: usize, scores: &mut [f64]) {
        self.sum(rows, width, scores, L::from_double);
    }

    fn sum(&self, rows: &[f32], width: usize, scores: &mut [f64], begin: impl Fn(f64) -> L) {
        let mut keys = self.keys();
        for (block, scores) in scores.chunks_mut(LANES).enumerate() {
            let rows = rows.get(block * LANES * width..).unwrap_or_default();
            keys.fill(rows, width);
            let mut sums = [self.base; LANES];
            sums.iter_mut().zip(scores.iter()).for_each(|(sum, &score)| *sum = begin(score));
            let sums = self.sums(&keys, sums);
            scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = sum.into());
        }
    }

    fn sums(&self, keys: &Keys<'_>, sums: [L; LANES]) -> [L; LANES] {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("bmi1") {
            // SAFETY: this processor has what the function is compiled for.
            #[allow(unsafe_code)]
            return unsafe { self.sums_by_avx2(keys, sums) };
        }
        self.sums_anywhere(keys, sums)
    }

    /// The same instructions in wider registers: the sums are the same to the last bit.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1")]
    fn sums_by_avx2(&self, keys: &Keys<'_>, sums: [L; LANES]) -> [L; LANES] {
        self.sums_anywhere(keys, sums)
    }

    #[inline(always)]
    fn sums_anywhere(&self, keys: &Keys<'_>, mut sums: [L; LANES]) -> [L; LANES] {
        for tree in &self.trees {
            tree.add(keys, &self.sets, &mut sums);
        }
        sums
    }
}

impl<L: Leaf> Laid<L> {
    fn new(tree: &Tree, columns: usize, sets: &[CategorySet]) -> Self {
        if masked::suits(tree) {
            Self::Masked(Masked::new(tree, columns, sets, L::from_double))
        } else if perfect::suits(tree) {
            Self::Perfect(Perfect::new(tree, columns, L::from_double))
        } else {
            Self::Linked(Linked::new(tree, columns, L::from_double))
        }
    }

    #[inline(always)]
    fn add(&self, keys: &Keys<'_>, sets: &[CategorySet], sums: &mut [L; LANES]) {
        match self {
            Self::Masked(tree) => tree.add(keys, sets, sums),
            Self::Perfect(tree) => tree.add(keys, sets, sums),
            Self::Linked(tree) => tree.add(keys, sets, sums),
        }
    }
}

/// The columns of splits whose categories have codes.
fn categories(trees: &[Tree], sets: &[CategorySet]) -> Categories {
    let coded = |node: &Node| match *node {
        Node::Split { column, test: Test::Category(set), .. } => sets[set as usize].rights().map(|_| column),
        _ => None,
    };
    let mut columns: Vec<u32> = trees.iter().flat_map(|tree| tree.nodes.iter().filter_map(coded)).collect();
    columns.sort_unstable();
    columns.dedup();
    Categories { columns, rule: sets.first().map(CategorySet::rule) }
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

    /// The sums of each layout: perfect over few columns, perfect over many, linked, and masked where that suits the
    /// tree (linked otherwise).
    fn sums<L: Leaf>(parts: &Parts<L>, rows: &[f32]) -> [[L; LANES]; 4] {
        let mut sums = [[L::default(); LANES]; 4];
        for (layout, columns) in [8, 300, 8, 8].into_iter().enumerate() {
            let categories = categories(&parts.trees, &parts.sets);
            let mut keys = Keys::missing(columns, 4, &categories);
            keys.fill(rows, 8);
            for tree in &parts.trees {
                assert!(perfect::suits(tree));
                let laid = match layout {
                    0 | 1 => Laid::Perfect(Perfect::new(tree, columns, L::from_double)),
                    3 if masked::suits(tree) => Laid::Masked(Masked::new(tree, columns, &parts.sets, L::from_double)),
                    _ => Laid::Linked(Linked::new(tree, columns, L::from_double)),
                };
                laid.add(&keys, &parts.sets, &mut sums[layout]);
            }
        }
        sums
    }

    #[test]
    fn the_samples_have_trees_for_every_layout() {
        assert!(LIGHTGBM.trees.iter().any(masked::suits) && XGBOOST.trees.iter().any(masked::suits));
    }

    #[test]
    fn the_processor_makes_no_difference() {
        let rows: Vec<f32> = (0..64).map(|number| (number * 7 % 64) as f32 - 10.0).collect();
        let parts = lightgbm::read(include_bytes!("../../samples/trained/lightgbm-zero.txt")).expect("a valid sample");
        let forest = Forest::new(&parts.trees, parts.sets, parts.base);
        let mut keys = Keys::missing(forest.columns, forest.views, &forest.categories);
        keys.fill(&rows, 8);
        let begun = [forest.base; LANES];
        assert_eq!(forest.sums(&keys, begun), forest.sums_anywhere(&keys, begun));
    }

    proptest! {
        #[test]
        fn every_layout_gives_the_same_sum(
            rows in prop::collection::vec(prop_oneof![Just(f32::NAN), Just(0.0), -3.0_f32..50.0, any::<f32>()], 64)
        ) {
            let [narrow, wide, linked, masked] = sums(&LIGHTGBM, &rows);
            prop_assert_eq!((narrow, narrow, narrow), (wide, linked, masked));
            let [narrow, wide, linked, masked] = sums(&XGBOOST, &rows);
            prop_assert_eq!((narrow, narrow, narrow), (wide, linked, masked));
        }
    }
}
