//! The records of a block: first everything but the rows, then the rows of all records, column by column.
//!
//! A column holds much the same values from item to item and from record to record, so it packs best by itself.
//! Uncompressed: length of the first part (`u32`), the records as `stored` in postcard, then per column the values
//! (`f32`) of all rows; all numbers little-endian.

use super::LIMIT;
use super::stored::Stored;
use crate::{Clickthrough, Error, Result};

/// Collects the records of one block.
#[derive(Default)]
pub(crate) struct Builder {
    records: Vec<u8>,
    rows: Vec<f32>, // row-major, of all records
}

impl Builder {
    /// Takes a record, whose rows have the columns of all others; on an error the block is as it was.
    pub(crate) fn push(&mut self, record: &Clickthrough) -> Result<()> {
        let (records, before) = (self.records.len(), self.size());
        let stored = postcard::to_io(&Stored::from(record), &mut self.records).map(|_| ());
        let bytes = self.size() + 4 * record.rows.values.len();
        let error = match stored {
            Ok(()) if bytes <= LIMIT => {
                self.rows.extend_from_slice(&record.rows.values);
                return Ok(());
            }
            Ok(()) => Error::TooLarge { ranking: record.ranking.to_string(), bytes: bytes - before, limit: LIMIT },
            Err(error) => Error::Encode { reason: error.to_string() },
        };
        self.records.truncate(records);
        Err(error)
    }

    /// Bytes of the block, uncompressed.
    pub(crate) fn size(&self) -> usize {
        4 + self.records.len() + 4 * self.rows.len()
    }

    /// Writes the block, uncompressed.
    pub(crate) fn write(&self, width: usize, into: &mut Vec<u8>) {
        into.extend_from_slice(&(self.records.len() as u32).to_le_bytes());
        into.extend_from_slice(&self.records);
        let (begin, height) = (into.len(), self.rows.len() / width.max(1));
        into.resize(begin + 4 * self.rows.len(), 0);
        let (values, _) = into[begin..].as_chunks_mut::<4>();
        for (column, values) in values.chunks_exact_mut(height.max(1)).enumerate() {
            let from = self.rows.iter().skip(column).step_by(width);
            values.iter_mut().zip(from).for_each(|(bytes, value)| *bytes = value.to_le_bytes());
        }
    }

    /// Begins a new block.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.rows.clear();
    }
}

/// The records of a block; `None` when the bytes are no block of rows with `width` columns.
pub(crate) fn read(block: &[u8], width: usize) -> Option<Vec<Clickthrough>> {
    let (length, rest) = block.split_first_chunk()?;
    let (mut records, rows) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let mut read = Vec::new();
    while !records.is_empty() {
        let (stored, rest) = postcard::take_from_bytes::<Stored>(records).ok()?;
        read.push(stored.into_record(width));
        records = rest;
    }
    spread(rows, width, &mut read)?;
    Some(read)
}

/// Gives each record its rows.
fn spread(rows: &[u8], width: usize, records: &mut [Clickthrough]) -> Option<()> {
    let (values, []) = rows.as_chunks::<4>() else { return None };
    let height = |record: &Clickthrough| if record.rows.width > 0 { record.items.len() } else { 0 };
    let total: usize = records.iter().map(height).sum();
    if total.checked_mul(width)? != values.len() {
        return None;
    }
    let mut first = 0;
    for record in records {
        let own = first..first + height(record);
        let mut row_major = vec![0.0; own.len() * record.rows.width];
        // without rows there are no columns to go through, and without items none of a column
        for (column, values) in values.chunks_exact(total.max(1)).take(record.rows.width).enumerate() {
            let into = row_major.iter_mut().skip(column).step_by(width);
            into.zip(&values[own.clone()]).for_each(|(value, bytes)| *value = f32::from_le_bytes(*bytes));
        }
        record.rows.values = row_major;
        first = own.end;
    }
    Some(())
}
