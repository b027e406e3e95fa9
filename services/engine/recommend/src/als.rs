//! Matrix factorization for implicit feedback by alternating least squares.
//!
//! The model is that of Hu, Koren and Volinsky, "Collaborative Filtering for Implicit Feedback Datasets" (2008): a visitor
//! has a preference of one for each item they interacted with, held with a confidence of `1 + alpha * count`, and of zero,
//! with a confidence of one, for all others. Visitors' and items' vectors are those whose dot products come nearest to
//! that. With one side fixed, each row of the other solves a system of linear equations; three steps of conjugate
//! gradients from the row of the previous iteration do (Takács, Pilászy and Tikk, "Applications of the Conjugate Gradient
//! Method for Implicit Feedback Collaborative Filtering", 2011).
//!
//! A row depends on the other side alone, and sums are taken in an order that the number of rows decides, so that the
//! result is the same with any number of threads.

mod gram;
mod solve;

use crate::matrix::{Matrix, Sparse};
use crate::parallel::{each_part, threads};
use crate::vectors::Vectors;
use gram::Gram;
use solve::{Scratch, Solve};
use std::num::NonZero;
use std::ops::ControlFlow;
use std::time::Instant;

/// Rows of a part that a thread takes at a time.
const PART: usize = 64;

/// How to factorize.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Numbers in a vector; at least one.
    pub factors: usize,
    /// How often both sides are solved.
    pub iterations: usize,
    /// Weight of the squared length of visitors' vectors.
    pub user_regularization: f32,
    /// Weight of the squared length of items' vectors.
    pub item_regularization: f32,
    /// Confidence that an interaction adds to that of one that every pair has. On clicks of real visitors, hits were most
    /// from 4 to 20; values near zero weigh an interaction hardly more than none.
    pub alpha: f32,
    /// Decides the vectors to begin with.
    pub seed: u64,
    /// Threads; all processors where it says nothing.
    pub threads: Option<NonZero<usize>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            factors: 100,
            iterations: 100,
            user_regularization: 0.01,
            item_regularization: 0.01,
            alpha: 10.0,
            seed: 0,
            threads: None,
        }
    }
}

/// An iteration that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Its number, from one.
    pub iteration: usize,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// The factorization was stopped by its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the factorization was cancelled")]
pub struct Cancelled;

/// Vectors of both sides, in the order of the matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// A row for each visitor.
    pub users: Vectors,
    /// A row for each item.
    pub items: Vectors,
}

/// Factorizes a matrix, and reports each iteration to `progress`, which may break it off.
///
/// # Errors
/// When `progress` breaks it off.
pub fn fit(
    matrix: &Matrix,
    settings: &Settings,
    mut progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Factors, Cancelled> {
    let mut random = fastrand::Rng::with_seed(settings.seed);
    let mut users = begin(matrix.users.len(), settings.factors, &mut random);
    let mut items = begin(matrix.items.len(), settings.factors, &mut random);
    for iteration in 1..=settings.iterations {
        let start = Instant::now();
        solve_side(&matrix.by_user, &mut users, &items, settings.user_regularization, settings);
        solve_side(&matrix.by_item, &mut items, &users, settings.item_regularization, settings);
        if progress(Progress { iteration, seconds: start.elapsed().as_secs_f64() }).is_break() {
            return Err(Cancelled);
        }
    }
    Ok(Factors { users, items })
}

/// Small positive numbers.
fn begin(rows: usize, factors: usize, random: &mut fastrand::Rng) -> Vectors {
    let mut vectors = Vectors::new(factors);
    let mut row = vec![0.0; vectors.width()];
    for _ in 0..rows {
        row.fill_with(|| random.f32() * 0.01);
        vectors.push(&row);
    }
    vectors
}

/// Brings the rows of one side nearer to their best, the other side as it stands.
fn solve_side(counts: &Sparse, rows: &mut Vectors, other: &Vectors, regularization: f32, settings: &Settings) {
    let threads = threads(settings.threads);
    let gram = Gram::of(other, regularization, threads);
    let blocks = rows.blocks();
    each_part(
        threads,
        rows.lanes_mut(),
        PART * blocks,
        || Scratch::new(blocks),
        |scratch, first, rows| {
            let first = first / blocks;
            crate::lanes::dispatch(Solve { counts, first, rows, other, gram: &gram, alpha: settings.alpha, scratch });
        },
    );
}

#[cfg(test)]
mod tests;
