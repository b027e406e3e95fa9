//! The records of a block: first everything but the rows, then the rows of all records, column by column.
//!
//! A column holds much the same values from item to item and from record to record, so it packs best by itself.
//! Uncompressed: length of the first part (`u32`, little-endian), the records as `stored` in postcard, then the
//! columns, each as `column` has it.

use super::LIMIT;
use super::column::{self, Column};
use super::stored::{Skipped, Stored};
use crate::{Clickthrough, Error, Result, Rows, Shown};
use serde::Deserialize;
use std::borrow::Cow;

/// Collects the records of one block.
#[derive(Default)]
pub(crate) struct Builder {
    records: Vec<u8>,
    columns: Vec<Vec<u32>>, // bits of the values of all rows
    values: usize,
}

impl Builder {
    /// Takes a record, whose rows have the columns of all others; on an error the block is as it was.
    pub(crate) fn push(&mut self, record: &Clickthrough) -> Result<()> {
        let (records, before) = (self.records.len(), self.size());
        let stored: Stored<'_> = record.into();
        let stored = postcard::to_io(&stored, &mut self.records).map(|_| ());
        let bytes = self.size() + 4 * record.rows.values.len();
        let error = match stored {
            Ok(()) if bytes <= LIMIT => {
                self.push_rows(&record.rows);
                return Ok(());
            }
            Ok(()) => Error::TooLarge { ranking: record.ranking.to_string(), bytes: bytes - before, limit: LIMIT },
            Err(error) => Error::Encode { reason: error.to_string() },
        };
        self.records.truncate(records);
        Err(error)
    }

    /// Turns rows into columns at once, while they are in the processor's cache.
    fn push_rows(&mut self, rows: &Rows) {
        self.columns.resize_with(self.columns.len().max(rows.width), Vec::new);
        for (place, column) in self.columns.iter_mut().enumerate() {
            column.extend(rows.values.iter().skip(place).step_by(rows.width.max(1)).map(|value| value.to_bits()));
        }
        self.values += rows.values.len();
    }

    /// Bytes of the block as it would be without `column`.
    pub(crate) fn size(&self) -> usize {
        4 + self.records.len() + 4 * self.values
    }

    /// Writes the block, uncompressed.
    pub(crate) fn write(&self, width: usize, into: &mut Vec<u8>) {
        into.extend_from_slice(&(self.records.len() as u32).to_le_bytes());
        into.extend_from_slice(&self.records);
        (0..width).for_each(|place| column::write(self.columns.get(place).map_or(&[], |values| values), into));
    }

    /// Begins a new block.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.columns.iter_mut().for_each(Vec::clear);
        self.values = 0;
    }
}

/// Bytes of a written block before its rows.
pub(crate) fn before_rows(block: &[u8]) -> usize {
    let length = block.first_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
    (4 + length).min(block.len())
}

/// The records of a block; `None` when the bytes are no block of rows with `width` columns.
pub(crate) fn read(block: &[u8], width: usize) -> Option<Vec<Clickthrough>> {
    let (length, rest) = block.split_first_chunk()?;
    let (records, rows) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let mut records = decode::<Cow<'_, [Shown]>>(records, width)?;
    spread(rows, width, &mut records)?;
    Some(records)
}

/// The records of a block without their rows, from its first part or all of it; with their items, or without.
pub(crate) fn read_without_rows(block: &[u8], items: bool) -> Option<Vec<Clickthrough>> {
    let (length, rest) = block.split_first_chunk()?;
    let records = rest.get(..u32::from_le_bytes(*length) as usize)?;
    match items {
        true => decode::<Cow<'_, [Shown]>>(records, 0),
        false => decode::<Skipped>(records, 0),
    }
}

/// Records that have room for rows of `width` values.
fn decode<'b, I: Deserialize<'b> + Into<Vec<Shown>>>(mut records: &'b [u8], width: usize) -> Option<Vec<Clickthrough>> {
    let mut decoded = Vec::new();
    while !records.is_empty() {
        let (stored, rest) = postcard::take_from_bytes::<Stored<'_, I>>(records).ok()?;
        decoded.push(stored.into_record(width));
        records = rest;
    }
    Some(decoded)
}

/// Gives each record its rows.
fn spread(mut bytes: &[u8], width: usize, records: &mut [Clickthrough]) -> Option<()> {
    let height = |record: &Clickthrough| if record.rows.width > 0 { record.items.len() } else { 0 };
    let total = records.iter().map(height).sum();
    let mut columns = Vec::new();
    for _ in 0..width {
        let (column, rest) = Column::read(bytes, total)?;
        columns.push(column);
        bytes = rest;
    }
    let mut first = 0;
    for record in records {
        let own = first..first + height(record);
        first = own.end;
        let mut row_major = vec![0.0; own.len() * record.rows.width];
        for (place, column) in columns.iter().enumerate().filter(|_| !own.is_empty()) {
            column.copy(own.clone(), &mut row_major[place..], width);
        }
        record.rows.values = row_major;
    }
    bytes.is_empty().then_some(())
}
