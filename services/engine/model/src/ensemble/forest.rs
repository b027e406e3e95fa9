//! Trees in the layout that suits each, and their sum.

use super::CategorySet;
use super::key::{self, LANES, Lanes, View};
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
        let mut keys = key::all_missing(self.columns, self.views);
        for (block, scores) in scores.chunks_mut(LANES).enumerate() {
            let rows = rows.get(block * LANES * width..).unwrap_or_default();
            key::fill(&mut keys, self.columns, rows, width);
            let sums = self.sums(&keys);
            scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = sum.into());
        }
    }

    fn sums(&self, keys: &[Lanes]) -> [L; LANES] {
        let mut sums = [self.base; LANES];
        for tree in &self.trees {
            match tree {
                Laid::Perfect(tree) => tree.add(keys, &self.sets, &mut sums),
                Laid::Linked(tree) => tree.add(keys, &self.sets, &mut sums),
            }
        }
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
