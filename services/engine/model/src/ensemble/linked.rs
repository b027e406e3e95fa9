//! A tree as nodes that name their children: for trees too deep or too sparse to be [`perfect`](super::perfect).

use super::CategorySet;
use super::key::{Keys, LANES};
use super::perfect::right_of;
use super::tree::{Node, Tree};

/// A linked tree whose leaves are added as `L`.
#[derive(Debug)]
pub(super) struct Linked<L> {
    cells: Box<[Cell]>,
    /// The value of each node that is a leaf.
    leaves: Box<[L]>,
}

/// A leaf is its own child on both sides.
#[derive(Debug, Clone, Copy)]
struct Cell {
    threshold: i32,
    column: u32,
    children: [u32; 2],
}

impl<L: Copy + Default + std::ops::AddAssign> Linked<L> {
    /// Lays out a tree; `columns` is the number of columns of each view.
    pub(super) fn new(tree: &Tree, columns: usize, leaf: impl Fn(f64) -> L) -> Self {
        let cells = tree.nodes.iter().zip(0..).map(|(node, at)| Cell::new(node, at, columns)).collect();
        let leaves = tree.nodes.iter().map(|node| match node {
            Node::Leaf(value) => leaf(*value),
            Node::Split { .. } => L::default(),
        });
        Self { cells, leaves: leaves.collect() }
    }

    /// Adds this tree's leaf of each row to the row's sum.
    pub(super) fn add(&self, keys: &Keys<'_>, sets: &[CategorySet], sums: &mut [L; LANES]) {
        let mut places = [0_u32; LANES];
        loop {
            let before = places;
            for (lane, place) in places.iter_mut().enumerate() {
                let cell = self.cells[*place as usize];
                *place = cell.children[usize::from(right_of(cell.threshold, cell.column, lane, keys, sets))];
            }
            if places == before {
                break;
            }
        }
        for (sum, place) in sums.iter_mut().zip(places) {
            *sum += self.leaves[place as usize];
        }
    }
}

impl Cell {
    fn new(node: &Node, at: u32, columns: usize) -> Self {
        match *node {
            Node::Leaf(_) => Self { threshold: 0, column: 0, children: [at; 2] },
            Node::Split { column, test, right } => {
                let (threshold, column) = test.compiled(column, columns);
                Self { threshold, column, children: [at + 1, right] }
            }
        }
    }
}
