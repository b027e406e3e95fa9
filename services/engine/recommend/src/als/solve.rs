//! Conjugate gradients for rows of one side, four at a time.
//!
//! The system of a row is `(Y'Y + regularization + sum of w y y') x = sum of (1 + w) y` over the items `y` of the row, with
//! `w = alpha * count`. The first part is shared: it is multiplied with four rows at once. The sum is never formed: a
//! product with it takes a dot product and an addition for each item.

use super::gram::{Gram, TALL};
use crate::lanes::{Kernel, Lanes, add_scaled, dot, dots, prefetch};
use crate::matrix::Sparse;
use crate::vectors::Vectors;

/// Steps for a row: the row begins near its solution, so that more of them change little.
const STEPS: usize = 3;
/// Squared length of a remainder that is nothing.
const NOTHING: f32 = 1e-20;
/// Items whose products are computed together.
const GROUP: usize = 4;
/// How many items ahead vectors are asked for, which memory takes long to give.
const AHEAD: usize = 64;

/// Rows of a part, to be brought nearer to their solutions.
pub(super) struct Solve<'a> {
    pub(super) counts: &'a Sparse,
    /// Number of the first of the rows.
    pub(super) first: usize,
    pub(super) rows: &'a mut [Lanes],
    pub(super) other: &'a Vectors,
    pub(super) gram: &'a Gram,
    pub(super) alpha: f32,
    pub(super) scratch: &'a mut Scratch,
}

/// Vectors of `TALL` rows.
pub(super) struct Scratch {
    solutions: Vec<Lanes>,
    remainders: Vec<Lanes>,
    directions: Vec<Lanes>,
    products: Vec<Lanes>,
}

impl Scratch {
    pub(super) fn new(blocks: usize) -> Self {
        let vectors = || vec![Lanes::ZERO; TALL * blocks];
        Self { solutions: vectors(), remainders: vectors(), directions: vectors(), products: vectors() }
    }
}

impl Kernel for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let blocks = self.other.blocks();
        let part = Part { counts: self.counts, other: self.other, gram: self.gram, alpha: self.alpha, blocks };
        for (group, rows) in self.rows.chunks_mut(TALL * blocks).enumerate() {
            part.group::<FMA>(self.first + group * TALL, rows, self.scratch);
        }
    }
}

/// What stays the same for all rows of a part.
struct Part<'a> {
    counts: &'a Sparse,
    other: &'a Vectors,
    gram: &'a Gram,
    alpha: f32,
    blocks: usize,
}

impl Part<'_> {
    /// Brings at most `TALL` rows nearer to their solutions.
    #[inline(always)]
    fn group<const FMA: bool>(&self, first: usize, rows: &mut [Lanes], scratch: &mut Scratch) {
        let (blocks, count) = (self.blocks, rows.len() / self.blocks);
        let Scratch { solutions, remainders, directions, products } = scratch;
        solutions.fill(Lanes::ZERO);
        solutions[..rows.len()].copy_from_slice(rows);
        self.gram.multiply::<FMA>(solutions, products);
        let mut lengths = [0.0; TALL]; // squared, of remainders
        directions.fill(Lanes::ZERO);
        for (row, squared) in lengths[..count].iter_mut().enumerate() {
            let range = row * blocks..(row + 1) * blocks;
            let remainder = &mut remainders[range.clone()];
            remainder.fill(Lanes::ZERO);
            add_scaled::<FMA, 1>([&products[range.clone()]], [-1.0], remainder);
            self.add_items::<FMA, true>(first + row, &solutions[range.clone()], remainder);
            directions[range].copy_from_slice(remainder);
            *squared = dot::<FMA>(remainder, remainder);
        }
        for _ in 0..STEPS {
            self.gram.multiply::<FMA>(directions, products);
            for (row, squared) in lengths[..count].iter_mut().enumerate() {
                if *squared < NOTHING {
                    continue;
                }
                let range = row * blocks..(row + 1) * blocks;
                let (direction, product) = (&mut directions[range.clone()], &mut products[range.clone()]);
                self.add_items::<FMA, false>(first + row, direction, product);
                let curve = dot::<FMA>(direction, product); // zero where nothing is regularized and nothing known
                let step = if curve > 0.0 { *squared / curve } else { 0.0 };
                let remainder = &mut remainders[range.clone()];
                add_scaled::<FMA, 1>([direction], [step], &mut solutions[range]);
                add_scaled::<FMA, 1>([product], [-step], remainder);
                let length = dot::<FMA>(remainder, remainder);
                turn::<FMA>(direction, remainder, length / *squared);
                *squared = length;
            }
        }
        rows.copy_from_slice(&solutions[..rows.len()]);
    }

    /// Adds, over the items `y` of a row, `w (y . x) y` to a sum, or, for the first remainder, `(1 + w - w (y . x)) y`.
    #[inline(always)]
    fn add_items<const FMA: bool, const FIRST: bool>(&self, row: usize, x: &[Lanes], sum: &mut [Lanes]) {
        let (columns, counts) = self.counts.row(row);
        let (groups, rest) = columns.as_chunks::<GROUP>();
        let (group_counts, rest_counts) = counts.as_chunks::<GROUP>();
        for (group, (columns, counts)) in groups.iter().zip(group_counts).enumerate() {
            if FIRST {
                self.ask_for(row, group * GROUP, GROUP);
            }
            let items = columns.map(|column| self.other.padded(column as usize));
            let mut factors = dots::<FMA, GROUP>(items, x);
            for (factor, count) in factors.iter_mut().zip(counts) {
                *factor = weighted::<FIRST>(self.alpha * count, *factor);
            }
            add_scaled::<FMA, GROUP>(items, factors, sum);
        }
        if FIRST {
            self.ask_for(row, groups.len() * GROUP, rest.len());
        }
        for (column, count) in rest.iter().zip(rest_counts) {
            let item = self.other.padded(*column as usize);
            let factor = weighted::<FIRST>(self.alpha * count, dot::<FMA>(item, x));
            add_scaled::<FMA, 1>([item], [factor], sum);
        }
    }

    /// Asks for the vectors that are needed a while after some items of a row.
    #[inline(always)]
    fn ask_for(&self, row: usize, item: usize, count: usize) {
        for &column in self.counts.coming(row, item + AHEAD, count) {
            prefetch(self.other.padded(column as usize));
        }
    }
}

/// What an item's vector is multiplied with.
#[inline(always)]
fn weighted<const FIRST: bool>(weight: f32, product: f32) -> f32 {
    if FIRST { 1.0 + weight - weight * product } else { weight * product }
}

/// The next direction: the remainder, and the previous direction times a factor.
#[inline(always)]
fn turn<const FMA: bool>(direction: &mut [Lanes], remainder: &[Lanes], factor: f32) {
    for (direction, remainder) in direction.iter_mut().zip(remainder) {
        *direction = remainder.add_product::<FMA>(*direction, Lanes::all(factor));
    }
}
