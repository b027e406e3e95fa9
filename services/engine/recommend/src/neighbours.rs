//! The vectors nearest to another by direction: exactly, or from the parts of the space where they are likely to be.
//!
//! A scan of all vectors is exact, and takes a time that grows with their number. From some thousands on an
//! [`Approximate`] index divides them into lists around centroids, looks through the lists next to the query in a
//! coding of a byte for each number, and computes again what by the coding's errors may be among the best. How many lists it
//! looks through is decided when it is built, by how many of the true neighbours a sample of vectors finds. Where those are
//! too few in half of the lists, there is no index.

mod approximate;
mod best;
mod codes;
mod lists;
mod pool;

pub use approximate::Approximate;

use crate::lanes::{Kernel, Lanes, dispatch, dot, dots};
use crate::parallel;
use crate::vectors::Vectors;
use best::Best;
use std::num::NonZero;

/// Rows whose products are computed together.
const GROUP: usize = 4;

/// How to build an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Build {
    /// Most vectors that are searched exactly.
    pub exact: usize,
    /// The share of the ten nearest that the lists which a search looks through should have, from 0 to 1.
    pub recall: f32,
    /// The share of them that a search has to find in half of the lists; one without an index finds all.
    pub least: f32,
    /// Decides the sample and the first centroids.
    pub seed: u64,
    /// Threads; all processors where it says nothing.
    pub threads: Option<NonZero<usize>>,
}

impl Default for Build {
    fn default() -> Self {
        Self { exact: 10_000, recall: 0.96, least: 0.95, seed: 0, threads: None }
    }
}

/// Vectors of length one, or zero, and their index.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    vectors: Vectors,
    approximate: Option<Approximate>,
}

impl Neighbours {
    /// Brings vectors to length one, and builds their index. The same vectors and settings give the same index.
    pub fn build(mut vectors: Vectors, settings: &Build) -> Self {
        let blocks = vectors.blocks();
        vectors.lanes_mut().chunks_exact_mut(blocks).for_each(to_unit);
        let many = vectors.len() > settings.exact;
        let approximate = if many { Approximate::build(&vectors, settings) } else { None };
        Self { vectors, approximate }
    }

    /// Vectors as an earlier index held them, and the rest of that.
    pub(crate) fn assemble(vectors: Vectors, approximate: Option<Approximate>) -> Self {
        Self { vectors, approximate }
    }

    /// The vectors, of length one or zero.
    pub fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    /// What finds neighbours without looking at all vectors; `None` where all are looked at.
    pub fn approximate(&self) -> Option<&Approximate> {
        self.approximate.as_ref()
    }

    /// The share of the ten nearest that a search finds, from 0 to 1; measured by a sample when the index was built.
    pub fn recall(&self) -> f32 {
        self.approximate.as_ref().map_or(1.0, Approximate::recall)
    }

    /// Numbers of vectors and their cosine similarities to a query, best first: `count` of those that are not to be
    /// skipped, or as many as there are. Of equal similarities, the lower number comes first.
    pub fn search(&self, query: &[f32], count: usize, skip: impl Fn(usize) -> bool) -> Vec<(usize, f32)> {
        let Some(approximate) = &self.approximate else { return self.exact(query, count, skip) };
        approximate.search(&self.vectors, &self.unit(query), count, skip)
    }

    /// The same by a look at every vector.
    pub fn exact(&self, query: &[f32], count: usize, skip: impl Fn(usize) -> bool) -> Vec<(usize, f32)> {
        exact(&self.vectors, &self.unit(query), count, skip)
    }

    /// A query of length one, in blocks.
    fn unit(&self, query: &[f32]) -> Vec<Lanes> {
        let mut row = Vectors::new(self.vectors.width());
        row.push(query);
        to_unit(row.lanes_mut());
        row.lanes().to_vec()
    }
}

/// The nearest by a look at every vector.
fn exact(vectors: &Vectors, query: &[Lanes], count: usize, skip: impl Fn(usize) -> bool) -> Vec<(usize, f32)> {
    let mut best = Best::new(count.min(vectors.len()));
    dispatch(Scan { vectors, query, skip, best: &mut best });
    best.sorted()
}

/// The nearest of each of some vectors, themselves left out.
fn exact_of(vectors: &Vectors, of: &[usize], count: usize, threads: NonZero<usize>) -> Vec<Vec<(usize, f32)>> {
    parallel::map(threads, of.len(), 1, |query| {
        exact(vectors, vectors.padded(of[query]), count, |number| number == of[query])
    })
}

/// Compares a query with all vectors.
struct Scan<'a, S> {
    vectors: &'a Vectors,
    query: &'a [Lanes],
    skip: S,
    best: &'a mut Best,
}

impl<S: Fn(usize) -> bool> Kernel for Scan<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { vectors, query, skip, best } = self;
        let grouped = vectors.len() / GROUP * GROUP;
        for first in (0..grouped).step_by(GROUP) {
            let rows = [0, 1, 2, 3].map(|row| vectors.padded(first + row));
            for (row, product) in dots::<FMA, GROUP>(rows, query).into_iter().enumerate() {
                best.offer(first + row, product, &skip);
            }
        }
        for row in grouped..vectors.len() {
            best.offer(row, dot::<FMA>(vectors.padded(row), query), &skip);
        }
    }
}

/// Brings a row to length one; one of zeros, or without a finite length, becomes zeros.
pub(crate) fn to_unit(row: &mut [Lanes]) {
    let numbers = || row.iter().flat_map(|block| block.0);
    let length = numbers().map(|number| f64::from(number) * f64::from(number)).sum::<f64>().sqrt();
    let factor = if length > 0.0 && length.is_finite() { 1.0 / length } else { 0.0 };
    for number in row.iter_mut().flat_map(|block| &mut block.0) {
        *number = if factor > 0.0 { (f64::from(*number) * factor) as f32 } else { 0.0 };
    }
}

#[cfg(test)]
mod tests;
