//! Vectors in a byte for each number, which memory gives four times as fast.

use crate::lanes::{LANES, Lanes, flat};
use crate::vectors::Vectors;

/// The largest code.
const LARGEST: f32 = 127.0;
/// Parts of one in a query: products of it with codes have room in 32 bits for any width below a million.
const PARTS: f32 = 16_384.0;

/// Coded rows, in the order that they are looked through.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Codes {
    width: usize, // with zeros up to whole blocks
    codes: Vec<i8>,
    scales: Vec<f32>, // what one in a product with a query is worth, by row
}

impl Codes {
    /// Codes of some vectors, in this order.
    pub(super) fn of(vectors: &Vectors, order: &[u32]) -> Self {
        let width = vectors.blocks() * LANES;
        let mut coded =
            Self { width, codes: Vec::with_capacity(order.len() * width), scales: Vec::with_capacity(order.len()) };
        for &number in order {
            let row = flat(vectors.padded(number as usize));
            let largest = row.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
            let factor = if largest > 0.0 { LARGEST / largest } else { 0.0 };
            coded.codes.extend(row.iter().map(|number| (number * factor).round() as i8));
            coded.scales.push(largest / LARGEST / PARTS);
        }
        coded
    }

    /// A query of length one, as it is compared with codes.
    pub(super) fn query(query: &[Lanes]) -> Vec<i16> {
        flat(query).iter().map(|number| (number * PARTS).round() as i16).collect()
    }

    /// Shows the similarity of each row of a range to a query.
    #[inline(always)]
    pub(super) fn scan(&self, rows: std::ops::Range<usize>, query: &[i16], mut show: impl FnMut(usize, f32)) {
        let query = &query[..self.width];
        let codes = self.codes[rows.start * self.width..rows.end * self.width].chunks_exact(self.width);
        for ((row, codes), scale) in rows.clone().zip(codes).zip(&self.scales[rows]) {
            show(row, product(codes, query) as f32 * scale);
        }
    }
}

#[inline(always)]
fn product(codes: &[i8], query: &[i16]) -> i32 {
    let mut sum = 0;
    for (codes, query) in codes.as_chunks::<LANES>().0.iter().zip(query.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            sum += i32::from(codes[lane]) * i32::from(query[lane]);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_of_codes_are_nearly_those_of_vectors() {
        let mut vectors = Vectors::new(3);
        [[0.6, 0.8, 0.0], [0.0, -1.0, 0.0], [0.0; 3]].iter().for_each(|row| vectors.push(row));
        let query = Codes::query(vectors.padded(0));
        let mut found = vec![];
        Codes::of(&vectors, &[1, 0, 2]).scan(0..3, &query, |row, score| found.push((row, (score * 100.0).round())));
        assert_eq!(found, [(0, -80.0), (1, 100.0), (2, 0.0)]);
    }
}
