//! Rows on their way to a file, some lists at a time.

use super::Error;
use super::labels::Labels;
use crate::examples::Examples;

/// One side of the data.
pub(super) struct Parts<'a> {
    pub(super) examples: Examples<'a>,
    /// Lists of the other side that are numbered before these.
    pub(super) lists_before: usize,
    pub(super) labels: &'a Labels,
}

/// Some lists' rows.
pub(super) struct Part<'a> {
    /// Number of each row's list, from 1.
    pub(super) groups: &'a [i64],
    /// Relevance, as the file has it.
    pub(super) labels: &'a [f32],
    /// Values, row after row; NaN is missing.
    pub(super) values: &'a [f32],
    pub(super) width: usize,
    /// Number of the first row.
    pub(super) row: usize,
}

impl Part<'_> {
    /// Number of the list, relevance and values of each row.
    pub(super) fn rows(&self) -> impl Iterator<Item = (i64, f32, &[f32])> {
        let values = self.values.chunks_exact(self.width.max(1));
        self.groups.iter().zip(self.labels).zip(values).map(|((&group, &label), values)| (group, label, values))
    }

    /// The values of a column.
    pub(super) fn column(&self, column: usize) -> impl Iterator<Item = f32> {
        self.values.iter().skip(column).step_by(self.width.max(1)).copied()
    }
}

impl<'a> Parts<'a> {
    /// The same in parts that are `times` as large.
    pub(super) fn larger(&self, times: usize) -> Self {
        Self { examples: self.examples.in_larger_blocks(times), ..*self }
    }

    /// Shows all rows in their order.
    pub(super) fn each(&self, mut seen: impl FnMut(Part<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let Examples { lists, .. } = self.examples;
        let first = self.lists_before as i64 + 1;
        let mut groups = (first..).zip(lists.lengths).flat_map(|(group, &length)| (0..length).map(move |_| group));
        let (width, mut blocks) = (self.examples.width(), self.examples.blocks());
        while let Some(block) = blocks.advance().map_err(Error::Rows)? {
            let (row, height) = (block.row, block.values.len() / width.max(1));
            let groups: Vec<i64> = groups.by_ref().take(height).collect();
            let labels: Vec<f32> =
                lists.labels[row..row + height].iter().map(|&label| self.labels.written(label)).collect();
            seen(Part { groups: &groups, labels: &labels, values: block.values, width, row })?;
        }
        Ok(())
    }
}
