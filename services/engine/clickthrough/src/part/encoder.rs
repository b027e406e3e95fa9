//! Writing a part, block by block.

use super::{Format, Header, LIMIT, block, frame, json};
use crate::{Clickthrough, Error, Result};

/// A block is complete with this many bytes before compression, whatever it holds.
pub const BLOCK_BYTES: usize = 128 << 10;

/// With this many records it is, too, once it has enough bytes to pack well: damage takes a block with it.
const FEW: u32 = 32;
const ENOUGH_BYTES: usize = 16 << 10;

/// Turns records into the bytes of a part.
///
/// A part is [`Encoder::head`], then any number of blocks, whose order is that of the records.
pub struct Encoder {
    format: Format,
    header: Header,
    builder: block::Builder,
    lines: Vec<u8>,
    count: u32,
    buffer: Vec<u8>,
    packer: frame::Packer,
    block_bytes: usize,
}

/// Some records in the format of a part; whole parts are made of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// How many records it holds.
    pub records: u32,
    /// Bytes before compression.
    pub unpacked: u64,
    /// What stands in the part.
    pub bytes: Vec<u8>,
}

impl Encoder {
    /// An encoder of records whose rows have the columns of `header`.
    pub fn new(format: Format, header: Header) -> Self {
        let (builder, lines, buffer, packer) = Default::default();
        Self { format, header, builder, lines, count: 0, buffer, packer, block_bytes: BLOCK_BYTES }
    }

    /// The same with blocks of another size, in bytes before compression.
    pub fn with_block_bytes(self, block_bytes: usize) -> Self {
        Self { block_bytes: block_bytes.min(LIMIT / 2), ..self }
    }

    /// How it writes.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What a part begins with: its header, twice.
    pub fn head(&self) -> Result<Vec<u8>> {
        let once = match self.format {
            Format::Binary => frame::of_header(&self.header),
            Format::Json => json::of_header(&self.header),
        };
        once.map(|head| head.repeat(2)).map_err(|reason| Error::Encode { reason })
    }

    /// Whether a record fits: its rows its items and these columns, and all of it a block.
    pub fn check(&self, record: &Clickthrough) -> Result<()> {
        let (columns, rows) = (self.header.columns.len(), &record.rows);
        let shape = |found, expected| Error::Shape { ranking: record.ranking.to_string(), found, expected };
        if rows.width != 0 && rows.width != columns {
            return Err(shape(format!("rows of {} columns", rows.width), format!("{columns}")));
        }
        if rows.width.checked_mul(record.items.len()) != Some(rows.values.len()) {
            let expected = format!("{} for each of {} items", rows.width, record.items.len());
            return Err(shape(format!("{} feature values", rows.values.len()), expected));
        }
        Ok(())
    }

    /// Takes a record into the block that is being made; on an error the block is as it was.
    pub fn push(&mut self, record: &Clickthrough) -> Result<()> {
        self.check(record)?;
        match self.format {
            Format::Binary => self.builder.push(record)?,
            Format::Json => {
                let line = json::of_record(record).map_err(|reason| Error::Encode { reason })?;
                if line.len() > LIMIT {
                    return Err(Error::TooLarge {
                        ranking: record.ranking.to_string(),
                        bytes: line.len(),
                        limit: LIMIT,
                    });
                }
                self.lines.extend_from_slice(&line);
            }
        }
        self.count += 1;
        Ok(())
    }

    /// Records taken since the last block.
    pub fn pending(&self) -> u32 {
        self.count
    }

    /// Their bytes, uncompressed.
    pub fn pending_bytes(&self) -> usize {
        if self.count == 0 { 0 } else { self.lines.len().max(self.builder.size()) }
    }

    /// Whether the block is as large as it should become.
    pub fn is_full(&self) -> bool {
        let bytes = self.pending_bytes();
        bytes >= self.block_bytes || (self.count >= FEW && bytes >= ENOUGH_BYTES)
    }

    /// Leaves out the records taken since the last block.
    pub(crate) fn give_up(&mut self) {
        self.builder.clear();
        self.lines.clear();
        self.count = 0;
    }

    /// The block of the records taken since the last one, `None` when there are none; on an error they stay.
    pub fn take(&mut self) -> Result<Option<Block>> {
        if self.count == 0 {
            return Ok(None);
        }
        let records = self.count;
        let (unpacked, bytes) = match self.format {
            Format::Json => (self.lines.len(), std::mem::take(&mut self.lines)),
            Format::Binary => {
                self.buffer.clear();
                self.builder.write(self.header.columns.len(), &mut self.buffer);
                let bytes = self.packer.block(records, &self.buffer).map_err(|reason| Error::Encode { reason })?;
                self.builder.clear();
                (self.buffer.len(), bytes)
            }
        };
        self.count = 0;
        Ok(Some(Block { records, unpacked: unpacked as u64, bytes }))
    }
}
