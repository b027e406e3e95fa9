//! One tree as a reader found it, proven to be usable: every child exists, and following them comes to an end, after no
//! more nodes than the model brought along.

use super::key::View;

/// Longest way from a root to a leaf. Far beyond what training makes, and each level costs a row a step.
const MAX_DEPTH: u32 = 4096;
/// Columns a model may read; the evaluator's scratch space grows with the highest one.
const MAX_COLUMNS: u32 = 1 << 16;

/// A tree in preorder: the left child of a split is the next node.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// Splits on the longest way to a leaf.
    pub(crate) depth: u32,
    /// How much training data reached each node; empty where the model does not say so for every node.
    pub(crate) covers: Vec<f64>,
}

/// A node of a [`Tree`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Node {
    Leaf(f64),
    Split { column: u32, test: Test, right: u32 },
}

/// What a split asks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    /// Right where the key of this view is over the threshold.
    Key { threshold: i32, view: View },
    /// Right as the category set of this number says.
    Category(u32),
}

/// A node as it stands in the model, its children by the model's own numbers.
pub(crate) enum Raw {
    Leaf(f64),
    Split { column: i64, test: Test, left: i64, right: i64 },
}

impl Tree {
    /// Follows the children from `root` on; `node` looks up a number, and `cover` how much data reached it. A tree of
    /// `count` nodes at most, on `features` columns. Errors are reasons, to which the reader adds the place.
    pub(crate) fn grow(
        root: i64,
        count: usize,
        features: i64,
        mut node: impl FnMut(i64) -> Result<Raw, String>,
        cover: impl Fn(i64) -> Option<f64>,
    ) -> Result<Self, String> {
        let mut tree = Self { nodes: Vec::new(), depth: 0, covers: Vec::new() };
        let mut open = vec![Open { number: root, depth: 0, right_of: None }];
        while let Some(Open { number, depth, right_of }) = open.pop() {
            let (raw, at) = (node(number)?, tree.nodes.len());
            if at == count {
                return Err("its nodes go round in a circle, or one has two parents".to_owned());
            }
            if let Some(Node::Split { right, .. }) = right_of.and_then(|parent: usize| tree.nodes.get_mut(parent)) {
                *right = at as u32;
            }
            tree.depth = tree.depth.max(depth);
            if let Raw::Split { left, right, .. } = raw {
                if depth == MAX_DEPTH {
                    return Err(format!("node {number} is more than {MAX_DEPTH} levels deep"));
                }
                open.push(Open { number: right, depth: depth + 1, right_of: Some(at) });
                open.push(Open { number: left, depth: depth + 1, right_of: None });
            }
            tree.nodes.push(raw.checked(number, features)?);
            let cover = cover(number).filter(|cover| cover.is_finite() && *cover >= 0.0);
            tree.covers.extend(cover);
        }
        if tree.covers.len() != tree.nodes.len() {
            tree.covers = Vec::new();
        }
        Ok(tree)
    }

    /// Number of leaves.
    pub(crate) fn leaves(&self) -> usize {
        self.nodes.len().div_ceil(2)
    }
}

/// A node that has been named and not yet been looked up.
struct Open {
    number: i64,
    depth: u32,
    right_of: Option<usize>,
}

impl Raw {
    fn checked(self, number: i64, features: i64) -> Result<Node, String> {
        match self {
            Self::Leaf(value) if value.is_finite() => Ok(Node::Leaf(value)),
            Self::Leaf(value) => Err(format!("leaf {number} has the value {value}")),
            Self::Split { column, test, .. } if (0..features.min(i64::from(MAX_COLUMNS))).contains(&column) => {
                Ok(Node::Split { column: column as u32, test, right: 0 })
            }
            Self::Split { column, .. } => Err(format!(
                "node {number} splits column {column}, but there are {features} (and {MAX_COLUMNS} at most)"
            )),
        }
    }
}

/// Looks up one of several lists of a tree that must be equally long.
pub(crate) fn entry<T: Copy>(list: &[T], number: i64) -> Result<T, String> {
    let found = usize::try_from(number).ok().and_then(|index| list.get(index));
    found.copied().ok_or_else(|| format!("node {number} does not exist"))
}
