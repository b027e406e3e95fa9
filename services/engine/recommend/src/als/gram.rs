//! The product of all rows with themselves, which every system of one side shares.

use crate::lanes::{Kernel, LANES, Lanes, dispatch, flat};
use crate::parallel;
use crate::vectors::Vectors;
use std::num::NonZero;

/// Rows that are summed up by one thread in one go, at least.
const PART: usize = 4096;
/// Most sums that are kept until they are added up.
const PARTS: usize = 256;
/// Rows that stay in the first cache while all tiles go over them.
const NEAR: usize = 64;
/// Vectors that are multiplied at a time: as many sums as processors have registers for.
pub(super) const TALL: usize = 4;

/// `Y'Y + diagonal`, a symmetric matrix: for each block of sixteen columns all rows of that block.
pub(super) struct Gram {
    width: usize,
    blocks: usize,
    tiles: Vec<Lanes>,
}

impl Gram {
    /// Of the rows of a side; the diagonal is what regularization adds.
    pub(super) fn of(rows: &Vectors, diagonal: f32, threads: NonZero<usize>) -> Self {
        let (width, blocks) = (rows.width(), rows.blocks());
        let part = PART.max(rows.len().div_ceil(PARTS));
        let sums = parallel::map(threads, rows.len().div_ceil(part), 1, |number| {
            let lanes = &rows.lanes()[number * part * blocks..];
            dispatch(Product { rows: &lanes[..lanes.len().min(part * blocks)], width, blocks })
        });
        let mut tiles = vec![Lanes::ZERO; blocks * width];
        for sum in sums {
            for (total, part) in tiles.iter_mut().zip(sum) {
                (0..LANES).for_each(|lane| total.0[lane] += part.0[lane]);
            }
        }
        for row in 0..width {
            for column in 0..row {
                // only blocks from the diagonal on were computed
                tiles[(column / LANES) * width + row].0[column % LANES] =
                    tiles[(row / LANES) * width + column].0[row % LANES];
            }
            tiles[(row / LANES) * width + row].0[row % LANES] += diagonal;
        }
        Self { width, blocks, tiles }
    }

    /// Products of the matrix with `TALL` vectors, which follow each other.
    #[inline(always)]
    pub(super) fn multiply<const FMA: bool>(&self, vectors: &[Lanes], products: &mut [Lanes]) {
        let numbers = self.blocks * LANES;
        let vectors: [&[f32]; TALL] =
            std::array::from_fn(|vector| &flat(vectors)[vector * numbers..vector * numbers + self.width]);
        for block in 0..self.blocks {
            let tile = &self.tiles[block * self.width..][..self.width];
            let mut sums = [Lanes::ZERO; TALL];
            for (row, with) in tile.iter().enumerate() {
                for (sum, vector) in sums.iter_mut().zip(vectors) {
                    *sum = sum.add_product::<FMA>(Lanes::all(vector[row]), *with);
                }
            }
            for (vector, sum) in sums.into_iter().enumerate() {
                products[vector * self.blocks + block] = sum;
            }
        }
    }
}

/// The sum of the products of some rows with themselves, tiles from the diagonal on.
struct Product<'a> {
    rows: &'a [Lanes],
    width: usize,
    blocks: usize,
}

impl Kernel for Product<'_> {
    type Output = Vec<Lanes>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Vec<Lanes> {
        let mut tiles = vec![Lanes::ZERO; self.blocks * self.width];
        for near in self.rows.chunks(NEAR * self.blocks) {
            for block in 0..self.blocks {
                for first in (0..self.width.min((block + 1) * LANES)).step_by(TALL) {
                    let tile = &mut tiles[block * self.width + first..(block + 1) * self.width];
                    let mut sums = [Lanes::ZERO; TALL];
                    for row in near.chunks_exact(self.blocks) {
                        let (factors, with) = (&row[first / LANES], &row[block]);
                        for (offset, sum) in sums.iter_mut().enumerate() {
                            let factor = factors.0[first % LANES + offset];
                            *sum = sum.add_product::<FMA>(Lanes::all(factor), *with);
                        }
                    }
                    for (total, sum) in tile.iter_mut().zip(sums) {
                        *total = total.add_product::<FMA>(sum, Lanes::all(1.0));
                    }
                }
            }
        }
        tiles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gram_matrix_is_the_sum_of_products_and_its_diagonal() {
        for width in [1, 3, 16, 21, 40] {
            let mut rows = Vectors::new(width);
            for row in 0..5000_usize {
                rows.push(&(0..width).map(|column| ((row * 7 + column * 5) % 3) as f32).collect::<Vec<_>>());
            }
            let gram = Gram::of(&rows, 0.5, NonZero::new(3).expect("is not zero"));
            for (a, b) in (0..width).flat_map(|a| (0..width).map(move |b| (a, b))) {
                let exact: f32 = rows.iter().map(|row| row[a] * row[b]).sum();
                let found = gram.tiles[(b / LANES) * width + a].0[b % LANES];
                assert_eq!(found, exact + if a == b { 0.5 } else { 0.0 }, "{width}: {a}, {b}");
            }
        }
    }
}
