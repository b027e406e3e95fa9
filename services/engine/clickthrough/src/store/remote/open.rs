//! The part that is being filled.

use super::Cut;
use super::name::{Kind, Name};
use crate::part::packing::{pack, pack_head};
use crate::part::{Block, Encoder, Header};
use crate::{Clickthrough, Error, Result};
use rankwright_object::Bytes;
use std::time::Instant;

/// Records on their way to a part, packed as it will be.
pub(super) struct Open {
    encoder: Encoder,
    kind: Kind,
    head: Vec<u8>,
    cut: Cut,
    bytes: Vec<u8>,
    records: u64,
    unpacked: u64,
    begun: Option<Instant>,
}

/// A part that is complete.
pub(super) struct Complete {
    pub(super) bytes: Bytes,
    pub(super) records: u64,
    pub(super) kind: Kind,
}

impl Open {
    pub(super) fn new(cut: Cut, header: Header) -> Result<Self> {
        let kind = Kind { format: cut.format, packing: cut.packing };
        let encoder = Encoder::new(cut.format, header).with_block_bytes(cut.block_bytes);
        let head = pack_head(&encoder.head()?, kind.packing, kind.format).map_err(failed)?;
        Ok(Self { encoder, kind, head, cut, bytes: Vec::new(), records: 0, unpacked: 0, begun: None })
    }

    /// Whether a record may be pushed.
    pub(super) fn check(&self, record: &Clickthrough) -> Result<()> {
        self.encoder.check(record)
    }

    pub(super) fn push(&mut self, record: &Clickthrough, now: Instant) -> Result<()> {
        self.encoder.push(record)?;
        self.begun.get_or_insert(now);
        if self.encoder.is_full() { self.close_block() } else { Ok(()) }
    }

    /// Records in it.
    pub(super) fn records(&self) -> u64 {
        self.records + u64::from(self.encoder.pending())
    }

    /// Bytes that it takes, as far as they are packed.
    pub(super) fn bytes(&self) -> u64 {
        (self.bytes.len() + self.encoder.pending_bytes()) as u64
    }

    /// Whether it is as large as a part should become.
    pub(super) fn is_full(&self) -> bool {
        let unpacked = self.unpacked + self.encoder.pending_bytes() as u64;
        self.records() >= self.cut.records || unpacked >= self.cut.bytes
    }

    /// Whether its first record has waited long enough.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.begun.is_some_and(|begun| now.saturating_duration_since(begun) >= self.cut.age)
    }

    /// The part as it would be if it ended here; `None` without records.
    pub(super) fn so_far(&mut self) -> Result<Option<Complete>> {
        self.close_block()?;
        let complete = Complete { bytes: self.bytes.clone().into(), records: self.records, kind: self.kind };
        Ok((self.records > 0).then_some(complete))
    }

    /// Ends the part, and begins another; `None`, and nothing changes, without records.
    pub(super) fn complete(&mut self) -> Result<Option<Complete>> {
        self.close_block()?;
        if self.records == 0 {
            return Ok(None);
        }
        let (bytes, records) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.records));
        (self.unpacked, self.begun) = (0, None);
        Ok(Some(Complete { bytes: bytes.into(), records, kind: self.kind }))
    }

    /// Drops its records and begins a new part.
    pub(super) fn give_up(&mut self) {
        self.encoder.give_up();
        self.bytes.clear();
        (self.records, self.unpacked, self.begun) = (0, 0, None);
    }

    fn close_block(&mut self) -> Result<()> {
        let Some(Block { records, unpacked, bytes }) = self.encoder.take()? else { return Ok(()) };
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(&self.head);
        }
        let packed = pack(&bytes, self.kind.packing, self.kind.format).map_err(failed)?;
        self.bytes.extend_from_slice(&packed);
        self.records += u64::from(records);
        self.unpacked += unpacked;
        Ok(())
    }
}

impl Complete {
    pub(super) fn name(&self, now: i64, before: i64) -> Name {
        Name::of(&self.bytes, self.records, self.kind, now, before)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::Encode { reason: error.to_string() }
}
