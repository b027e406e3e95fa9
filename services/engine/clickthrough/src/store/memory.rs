//! `memory`: click-throughs live as long as the process, packed as they would be on disk.

use crate::part::{Block, Encoder, Format, Header, Part};
use crate::{Clickthrough, ClickthroughStore, Mark, Records, Result, Status};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

/// Memory that packed click-throughs may take unless told otherwise: about a million rankings.
const LIMIT_BYTES: u64 = 1 << 30;

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

    /// The same with another limit, in bytes of packed records.
    pub fn with_limit(self, bytes: u64) -> Self {
        Self { limit: bytes, ..self }
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
    fn append(&self, records: Vec<Clickthrough>) -> Result<Mark> {
        let held = &mut *self.held.lock();
        records.iter().try_for_each(|record| held.encoder.check(record))?;
        for record in &records {
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

    /// All of them: they last as long as whoever waits.
    fn durable(&self) -> Mark {
        Mark(self.held.lock().taken)
    }

    fn read(&self) -> Result<Records> {
        let mut held = self.held.lock();
        held.close_block(self.limit)?;
        let blocks = held.blocks.iter().map(|block| block.bytes.clone());
        let chunks = [self.head.clone()].into_iter().chain(blocks).collect();
        let bytes = Box::new(Chunks { chunks, offset: 0 });
        Ok(Records::new(std::iter::once(Ok(Part { place: "memory".into(), format: Format::Binary, bytes }))))
    }

    fn status(&self) -> Status {
        let held = self.held.lock();
        let records = held.status.records + u64::from(held.encoder.pending());
        Status { records, parts: u64::from(records > 0), ..held.status }
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
