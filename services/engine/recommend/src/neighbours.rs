//! The rows of a set of vectors whose dot product with another one is highest.

use crate::lanes::{Kernel, dispatch, dot};
use crate::vectors::Vectors;
use std::collections::HashSet;

/// Finds neighbours by looking at all rows.
pub(crate) struct Neighbours {
    vectors: Vectors,
}

impl Neighbours {
    pub(crate) fn new(vectors: Vectors) -> Self {
        Self { vectors }
    }

    pub(crate) fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    /// The `count` rows nearest to one, but for those left out, with their products, best first; equal ones in their order.
    pub(crate) fn nearest(&self, to: &[f32], count: usize, without: &HashSet<u32>) -> Vec<(u32, f32)> {
        let mut query = Vectors::new(self.vectors.width());
        query.push(to);
        let scores = dispatch(Scores { rows: &self.vectors, query: &query });
        let scored = scores.into_iter().enumerate().map(|(row, score)| (row as u32, score));
        let mut all: Vec<(u32, f32)> = scored.filter(|(row, _)| !without.contains(row)).collect();
        let order = |one: &(u32, f32), other: &(u32, f32)| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0));
        if count < all.len() {
            all.select_nth_unstable_by(count, order);
            all.truncate(count);
        }
        all.sort_unstable_by(order);
        all
    }
}

struct Scores<'a> {
    rows: &'a Vectors,
    query: &'a Vectors,
}

impl Kernel for Scores<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Vec<f32> {
        let query = self.query.padded(0);
        (0..self.rows.len()).map(|row| dot::<FMA>(self.rows.padded(row), query)).collect()
    }
}
