//! Lists with their rows, as a booster reads them: in blocks, so that never all rows are in memory at once.

use crate::lists::Lists;
use crate::rows::Rows;
use std::io;

/// Values of a block, about: 4 MiB of them.
pub const BLOCK: usize = 1 << 20;

/// Lists of candidates with their rows, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Examples<'a> {
    /// What is known of each row but its values.
    pub lists: Lists<'a>,
    pub(crate) rows: &'a Rows,
    /// Where the rows of each list begin.
    pub(crate) starts: &'a [u64],
}

impl<'a> Examples<'a> {
    /// Columns of a row.
    pub fn width(&self) -> usize {
        self.rows.width()
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.lists.height()
    }

    /// The first so many lists, and the rest.
    pub fn split_at(&self, first: usize) -> (Self, Self) {
        let (lengths, other_lengths) = self.lists.lengths.split_at(first.min(self.lists.lengths.len()));
        let (starts, other_starts) = self.starts.split_at(lengths.len());
        let height = lengths.iter().map(|&length| length as usize).sum();
        let (labels, other_labels) = self.lists.labels.split_at(height);
        let part = |labels, lengths, starts| Self { lists: Lists { labels, lengths }, rows: self.rows, starts };
        (part(labels, lengths, starts), part(other_labels, other_lengths, other_starts))
    }

    /// All rows in their order, some lists at a time: about so many values, and one list at least.
    pub fn blocks(&self, values: usize) -> Blocks<'a> {
        Blocks { examples: *self, most: values, list: 0, row: 0, values: Vec::new() }
    }

    /// Shows the rows of these numbers, which rise, one at a time.
    pub(crate) fn pick(&self, numbers: &[i32], mut seen: impl FnMut(&[f32])) -> io::Result<()> {
        let (mut list, mut first, mut row) = (0, 0, Vec::with_capacity(self.width()));
        for &number in numbers {
            let number = number as usize;
            while number >= first + self.lists.lengths[list] as usize {
                first += self.lists.lengths[list] as usize;
                list += 1;
            }
            let place = self.starts[list] as usize + number - first;
            row.clear();
            self.rows.read(place..place + 1, &mut row)?;
            seen(&row);
        }
        Ok(())
    }

    /// All rows at once.
    pub fn values(&self) -> io::Result<Vec<f32>> {
        let mut blocks = self.blocks(usize::MAX);
        Ok(blocks.advance()?.map_or_else(Vec::new, |block| block.values.to_vec()))
    }
}

/// Reads rows block by block.
#[derive(Debug)]
pub struct Blocks<'a> {
    examples: Examples<'a>,
    most: usize,
    list: usize,
    row: usize,
    values: Vec<f32>,
}

/// Some lists' rows.
#[derive(Debug)]
pub struct Block<'a> {
    /// Number of the first row.
    pub row: usize,
    /// The values, row after row; `NaN` is missing.
    pub values: &'a mut [f32],
}

impl Blocks<'_> {
    /// The next block; `None` behind the last one.
    pub fn advance(&mut self) -> io::Result<Option<Block<'_>>> {
        let Examples { lists, rows, starts } = self.examples;
        self.values.clear();
        let row = self.row;
        while self.list < starts.len() && self.values.len() < self.most.max(1) {
            let start = starts[self.list] as usize;
            let mut end = start;
            // lists that were read one after the other are one reading
            while starts.get(self.list) == Some(&(end as u64))
                && self.values.len() + (end - start) * rows.width() < self.most.max(1)
            {
                end += lists.lengths[self.list] as usize;
                self.list += 1;
            }
            rows.read(start..end, &mut self.values)?;
            self.row += end - start;
        }
        Ok((self.row > row).then_some(Block { row, values: &mut self.values }))
    }

    /// Begins again.
    pub fn rewind(&mut self) {
        (self.list, self.row) = (0, 0);
    }
}
