//! Lists with their rows, as a booster reads them: in blocks, so that never all rows are in memory at once.

use crate::lists::Lists;
use crate::rows::Rows;
use std::io;

/// Values of a block, about: 4 MiB of them.
const BLOCK: usize = 1 << 20;

/// Lists of candidates with their rows, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Examples<'a> {
    /// What is known of each row but its values.
    pub lists: Lists<'a>,
    rows: &'a Rows,
    starts: &'a [u64],
    block: usize,
}

impl<'a> Examples<'a> {
    /// Lists whose rows begin at these places, one place a list.
    pub(crate) fn new(lists: Lists<'a>, rows: &'a Rows, starts: &'a [u64]) -> Self {
        Self { lists, rows, starts, block: BLOCK }
    }

    /// The same in blocks of another size; whatever is computed from them is the same.
    pub fn in_blocks_of(self, values: usize) -> Self {
        Self { block: values, ..self }
    }

    /// Columns of a row.
    pub fn width(&self) -> usize {
        self.rows.width()
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.lists.height()
    }

    /// The same in blocks that are `times` as large.
    pub(crate) fn in_larger_blocks(self, times: usize) -> Self {
        Self { block: self.block.saturating_mul(times), ..self }
    }

    /// The first `first` lists, and the rest.
    pub fn split_at(&self, first: usize) -> (Self, Self) {
        let (lengths, other_lengths) = self.lists.lengths.split_at(first.min(self.lists.lengths.len()));
        let (starts, other_starts) = self.starts.split_at(lengths.len());
        let height = lengths.iter().map(|&length| length as usize).sum();
        let (labels, other_labels) = self.lists.labels.split_at(height);
        let part = |labels, lengths, starts| Self { lists: Lists { labels, lengths }, starts, ..*self };
        (part(labels, lengths, starts), part(other_labels, other_lengths, other_starts))
    }

    /// All rows in their order, some lists at a time, and one list at least.
    pub fn blocks(&self) -> Blocks<'a> {
        Blocks { examples: *self, list: 0, row: 0, values: Vec::new() }
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
        let mut blocks = self.in_blocks_of(usize::MAX).blocks();
        Ok(blocks.advance()?.map_or_else(Vec::new, |block| block.values.to_vec()))
    }
}

/// Reads rows block by block.
#[derive(Debug)]
pub struct Blocks<'a> {
    examples: Examples<'a>,
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
        let Examples { lists, rows, starts, block } = self.examples;
        let (row, most) = (self.row, block.max(1));
        self.values.clear();
        while self.list < starts.len() && self.values.len() < most {
            let (start, room) = (starts[self.list], most - self.values.len());
            let mut end = start;
            // lists whose rows lie one behind the other are one reading
            while starts.get(self.list) == Some(&end) && ((end - start) as usize) * rows.width() < room {
                end += u64::from(lists.lengths[self.list]);
                self.list += 1;
            }
            rows.read(start as usize..end as usize, &mut self.values)?;
            self.row += (end - start) as usize;
        }
        Ok((self.row > row).then_some(Block { row, values: &mut self.values }))
    }

    /// Begins again.
    pub fn rewind(&mut self) {
        (self.list, self.row) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_lists;

    fn read(examples: Examples<'_>) -> Vec<(usize, Vec<f32>)> {
        let mut blocks = examples.blocks();
        let mut read = Vec::new();
        while let Some(block) = blocks.advance().expect("rows in memory") {
            read.push((block.row, block.values.to_vec()));
        }
        read
    }

    fn bits(values: impl IntoIterator<Item = f32>) -> Vec<u32> {
        values.into_iter().map(f32::to_bits).collect()
    }

    #[test]
    fn blocks_of_any_size_hold_the_same_rows_in_the_order_of_the_lists() {
        let data = random_lists(31, 40).arranged(&[3, 4, 5, 20, 0, 39, 38, 1, 2]);
        let all = bits(data.examples().values().expect("rows in memory"));
        assert_eq!(all.len(), 6 * data.lists().height());
        for size in [0, 1, 7, 100, 1000, usize::MAX] {
            let blocks = read(data.examples().in_blocks_of(size));
            let rows = blocks.iter().scan(0, |row, (_, values)| Some(std::mem::replace(row, *row + values.len() / 6)));
            assert!(blocks.iter().map(|(row, _)| *row).eq(rows), "blocks of {size} follow each other");
            assert_eq!(bits(blocks.into_iter().flat_map(|(_, values)| values)), all, "blocks of {size}");
        }
    }

    #[test]
    fn a_block_of_the_smallest_size_is_a_list() {
        let data = random_lists(32, 5);
        let blocks = read(data.examples().in_blocks_of(1));
        let lengths: Vec<u32> = blocks.iter().map(|(_, values)| values.len() as u32 / 6).collect();
        assert_eq!(lengths, data.lists().lengths);
    }

    #[test]
    fn blocks_can_be_read_again() {
        let data = random_lists(33, 9);
        let mut blocks = data.examples().in_blocks_of(50).blocks();
        let first = bits(blocks.advance().expect("rows").expect("a block").values.iter().copied());
        while blocks.advance().expect("rows").is_some() {}
        blocks.rewind();
        assert_eq!(bits(blocks.advance().expect("rows").expect("a block").values.iter().copied()), first);
    }

    #[test]
    fn no_lists_have_no_blocks() {
        let data = random_lists(34, 3);
        let (none, all) = data.split_at(0);
        assert!(read(none).is_empty() && none.values().expect("no rows").is_empty());
        assert_eq!(all.height(), data.lists().height());
    }

    #[test]
    fn rows_are_picked_by_their_number_in_the_order_of_the_lists() {
        let data = random_lists(35, 30).arranged(&[7, 29, 0, 1]);
        let all = data.examples().values().expect("rows");
        let numbers: Vec<i32> = (0..data.lists().height() as i32).filter(|number| number % 3 == 1).collect();
        let mut picked = Vec::new();
        data.examples().pick(&numbers, |row| picked.extend_from_slice(row)).expect("rows");
        let expected = numbers.iter().flat_map(|&number| all[number as usize * 6..][..6].to_vec());
        assert_eq!(bits(picked), bits(expected));
    }
}
