//! `memory`: click-throughs live as long as the process, packed as they would be on disk.

use crate::forget::{Rewritten, rewritten};
use crate::part::packing::Compression;
use crate::part::{Block, Encoder, Format, Header, Part};
use crate::{Clickthrough, ClickthroughStore, Forgotten, Mark, Records, Result, Status, Subject};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

/// Memory that packed click-throughs may take unless told otherwise: about a million rankings.
pub const LIMIT_BYTES: u64 = 1 << 30;

/// Keeps records in memory, and forgets the oldest when there are too many.
pub struct MemoryStore {
    held: Mutex<Held>,
    head: Arc<[u8]>,
    limit: u64,
}

struct Held {
    encoder: Encoder,
    blocks: VecDeque<Packed>,
    taken: u64,
    status: Status,
}

struct Packed {
    records: u64,
    bytes: Arc<[u8]>,
}

impl MemoryStore {
    /// An empty store of records with the columns of `header`.
    pub fn new(header: Header) -> Result<Self> {
        let encoder = Encoder::new(Format::Binary, header);
        let head = Arc::from(encoder.head()?);
        let held = Held { encoder, blocks: VecDeque::new(), taken: 0, status: Status::default() };
        Ok(Self { held: Mutex::new(held), head, limit: LIMIT_BYTES })
    }

    /// The same with another limit, in bytes of packed records, and blocks of another size, in bytes before packing.
    pub fn with_limits(self, bytes: u64, block_bytes: usize) -> Self {
        let mut held = self.held.into_inner();
        held.encoder = held.encoder.with_block_bytes(block_bytes);
        Self { held: Mutex::new(held), limit: bytes, ..self }
    }
}

impl Held {
    fn close_block(&mut self, limit: u64) -> Result<()> {
        let Some(Block { records, bytes, .. }) = self.encoder.take()? else { return Ok(()) };
        let block = Packed { records: u64::from(records), bytes: Arc::from(bytes) };
        self.status.records += block.records;
        self.status.bytes += block.bytes.len() as u64;
        self.blocks.push_back(block);
        while self.status.bytes > limit && self.blocks.len() > 1 {
            self.forget_oldest();
        }
        Ok(())
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.blocks.pop_front() else { return };
        self.status.records -= oldest.records;
        self.status.bytes -= oldest.bytes.len() as u64;
        tracing::debug!(records = oldest.records, "forgot the oldest click-throughs, as memory is full");
    }
}

impl ClickthroughStore for MemoryStore {
    fn append(&self, records: &[Clickthrough]) -> Result<Mark> {
        let held = &mut *self.held.lock();
        records.iter().try_for_each(|record| held.encoder.check(record))?;
        for record in records {
            held.encoder.push(record)?;
            held.taken += 1;
            if held.encoder.is_full() {
                held.close_block(self.limit)?;
            }
        }
        Ok(Mark(held.taken))
    }

    fn flush(&self) -> Result<Mark> {
        Ok(self.durable())
    }

    /// All of them: they last as long as the process that waits for them.
    fn durable(&self) -> Mark {
        Mark(self.held.lock().taken)
    }

    fn read(&self) -> Result<Records> {
        let mut held = self.held.lock();
        held.close_block(self.limit)?;
        let blocks = held.blocks.iter().map(|block| block.bytes.clone());
        let chunks = [self.head.clone()].into_iter().chain(blocks).collect();
        let part = Part::new("memory", Format::Binary, Chunks { chunks, offset: 0 });
        Ok(Records::new(std::iter::once(Ok(part))))
    }

    fn forget(&self, subject: &Subject) -> Result<Forgotten> {
        let held = &mut *self.held.lock();
        held.close_block(self.limit)?;
        let mut forgotten = Forgotten::default();
        for block in std::mem::take(&mut held.blocks) {
            let chunks = [self.head.clone(), block.bytes.clone()].into();
            let part = Part::new("memory", Format::Binary, Chunks { chunks, offset: 0 });
            held.blocks.push_back(match rewritten(part, None, Compression::None, subject, &mut forgotten)? {
                None => block,
                Some(Rewritten { bytes, records }) => {
                    let bytes: Arc<[u8]> = Arc::from(&bytes[self.head.len()..]);
                    held.status.records = held.status.records - block.records + records;
                    held.status.bytes = held.status.bytes - block.bytes.len() as u64 + bytes.len() as u64;
                    Packed { records, bytes }
                }
            });
        }
        Ok(forgotten)
    }

    fn status(&self) -> Status {
        let held = self.held.lock();
        let records = held.status.records + u64::from(held.encoder.pending());
        let bytes = held.status.bytes + held.encoder.pending_bytes() as u64;
        Status { records, bytes, parts: u64::from(records > 0) }
    }
}

/// Reads one chunk after the other.
struct Chunks {
    chunks: VecDeque<Arc<[u8]>>,
    offset: usize,
}

impl Read for Chunks {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while let Some(chunk) = self.chunks.front() {
            let read = (&chunk[self.offset..]).read(into)?;
            self.offset += read;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            self.chunks.pop_front();
            self.offset = 0;
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{header, ranking};

    #[test]
    fn a_ranking_of_24_items_and_28_columns_takes_about_a_kilobyte() {
        let store = MemoryStore::new(header(28)).unwrap();
        for number in 0..1000 {
            store.append(&[ranking(number, 24, 28)]).unwrap();
        }
        store.read().unwrap(); // packs what is left
        let bytes = store.status().bytes / 1000;
        assert!(bytes < 1200, "{bytes} bytes a ranking, so that 50,000 would take more than 60 MB");
    }

    #[test]
    fn the_oldest_are_forgotten_when_memory_is_full() {
        let store = MemoryStore::new(header(5)).unwrap().with_limits(30_000, 4096);
        for number in 0..1000 {
            store.append(&[ranking(number, 10, 5)]).unwrap();
        }
        assert_eq!(store.durable(), Mark(1000));
        let left: Vec<Clickthrough> = store.read().unwrap().map(|entry| entry.unwrap().1).collect();
        assert!(store.status().bytes <= 30_000 && left.len() < 1000, "{:?}", store.status());
        assert_eq!(left.len() as u64, store.status().records);
        let newest: Vec<Clickthrough> = (1000 - left.len() as u64..1000).map(|number| ranking(number, 10, 5)).collect();
        assert_eq!(left, newest);
    }
}
