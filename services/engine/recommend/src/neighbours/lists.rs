//! Vectors divided into lists: spherical k-means.

use crate::lanes::{Kernel, dispatch, dot, dots};
use crate::neighbours::{GROUP, to_unit};
use crate::parallel;
use crate::vectors::Vectors;
use std::num::NonZero;

/// How often centroids are moved.
const ROUNDS: usize = 10;
/// Vectors that centroids are found with, for each list.
const SAMPLE: usize = 64;
/// Vectors whose list a thread finds at a time.
const PART: usize = 256;

/// Finds centroids of length one.
pub(super) fn centroids(
    vectors: &Vectors,
    lists: usize,
    random: &mut fastrand::Rng,
    threads: NonZero<usize>,
) -> Vectors {
    let sample = random.choose_multiple(0..vectors.len(), lists * SAMPLE); // in no order
    let mut rows = Vectors::new(vectors.width());
    sample.iter().for_each(|&row| rows.push(vectors.row(row)));
    let mut centroids = Vectors::new(vectors.width());
    sample.iter().take(lists).for_each(|&row| centroids.push(vectors.row(row)));
    for _ in 0..ROUNDS {
        let of = nearest(&rows, &centroids, threads);
        centroids = means(&rows, &of, centroids);
    }
    centroids
}

/// The centroid nearest to each vector; of equally near ones, the first.
pub(super) fn nearest(vectors: &Vectors, centroids: &Vectors, threads: NonZero<usize>) -> Vec<u32> {
    let mut lists = vec![0; vectors.len()];
    parallel::each_part(
        threads,
        &mut lists,
        PART,
        || (),
        |(), first, lists| {
            dispatch(Assign { vectors, centroids, first, lists });
        },
    );
    lists
}

/// The directions of the sums of each list's vectors; an empty list keeps its centroid.
fn means(vectors: &Vectors, of: &[u32], former: Vectors) -> Vectors {
    let mut sums = Vectors::zeros(former.width(), former.len());
    let blocks = sums.blocks();
    for (row, &list) in of.iter().enumerate() {
        let sum = &mut sums.lanes_mut()[list as usize * blocks..][..blocks];
        for (sum, block) in sum.iter_mut().zip(vectors.padded(row)) {
            sum.0.iter_mut().zip(block.0).for_each(|(sum, number)| *sum += number);
        }
    }
    for (list, sum) in sums.lanes_mut().chunks_exact_mut(blocks).enumerate() {
        to_unit(sum);
        if sum.iter().all(|block| block.0.iter().all(|&number| number == 0.0)) {
            sum.copy_from_slice(former.padded(list));
        }
    }
    sums
}

/// Finds the lists of some vectors.
struct Assign<'a> {
    vectors: &'a Vectors,
    centroids: &'a Vectors,
    first: usize,
    lists: &'a mut [u32],
}

impl Kernel for Assign<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let centroids = self.centroids;
        let grouped = centroids.len() / GROUP * GROUP;
        for (offset, nearest) in self.lists.iter_mut().enumerate() {
            let row = self.vectors.padded(self.first + offset);
            let mut best = (0, f32::NEG_INFINITY);
            for first in (0..grouped).step_by(GROUP) {
                let near = [0, 1, 2, 3].map(|next| centroids.padded(first + next));
                for (next, product) in dots::<FMA, GROUP>(near, row).into_iter().enumerate() {
                    best = if product > best.1 { (first + next, product) } else { best };
                }
            }
            for list in grouped..centroids.len() {
                let product = dot::<FMA>(centroids.padded(list), row);
                best = if product > best.1 { (list, product) } else { best };
            }
            *nearest = best.0 as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_one_direction_come_into_one_list() {
        let mut vectors = Vectors::new(2);
        for _ in 0..20 {
            vectors.push(&[1.0, 0.0]);
            vectors.push(&[0.0, -1.0]);
        }
        let threads = NonZero::<usize>::MIN;
        let found = centroids(&vectors, 8, &mut fastrand::Rng::with_seed(1), threads);
        let lists = nearest(&vectors, &found, threads);
        assert_eq!((lists[0] == lists[1], found.row(lists[1] as usize)), (false, &[0.0, -1.0][..]));
        assert!(lists.chunks(2).all(|pair| pair == &lists[..2]));
    }
}
