//! A tree, walked down and up for each row, at some points of the integral.
//!
//! Each way from a split to a child is known by its child. A column that is split again on the same path counts there as
//! one: what it brings is told anew at the lower split, and what the upper one tells of the leaves below is taken back.

use super::quadrature::{Each, Points, TOGETHER};
use crate::ensemble::CategorySet;
use crate::ensemble::key::{Keys, LANES, value_of};
use crate::ensemble::tree::{Node, Test, Tree};

/// A bit for each row of a block.
type Bits = u8;

/// A tree, prepared for rows.
pub(super) struct Walk<'a> {
    tree: &'a Tree,
    splits: Vec<Split>,
    /// Columns of the tree, each once.
    columns: Vec<u32>,
    /// By child.
    ways: Vec<Way>,
    /// By child, then by [`state`].
    steps: Vec<[Step; 3]>,
}

/// A split, in the order of nodes.
#[derive(Debug, Clone, Copy)]
struct Split {
    node: u32,
    right: u32,
    /// The child of the last split on the same column above, on this path; the root, where there is none.
    above: u32,
    /// Index into the tree's columns.
    column: u32,
}

/// The way to a child.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// Share of the data of the parent.
    part: f64,
    /// Share of the data that went the same way at all splits on this column so far.
    share: f64,
    /// The share before this split.
    before: f64,
    /// Different columns on the path.
    columns: u32,
}

/// What a row does with a way.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Multiplies the product of the path; that of the way to a leaf holds the leaf's value.
    factor: Each,
    /// Multiplies the sum of the leaves below: what the split's column brings.
    share: Each,
}

/// Where a row is not on the path any more by this column / leaves it / stays on it.
const OFF: usize = 0;
const LEAVES: usize = 1;
const STAYS: usize = 2;

/// Reused from tree to tree.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// By child: rows that go this way here and at all splits above on the same column.
    on: Vec<Bits>,
    /// By child: the product on the way down, the sum of the leaves on the way up.
    at: Vec<Each>,
    /// By column of the tree.
    brought: Vec<Each>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(tree: &'a Tree) -> Self {
        let root = Way { part: 1.0, share: 1.0, before: 1.0, columns: 0 };
        let mut ways = vec![root; tree.nodes.len()];
        let mut parents = vec![0_u32; tree.nodes.len()];
        let mut columns: Vec<u32> = tree.nodes.iter().filter_map(Node::column).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut splits = Vec::with_capacity(tree.leaves());
        for (place, node) in tree.nodes.iter().enumerate() {
            let Node::Split { column, right, .. } = *node else { continue };
            let above = above(tree, &parents, place, column);
            for child in [place + 1, right as usize] {
                parents[child] = place as u32;
                let (part, before) = (tree.covers[child] / tree.covers[place], ways[above].share);
                let columns = ways[place].columns + u32::from(above == 0);
                ways[child] = Way { part, share: before * part, before, columns };
            }
            let column = columns.binary_search(&column).unwrap_or_default() as u32; // each of them is there
            splits.push(Split { node: place as u32, right, above: above as u32, column });
        }
        let nothing = Step { factor: [0.0; TOGETHER], share: [0.0; TOGETHER] };
        Self { tree, splits, columns, steps: vec![[nothing; 3]; ways.len()], ways }
    }

    /// Different columns on a path, at most.
    pub(super) fn most_columns(&self) -> usize {
        self.ways.iter().map(|way| way.columns as usize).max().unwrap_or_default()
    }

    /// Computes what rows need at these points.
    pub(super) fn prepare(&mut self, points: &Points) {
        for ((steps, way), node) in self.steps.iter_mut().zip(&self.ways).zip(&self.tree.nodes) {
            let leaf = if let Node::Leaf(value) = node { *value } else { 1.0 };
            *steps = way.steps(points, leaf);
        }
    }

    /// Adds what columns bring to rows, whose keys these are; `values` has `width` for each row.
    pub(super) fn add(
        &self,
        keys: &Keys<'_>,
        sets: &[CategorySet],
        width: usize,
        values: &mut [f64],
        scratch: &mut Scratch,
    ) {
        scratch.on.resize(self.ways.len(), 0);
        scratch.at.resize(self.ways.len(), [0.0; TOGETHER]);
        scratch.brought.clear();
        scratch.brought.resize(self.columns.len(), [0.0; TOGETHER]);
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: this processor has what the function is compiled for.
            #[allow(unsafe_code)]
            return unsafe { self.add_by_avx2(keys, sets, width, values, scratch) };
        }
        self.add_anywhere(keys, sets, width, values, scratch);
    }

    /// The same instructions in wider registers: the results are the same to the last bit.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn add_by_avx2(
        &self,
        keys: &Keys<'_>,
        sets: &[CategorySet],
        width: usize,
        values: &mut [f64],
        scratch: &mut Scratch,
    ) {
        self.add_anywhere(keys, sets, width, values, scratch);
    }

    #[inline(always)]
    fn add_anywhere(
        &self,
        keys: &Keys<'_>,
        sets: &[CategorySet],
        width: usize,
        values: &mut [f64],
        scratch: &mut Scratch,
    ) {
        self.part(keys, sets, &mut scratch.on);
        for (lane, row) in values.chunks_exact_mut(width).enumerate() {
            self.walk(lane, scratch);
            for (&column, brought) in self.columns.iter().zip(&mut scratch.brought) {
                row[column as usize] += brought.iter().sum::<f64>();
                *brought = [0.0; TOGETHER];
            }
        }
    }

    /// Decides all splits for all rows of a block.
    #[inline(always)]
    fn part(&self, keys: &Keys<'_>, sets: &[CategorySet], on: &mut [Bits]) {
        on[0] = Bits::MAX;
        for split in &self.splits {
            let (before, right) = (on[split.above as usize], self.rights(split, keys, sets));
            on[split.node as usize + 1] = before & !right;
            on[split.right as usize] = before & right;
        }
    }

    /// Rows that go right.
    #[inline(always)]
    fn rights(&self, split: &Split, keys: &Keys<'_>, sets: &[CategorySet]) -> Bits {
        let Node::Split { column, test, .. } = self.tree.nodes[split.node as usize] else { return 0 };
        let bits =
            |right: &dyn Fn(usize) -> bool| (0..LANES).fold(0, |bits, lane| bits | Bits::from(right(lane)) << lane);
        match test {
            Test::Key { threshold, view } => {
                let keys = &keys.lanes()[view as usize * keys.columns() + column as usize];
                (0..LANES).fold(0, |bits, lane| bits | Bits::from(keys[lane] > threshold) << lane)
            }
            Test::Category(set) => {
                let set = &sets[set as usize];
                match set.rights() {
                    Some(rights) => bits(&|lane| rights >> keys.codes(column)[lane] & 1 == 1),
                    None => bits(&|lane| set.right(value_of(keys.lanes()[column as usize][lane]))),
                }
            }
        }
    }

    /// Walks one row: products down, sums up.
    #[inline(always)]
    fn walk(&self, lane: usize, scratch: &mut Scratch) {
        let Scratch { on, at, brought } = scratch;
        at[0] = [1.0; TOGETHER];
        for split in &self.splits {
            let (product, before) = (at[split.node as usize], on[split.above as usize]);
            for child in [split.node as usize + 1, split.right as usize] {
                at[child] = times(product, self.steps[child][state(before, on[child], lane)].factor);
            }
        }
        for split in self.splits.iter().rev() {
            let (left, right) = (split.node as usize + 1, split.right as usize);
            let before = on[split.above as usize];
            let brings = |child: usize| times(at[child], self.steps[child][state(before, on[child], lane)].share);
            let column = &mut brought[split.column as usize];
            *column = plus(*column, plus(brings(left), brings(right)));
            at[split.node as usize] = plus(at[left], at[right]);
        }
    }
}

impl Way {
    /// With `t` a point: a column that the path has by `share` of the data multiplies by `share + (1 - share) t` where
    /// the row stays on the path, and by `share (1 - t)` where it does not.
    fn steps(&self, points: &Points, leaf: f64) -> [Step; 3] {
        let each = |of: &dyn Fn(f64) -> f64| points.at.map(of);
        let stays = |share: f64| each(&|t| share + (1.0 - share) * t);
        let brings = |share: f64| over(points.weights.map(|weight| weight * (1.0 - share)), stays(share));
        let (before, was) = (stays(self.before), brings(self.before));
        let left = over(points.weights.map(|weight| -weight), each(&|t| 1.0 - t));
        let mut steps = [Step { factor: [self.part * leaf; TOGETHER], share: [0.0; TOGETHER] }; 3];
        steps[LEAVES].factor = over(each(&|t| leaf * self.share * (1.0 - t)), before);
        steps[LEAVES].share = minus(left, was);
        steps[STAYS].factor = over(stays(self.share).map(|stays| leaf * stays), before);
        steps[STAYS].share = minus(brings(self.share), was);
        debug_assert_eq!(
            steps[OFF].share, [0.0; TOGETHER],
            "who has left the path before brings nothing by leaving it"
        );
        steps
    }
}

impl Node {
    fn column(&self) -> Option<u32> {
        match self {
            Self::Split { column, .. } => Some(*column),
            Self::Leaf(_) => None,
        }
    }
}

/// The child of the nearest split above on the same column, on the path to a node; 0, where there is none.
fn above(tree: &Tree, parents: &[u32], node: usize, column: u32) -> usize {
    let mut child = node;
    while child > 0 {
        let parent = parents[child] as usize;
        if tree.nodes[parent].column() == Some(column) {
            return child;
        }
        child = parent;
    }
    0
}

/// What a row does with a way, by whether it was on the path and whether it is.
#[inline(always)]
fn state(before: Bits, on: Bits, lane: usize) -> usize {
    usize::from(before >> lane & 1) + usize::from(on >> lane & 1)
}

#[inline(always)]
fn times(left: Each, right: Each) -> Each {
    std::array::from_fn(|point| left[point] * right[point])
}

#[inline(always)]
fn over(left: Each, right: Each) -> Each {
    std::array::from_fn(|point| left[point] / right[point])
}

#[inline(always)]
fn plus(left: Each, right: Each) -> Each {
    std::array::from_fn(|point| left[point] + right[point])
}

#[inline(always)]
fn minus(left: Each, right: Each) -> Each {
    std::array::from_fn(|point| left[point] - right[point])
}
