//! Rows of `f32` of one width, one after the other.

use crate::lanes::{LANES, Lanes, flat};

/// Rows of equal width; memory is the width rounded up to sixteen, times four bytes, for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    width: usize,
    blocks: usize,    // of a row
    rows: Vec<Lanes>, // numbers behind the width are zero
}

impl Vectors {
    /// No rows yet, of a width of at least one.
    pub fn new(width: usize) -> Self {
        let width = width.max(1);
        Self { width, blocks: width.div_ceil(LANES), rows: Vec::new() }
    }

    /// Rows of zeros.
    pub(crate) fn zeros(width: usize, rows: usize) -> Self {
        let mut vectors = Self::new(width);
        vectors.rows.resize(rows * vectors.blocks, Lanes::ZERO);
        vectors
    }

    /// Adds a row. One that is too short ends in zeros, of one that is too long the end is left out.
    pub fn push(&mut self, row: &[f32]) {
        let row = &row[..row.len().min(self.width)];
        for block in 0..self.blocks {
            let mut lanes = Lanes::ZERO;
            let part = &row[row.len().min(block * LANES)..row.len().min((block + 1) * LANES)];
            lanes.0[..part.len()].copy_from_slice(part);
            self.rows.push(lanes);
        }
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len() / self.blocks
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// One row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, row: usize) -> &[f32] {
        &flat(self.padded(row))[..self.width]
    }

    /// All rows, in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.rows.chunks_exact(self.blocks).map(|row| &flat(row)[..self.width])
    }

    /// One row as blocks.
    #[inline(always)]
    pub(crate) fn padded(&self, row: usize) -> &[Lanes] {
        &self.rows[row * self.blocks..][..self.blocks]
    }

    /// Blocks of a row.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }

    /// All blocks, to read.
    #[inline(always)]
    pub(crate) fn lanes(&self) -> &[Lanes] {
        &self.rows
    }

    /// All blocks, to change; numbers behind the width have to stay zero.
    pub(crate) fn lanes_mut(&mut self) -> &mut [Lanes] {
        &mut self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_as_they_were_added() {
        for width in [1, 15, 16, 17, 100] {
            let rows: Vec<Vec<f32>> =
                (0..3).map(|row| (0..width).map(|column| (row * width + column) as f32).collect()).collect();
            let mut vectors = Vectors::new(width);
            rows.iter().for_each(|row| vectors.push(row));
            assert_eq!(vectors.iter().collect::<Vec<_>>(), rows);
            assert_eq!((vectors.len(), vectors.width(), vectors.row(2)), (3, width, &rows[2][..]));
        }
    }

    #[test]
    fn a_row_of_another_length_is_filled_up_or_cut() {
        let mut vectors = Vectors::new(2);
        vectors.push(&[1.0]);
        vectors.push(&[1.0, 2.0, 3.0]);
        assert_eq!(vectors.iter().collect::<Vec<_>>(), [[1.0, 0.0], [1.0, 2.0]]);
    }
}
