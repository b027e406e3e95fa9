//! A tree filled up to a perfect one and numbered like a heap: the children of node `i` are `2i` and `2i + 1`.
//!
//! Every row takes exactly `depth` steps, each of which is two loads, a comparison and an addition without a branch, so
//! that the processor overlaps the steps of all rows. The price is memory, 2^depth nodes for a tree of any shape;
//! deeper and sparser trees are [`linked`](super::linked).

use super::CategorySet;
use super::key::{Keys, LANES, Lanes, NARROW, value_of};
use super::tree::{Node, Test, Tree};

/// Deepest tree that is worth its memory.
const MAX_DEPTH: u32 = 10;
/// Leaves of the perfect tree for each leaf of the given one; bounds what a small model can make us allocate.
const MAX_GROWTH: usize = 64;
/// Marks the column of a categorical split, whose threshold is the number of a set.
const CATEGORY: u32 = 1 << 31;

/// A perfect tree whose leaves are added as `L`.
#[derive(Debug)]
pub(super) struct Perfect<L> {
    depth: u32,
    categorical: bool,
    /// 2^depth, of which the first is not used.
    cells: Box<[Cell]>,
    /// 2^depth.
    leaves: Box<[L]>,
}

/// Eight bytes, so that a cache line holds eight.
#[derive(Debug, Clone, Copy)]
struct Cell {
    threshold: i32,
    /// Index into the keys.
    column: u32,
}

/// Fills the places below an early leaf; both ways lead to copies of it.
const EMPTY: Cell = Cell { threshold: i32::MAX, column: 0 };

/// Whether the tree gets this layout.
pub(super) fn suits(tree: &Tree) -> bool {
    tree.depth <= MAX_DEPTH && (1 << tree.depth) <= tree.leaves() * MAX_GROWTH
}

impl<L: Copy + Default + std::ops::AddAssign> Perfect<L> {
    /// Lays out a tree that [`suits`]; `columns` is the number of columns of each view.
    pub(super) fn new(tree: &Tree, columns: usize, leaf: impl Fn(f64) -> L) -> Self {
        let size = 1 << tree.depth;
        let mut cells = vec![EMPTY; size].into_boxed_slice();
        let mut leaves = vec![L::default(); size].into_boxed_slice();
        let mut categorical = false;
        let mut open = vec![(0, 1, tree.depth)]; // node, place, levels below it
        while let Some((node, place, below)) = open.pop() {
            match tree.nodes[node] {
                Node::Leaf(value) => leaves[(place << below) - size..][..1 << below].fill(leaf(value)),
                Node::Split { column, test, right } => {
                    let (threshold, column) = test.compiled(column, columns);
                    cells[place] = Cell { threshold, column };
                    categorical |= column & CATEGORY != 0;
                    open.push((node + 1, 2 * place, below - 1));
                    open.push((right as usize, 2 * place + 1, below - 1));
                }
            }
        }
        Self { depth: tree.depth, categorical, cells, leaves }
    }

    /// Adds this tree's leaf of each row to the row's sum.
    #[inline]
    pub(super) fn add(&self, keys: &Keys<'_>, sets: &[CategorySet], sums: &mut [L; LANES]) {
        if self.categorical {
            self.descend(sums, |cell, lane| right_of(cell.threshold, cell.column, lane, keys, sets));
        } else if let Ok(keys) = <&[Lanes; NARROW]>::try_from(keys.lanes()) {
            self.descend(sums, |cell, lane| keys[usize::from(cell.column as u8)][lane] > cell.threshold);
        } else {
            let keys = keys.lanes();
            self.descend(sums, |cell, lane| keys[cell.column as usize][lane] > cell.threshold);
        }
    }

    #[inline(always)]
    fn descend(&self, sums: &mut [L; LANES], right: impl Fn(Cell, usize) -> bool) {
        let mask = self.cells.len() - 1;
        let mut places = [1_usize; LANES];
        for _ in 0..self.depth {
            for (lane, place) in places.iter_mut().enumerate() {
                *place = 2 * *place + usize::from(right(self.cells[*place & mask], lane));
            }
        }
        for (sum, place) in sums.iter_mut().zip(places) {
            *sum += self.leaves[place & mask];
        }
    }
}

impl Test {
    /// Threshold and index into the keys (or set and marked column).
    pub(super) fn compiled(self, column: u32, columns: usize) -> (i32, u32) {
        match self {
            Self::Key { threshold, view } => (threshold, view as u32 * columns as u32 + column),
            Self::Category(set) => (set.cast_signed(), column | CATEGORY),
        }
    }
}

/// Decides a compiled test of either kind.
#[inline]
pub(super) fn right_of(threshold: i32, column: u32, lane: usize, keys: &Keys<'_>, sets: &[CategorySet]) -> bool {
    let key = keys.lanes()[(column & !CATEGORY) as usize][lane];
    if column & CATEGORY == 0 {
        key > threshold
    } else {
        right_of_set(&sets[threshold.cast_unsigned() as usize], column & !CATEGORY, lane, keys)
    }
}

/// Apart, so that what most splits do stays small.
#[inline(never)]
fn right_of_set(set: &CategorySet, column: u32, lane: usize, keys: &Keys<'_>) -> bool {
    match set.rights() {
        Some(rights) => rights >> keys.codes(column)[lane] & 1 == 1,
        None => set.right(value_of(keys.lanes()[column as usize][lane])),
    }
}
