//! A tree, walked down and up by the rows of a block together, at some points of the integral.
//!
//! Each way from a split to a child is known by its child. A column that is split again on the same path counts there as
//! one: the lower split says again what the column brings, and takes back what the upper one says of the leaves below.
//!
//! On the way down each row has the product of its factors so far. At a leaf, that times the leaf's value is a sum, and
//! on the way up sums are added. The sum below a way, times what the row's side of the split is worth, is what the
//! split's column brings by it.

use super::quadrature::{Each, Points};
use crate::ensemble::CategorySet;
use crate::ensemble::key::{Keys, LANES, value_of};
use crate::ensemble::tree::{Node, Test, Tree};

/// A bit for each row of a block.
type Bits = u8;

/// Numbers for each row of a block.
type Rows = [Each; LANES];

/// A tree, prepared for rows.
pub(super) struct Walk<'a> {
    tree: &'a Tree,
    splits: Vec<Split>,
    moves: Vec<Move>,
    /// Columns of the tree, each once.
    columns: Vec<u32>,
    /// By child.
    ways: Vec<Way>,
    /// By child, then by [`side`]; of a split into two leaves the left child holds both, see [`of_leaves`].
    steps: Vec<[Step; 3]>,
}

/// A split, in the order of nodes.
#[derive(Debug, Clone, Copy)]
struct Split {
    left: u32,
    right: u32,
    /// The child of the last split on the same column above, on this path; the root, where there is none.
    above: u32,
    /// Index into the tree's columns.
    column: u32,
    /// Its number of splits above.
    depth: u32,
}

/// What is done at a split, by its number, in the order of the walk.
#[derive(Debug, Clone, Copy)]
enum Move {
    /// Both children are leaves.
    Leaves(u32),
    /// Down to the left child.
    Left(u32),
    /// Up from the left child, and down to the right one.
    Right(u32),
    /// Up from the right child.
    Up(u32),
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
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    /// Makes the product above the one below; that of the way to a leaf holds the leaf's value.
    factor: Each,
    /// Makes the sum below what the split's column brings.
    worth: Each,
}

/// A row that has left the path before, by the same column / leaves it here / stays on it.
const OFF: usize = 0;
const LEAVES: usize = 1;
const STAYS: usize = 2;

/// Reused from tree to tree.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// By child: rows that go this way here and at all splits above on the same column.
    on: Vec<Bits>,
    /// By depth: the product on the way down, the sum of all leaves below on the way up.
    at: Vec<Rows>,
    /// By depth: the sum of the left child.
    left: Vec<Rows>,
    /// By column of the tree.
    brought: Vec<Rows>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(tree: &'a Tree) -> Self {
        let root = Way { part: 1.0, share: 1.0, before: 1.0, columns: 0 };
        let mut ways = vec![root; tree.nodes.len()];
        let mut columns: Vec<u32> = tree.nodes.iter().filter_map(Node::column).collect();
        columns.sort_unstable();
        columns.dedup();
        let (mut splits, mut moves) = (Vec::with_capacity(tree.leaves()), Vec::new());
        let mut path: Vec<(u32, u32)> = Vec::new(); // columns of the splits above, with the child that the path goes to
        let mut open = vec![Open::Node(0)];
        while let Some(next) = open.pop() {
            let place = match next {
                Open::Node(place) => place,
                Open::Right(number) => {
                    let Split { right, .. } = splits[number as usize];
                    path.last_mut().into_iter().for_each(|last| last.1 = right);
                    moves.push(Move::Right(number));
                    open.push(Open::Node(right));
                    continue;
                }
                Open::Up(number) => {
                    path.pop();
                    moves.push(Move::Up(number));
                    continue;
                }
            };
            let Node::Split { column, right, .. } = tree.nodes[place as usize] else { continue };
            let above = path.iter().rfind(|(other, _)| *other == column).map_or(0, |(_, child)| *child);
            let left = place + 1;
            for child in [left, right] {
                let part = tree.covers[child as usize] / tree.covers[place as usize];
                let before = ways[above as usize].share;
                let columns = ways[place as usize].columns + u32::from(above == 0);
                ways[child as usize] = Way { part, share: before * part, before, columns };
            }
            let (number, depth) = (splits.len() as u32, path.len() as u32);
            let index = columns.binary_search(&column).unwrap_or_default() as u32; // each of them is there
            splits.push(Split { left, right, above, column: index, depth });
            if [left, right].iter().all(|&child| matches!(tree.nodes[child as usize], Node::Leaf(_))) {
                moves.push(Move::Leaves(number));
            } else {
                path.push((column, left));
                moves.push(Move::Left(number));
                open.extend([Open::Up(number), Open::Right(number), Open::Node(left)]);
            }
        }
        let steps = vec![[Step { factor: Each::of(0.0), worth: Each::of(0.0) }; 3]; ways.len()];
        Self { tree, splits, moves, columns, ways, steps }
    }

    /// Different columns on a path, at most.
    pub(super) fn most_columns(&self) -> usize {
        self.ways.iter().map(|way| way.columns as usize).max().unwrap_or_default()
    }

    /// Computes what rows need at these points.
    pub(super) fn prepare(&mut self, points: &Points) {
        for ((steps, way), node) in self.steps.iter_mut().zip(&self.ways).zip(&self.tree.nodes) {
            *steps = way.steps(points, if let Node::Leaf(value) = node { *value } else { 1.0 });
        }
        for step in &self.moves {
            if let Move::Leaves(number) = *step {
                let Split { left, right, .. } = self.splits[number as usize];
                // nothing else is done on these two ways: the left one holds both
                self.steps[left as usize] = of_leaves(&self.steps[left as usize], &self.steps[right as usize]);
            }
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
        let nothing = [Each::of(0.0); LANES];
        scratch.on.resize(self.ways.len(), 0);
        scratch.at.resize(self.tree.depth as usize + 1, nothing);
        scratch.left.resize(self.tree.depth as usize + 1, nothing);
        scratch.brought.clear();
        scratch.brought.resize(self.columns.len(), nothing);
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
        self.walk(scratch);
        for (&column, brought) in self.columns.iter().zip(&scratch.brought) {
            for (row, brought) in values.chunks_exact_mut(width).zip(brought) {
                row[column as usize] += brought.sum();
            }
        }
    }

    /// Decides all splits for all rows of a block.
    #[inline(always)]
    fn part(&self, keys: &Keys<'_>, sets: &[CategorySet], on: &mut [Bits]) {
        on[0] = Bits::MAX;
        for split in &self.splits {
            let (before, right) = (on[split.above as usize], self.rights(split, keys, sets));
            on[split.left as usize] = before & !right;
            on[split.right as usize] = before & right;
        }
    }

    /// Rows that go right.
    #[inline(always)]
    fn rights(&self, split: &Split, keys: &Keys<'_>, sets: &[CategorySet]) -> Bits {
        let Node::Split { column, test, .. } = self.tree.nodes[split.left as usize - 1] else { return 0 };
        match test {
            Test::Key { threshold, view } => {
                let keys = &keys.lanes()[view as usize * keys.columns() + column as usize];
                bits(|lane| keys[lane] > threshold)
            }
            Test::Category(set) => match sets[set as usize].rights() {
                Some(rights) => bits(|lane| rights >> keys.codes(column)[lane] & 1 == 1),
                None => bits(|lane| sets[set as usize].right(value_of(keys.lanes()[column as usize][lane]))),
            },
        }
    }

    /// Products down, sums up.
    #[inline(always)]
    fn walk(&self, scratch: &mut Scratch) {
        let Scratch { on, at, left, brought } = scratch;
        at[0] = [Each::of(1.0); LANES];
        for step in &self.moves {
            let (Move::Leaves(number) | Move::Left(number) | Move::Right(number) | Move::Up(number)) = *step;
            let split = &self.splits[number as usize];
            let (before, on_left) = (on[split.above as usize], on[split.left as usize]);
            let on_right = before & !on_left;
            let (to_left, to_right) = (&self.steps[split.left as usize], &self.steps[split.right as usize]);
            let brought = &mut brought[split.column as usize];
            let (upper, lower) = at.split_at_mut(split.depth as usize + 1);
            let (Some(here), Some(below), left) =
                (upper.last_mut(), lower.first_mut(), &mut left[split.depth as usize])
            else {
                continue; // a split has a level below it
            };
            match step {
                Move::Leaves(_) => {
                    for lane in 0..LANES {
                        let step = &to_left[side(before, on_left, lane)];
                        brought[lane] = brought[lane].plus(here[lane].times(step.worth));
                        here[lane] = here[lane].times(step.factor);
                    }
                }
                Move::Left(_) => {
                    for lane in 0..LANES {
                        below[lane] = here[lane].times(to_left[side(before, on_left, lane)].factor);
                    }
                }
                Move::Right(_) => {
                    for lane in 0..LANES {
                        let sum = below[lane];
                        brought[lane] = brought[lane].plus(sum.times(to_left[side(before, on_left, lane)].worth));
                        left[lane] = sum;
                        below[lane] = here[lane].times(to_right[side(before, on_right, lane)].factor);
                    }
                }
                Move::Up(_) => {
                    for lane in 0..LANES {
                        let sum = below[lane];
                        brought[lane] = brought[lane].plus(sum.times(to_right[side(before, on_right, lane)].worth));
                        here[lane] = left[lane].plus(sum);
                    }
                }
            }
        }
    }
}

/// What is left to do while a tree is prepared.
enum Open {
    Node(u32),
    Right(u32),
    Up(u32),
}

impl Way {
    /// With `t` a point: a column whose splits let `share` of the data through multiplies by `share + (1 - share) t` where
    /// the row stays on the path, and by `share (1 - t)` where it does not.
    fn steps(&self, points: &Points, leaf: f64) -> [Step; 3] {
        let Points { at, weights } = *points;
        let stays = |share: f64| at.map(|t| share + (1.0 - share) * t);
        let worth = |share: f64| weights.map(|weight| weight * (1.0 - share)).over(stays(share));
        let before = stays(self.before);
        let was = worth(self.before);
        let gone = weights.map(|weight| -weight).over(at.map(|t| 1.0 - t));
        let mut steps = [Step { factor: Each::of(self.part * leaf), worth: Each::of(0.0) }; 3];
        steps[LEAVES].factor = at.map(|t| leaf * self.share * (1.0 - t)).over(before);
        steps[LEAVES].worth = gone.minus(was);
        steps[STAYS].factor = stays(self.share).map(|stays| leaf * stays).over(before);
        steps[STAYS].worth = worth(self.share).minus(was);
        steps
    }
}

/// A split into two leaves in one step: both ways from the product above the split to the sum below it, by the side that
/// the row takes with the left one.
fn of_leaves(left: &[Step; 3], right: &[Step; 3]) -> [Step; 3] {
    let both = |left: &Step, right: &Step| Step {
        factor: left.factor.plus(right.factor),
        worth: left.factor.times(left.worth).plus(right.factor.times(right.worth)),
    };
    [both(&left[OFF], &right[OFF]), both(&left[LEAVES], &right[STAYS]), both(&left[STAYS], &right[LEAVES])]
}

impl Node {
    fn column(&self) -> Option<u32> {
        match self {
            Self::Split { column, .. } => Some(*column),
            Self::Leaf(_) => None,
        }
    }
}

#[inline(always)]
fn bits(right: impl Fn(usize) -> bool) -> Bits {
    (0..LANES).fold(0, |bits, lane| bits | Bits::from(right(lane)) << lane)
}

/// What a row does with a way, by whether it was on the path and whether it is.
#[inline(always)]
fn side(before: Bits, on: Bits, lane: usize) -> usize {
    usize::from(before >> lane & 1) + usize::from(on >> lane & 1)
}

#[cfg(test)]
mod tests {
    use super::super::quadrature::{Rule, TOGETHER};
    use super::*;

    #[test]
    fn who_has_left_the_path_brings_nothing_by_going_on() {
        let mut rule = Rule::default();
        rule.integrate(8);
        let points = rule.points()[0];
        let way = Way { part: 0.5, share: 0.25, before: 0.5, columns: 1 };
        let [off, leaves, stays] = way.steps(&points, 1.0);
        assert_eq!(off, Step { factor: Each::of(0.5), worth: Each::of(0.0) });
        assert!((0..TOGETHER).all(|point| leaves.worth.0[point] < 0.0 && stays.factor.0[point] < 1.0));
        let same = Way { part: 1.0, share: 0.5, before: 0.5, columns: 1 };
        assert_eq!(same.steps(&points, 1.0)[STAYS], Step { factor: Each::of(1.0), worth: Each::of(0.0) });
    }
}
