//! How large and how deep a tree is, so that both can be bounded.

use super::{Data, Node};

const NODE_COST: usize = 64;

/// What a node costs without its children.
pub(super) fn own_cost(node: &Node) -> usize {
    match &node.data {
        Data::Scalar { text, .. } => NODE_COST + text.len(),
        Data::List(_) => NODE_COST,
        Data::Map(entries) => NODE_COST + entries.iter().map(|entry| NODE_COST + entry.key.len()).sum::<usize>(),
    }
}

/// What a node costs with all it holds.
pub(super) fn cost(node: &Node) -> usize {
    own_cost(node) + children(node).map(cost).sum::<usize>()
}

/// How many levels a node has; a scalar has none.
pub(super) fn depth(node: &Node) -> usize {
    match &node.data {
        Data::Scalar { .. } => 0,
        _ => 1 + children(node).map(depth).max().unwrap_or(0),
    }
}

fn children(node: &Node) -> Box<dyn Iterator<Item = &Node> + '_> {
    match &node.data {
        Data::Scalar { .. } => Box::new(std::iter::empty()),
        Data::List(items) => Box::new(items.iter()),
        Data::Map(entries) => Box::new(entries.iter().map(|entry| &entry.node)),
    }
}
