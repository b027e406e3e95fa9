//! A small tree as a list of questions: each one that a row answers with "right" rules out the leaves on its left, and
//! the leftmost leaf that remains is the row's (QuickScorer: Lucchese et al., SIGIR 2015).
//!
//! Every question is asked of every row, in the order of memory and without waiting for the answer to another one: the
//! processor asks it of all lanes with a few instructions. That beats descending as long as a tree has few leaves.

use super::CategorySet;
use super::key::{Keys, LANES, value_of};
use super::tree::{Node, Test, Tree};

/// One bit for each leaf.
type Leaves = u32;

/// The most leaves there may be.
const MOST: usize = Leaves::BITS as usize;

/// A tree whose leaves are added as `L`.
#[derive(Debug)]
pub(super) struct Masked<L> {
    /// Thresholds of keys.
    questions: Box<[Question<i32>]>,
    /// Codes that go right, as bits; of columns without views.
    coded: Box<[Question<u64>]>,
    /// Numbers of category sets.
    categorical: Box<[Question<u32>]>,
    /// From left to right.
    leaves: Box<[L; MOST]>,
}

#[derive(Debug, Clone, Copy)]
struct Question<T> {
    what: T,
    /// Index into the keys.
    column: u32,
    /// The leaves that "right" rules out.
    left: Leaves,
}

/// Whether the tree gets this layout.
pub(super) fn suits(tree: &Tree) -> bool {
    tree.leaves() <= MOST
}

impl<L: Copy + Default + std::ops::AddAssign> Masked<L> {
    /// Lays out a tree that [`suits`]; `columns` is the number of columns of each view.
    pub(super) fn new(tree: &Tree, columns: usize, sets: &[CategorySet], leaf: impl Fn(f64) -> L) -> Self {
        let mut leaves = Box::new([L::default(); MOST]);
        let (mut questions, mut coded, mut categorical) = (Vec::new(), Vec::new(), Vec::new());
        let before = leaves_before(tree);
        for (place, node) in tree.nodes.iter().enumerate() {
            match *node {
                Node::Leaf(value) => leaves[before[place]] = leaf(value),
                Node::Split { column, test, right } => {
                    let left = (before[place]..before[right as usize]).fold(0, |left, number| left | 1 << number);
                    match test {
                        Test::Key { threshold, view } => {
                            let column = view as u32 * columns as u32 + column;
                            questions.push(Question { what: threshold, column, left });
                        }
                        Test::Category(set) => match sets[set as usize].rights() {
                            Some(rights) => coded.push(Question { what: rights, column, left }),
                            None => categorical.push(Question { what: set, column, left }),
                        },
                    }
                }
            }
        }
        Self { questions: questions.into(), coded: coded.into(), categorical: categorical.into(), leaves }
    }

    /// Adds this tree's leaf of each row to the row's sum.
    #[inline(always)]
    pub(super) fn add(&self, keys: &Keys<'_>, sets: &[CategorySet], sums: &mut [L; LANES]) {
        let mut left = [Leaves::MAX; LANES];
        for question in &self.questions {
            let keys = keys.lanes()[question.column as usize];
            let right: [Leaves; LANES] =
                std::array::from_fn(|lane| Leaves::from(keys[lane] > question.what).wrapping_neg());
            left = std::array::from_fn(|lane| left[lane] & !(right[lane] & question.left));
        }
        for question in &self.coded {
            let codes = keys.codes(question.column);
            let right: [u64; LANES] = std::array::from_fn(|lane| question.what.wrapping_shr(codes[lane] as u32) & 1);
            left = std::array::from_fn(|lane| left[lane] & !((right[lane] as Leaves).wrapping_neg() & question.left));
        }
        for question in &self.categorical {
            let (keys, set) = (&keys.lanes()[question.column as usize], &sets[question.what as usize]);
            for (left, key) in left.iter_mut().zip(keys) {
                *left &= !(if set.right(value_of(*key)) { question.left } else { 0 });
            }
        }
        for (sum, left) in sums.iter_mut().zip(left) {
            *sum += self.leaves[left.trailing_zeros() as usize % MOST];
        }
    }
}

/// For each node, in preorder, how many leaves stand before it.
fn leaves_before(tree: &Tree) -> Vec<usize> {
    let is_leaf = |node: &Node| usize::from(matches!(node, Node::Leaf(_)));
    tree.nodes.iter().scan(0, |count, node| Some(std::mem::replace(count, *count + is_leaf(node)))).collect()
}
