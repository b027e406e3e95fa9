//! How much each column brings to a score: exact path-dependent TreeSHAP (Lundberg et al. 2020, Algorithm 2).
//!
//! A leaf is a game of the columns on its path. Each of them multiplies the leaf's value by 1 or 0 where the column is
//! known (the row takes the path's way, or not), and by the share of training data that went this way where it is not.
//! The Shapley value of such a product is an integral over `t` from 0 to 1, of the product in which each column is known
//! with probability `t`. It is a polynomial, which a Gauss-Legendre rule of half as many points as columns integrates
//! exactly (`quadrature`). So one walk down a tree multiplies the factors at each point, and one walk up adds the leaves
//! and gives each split its share (`walk`). Rows cost the number of nodes, where Algorithm 2 takes that times the depth
//! squared.

mod quadrature;
mod walk;

use super::forest::{Forest, Leaf};
use super::key::LANES;
use super::tree::{Node, Tree};
use quadrature::Rule;
use walk::{Scratch, Walk};

/// Rows whose keys are kept at once; what is prepared for a tree serves all of them.
const BLOCKS: usize = 16;

/// What each column brings to the scores of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Contributions {
    /// What a row scores of which nothing is known: the average by training data. The contributions of a row and this are
    /// its score, up to the rounding of single precision where XGBoost adds its trees.
    pub bias: f64,
    /// By row, then by column.
    pub values: Vec<f64>,
}

/// Why no contributions can be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoContributions {
    /// Shares of training data are not in the model.
    #[error(
        "tree {0} of the model does not say how much training data reached each of its nodes (sum_hessian of XGBoost, \
         internal_count and leaf_count of LightGBM), which contributions are computed from: train the model again"
    )]
    NoCovers(usize),
    /// A column that rows do not have is missing in all of them, and would bring something all the same.
    #[error("the model reads column {column} of rows that have {width}")]
    Columns {
        /// The highest one that is read.
        column: usize,
        /// Columns of a row.
        width: usize,
    },
}

/// Contributions of whole rows.
pub(super) fn of<L: Leaf>(
    trees: &[Tree],
    forest: &Forest<L>,
    rows: &[f32],
    width: usize,
) -> Result<Contributions, NoContributions> {
    if let Some(tree) = trees.iter().position(|tree| !tree.has_covers()) {
        return Err(NoContributions::NoCovers(tree));
    }
    if forest.splits() && forest.columns() > width {
        return Err(NoContributions::Columns { column: forest.columns() - 1, width });
    }
    let mut values = vec![0.0; rows.len()];
    let mut keys: Vec<_> = (0..BLOCKS).map(|_| forest.keys()).collect();
    let (mut rule, mut scratch) = (Rule::default(), Scratch::default());
    let block = LANES * width.max(1);
    for (rows, values) in rows.chunks(BLOCKS * block).zip(values.chunks_mut(BLOCKS * block)) {
        rows.chunks(block).zip(&mut keys).for_each(|(rows, keys)| keys.fill(rows, width));
        for tree in trees.iter().filter(|tree| tree.nodes.len() > 1) {
            let mut walk = Walk::new(tree);
            rule.integrate(walk.most_columns());
            for points in rule.points() {
                walk.prepare(points);
                for (keys, values) in keys.iter().zip(values.chunks_mut(block)) {
                    walk.add(keys, forest.sets(), width, values, &mut scratch);
                }
            }
        }
    }
    let bias = forest.base().into() + trees.iter().map(Tree::mean).sum::<f64>();
    Ok(Contributions { bias, values })
}

impl Tree {
    /// Whether each split knows how its data was parted.
    fn has_covers(&self) -> bool {
        let mut nodes = self.nodes.iter().zip(&self.covers);
        self.nodes.len() == 1
            || self.covers.len() == self.nodes.len()
                && nodes.all(|(node, &cover)| cover > 0.0 || matches!(node, Node::Leaf(_)))
    }

    /// The average leaf by training data.
    fn mean(&self) -> f64 {
        let mut reach = vec![1.0; self.nodes.len()];
        let mut mean = 0.0;
        for (place, node) in self.nodes.iter().enumerate() {
            match *node {
                Node::Leaf(value) => mean += reach[place] * value,
                Node::Split { right, .. } => {
                    for child in [place + 1, right as usize] {
                        reach[child] = reach[place] * self.covers[child] / self.covers[place];
                    }
                }
            }
        }
        mean
    }
}

#[cfg(test)]
mod tests;
