//! The open part of a store.
//!
//! Blocks stay in memory until they are on disk for certain. When writing fails, the open part is left as it is, and
//! the next attempt writes all of these blocks to a new one; readers leave out what they then see twice.

use super::FileSettings;
use super::folder::{Folder, Name};
use crate::digest::Digest;
use crate::part::Block;
use crate::{Result, Status};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

pub(super) struct Writer {
    settings: FileSettings,
    folder: Arc<Folder>,
    head: Vec<u8>,
    open: Option<Open>,
    /// Blocks that are not on disk for certain, the first `written` of which are in the open part.
    unsynced: Vec<Block>,
    written: usize,
    /// Closed parts, and open ones that were left.
    behind: Status,
}

struct Open {
    file: File,
    name: Name,
    digest: Digest,
    records: u64,
    bytes: u64,
    unpacked: u64,
}

impl Writer {
    pub(super) fn new(settings: FileSettings, folder: Arc<Folder>, head: Vec<u8>) -> Self {
        Self { settings, folder, head, open: None, unsynced: vec![], written: 0, behind: Status::default() }
    }

    /// Takes a block, to be written after those taken before.
    pub(super) fn push(&mut self, block: Block) {
        self.unsynced.push(block);
    }

    /// Gives all blocks to the operating system.
    pub(super) fn write(&mut self) -> Result<()> {
        if self.written == self.unsynced.len() {
            return Ok(());
        }
        if self.open.is_none() {
            self.open = Some(Open::new(self.folder.create(self.settings.format)?));
            self.append(|open, writer| open.write(&writer.head))?;
        }
        while self.written < self.unsynced.len() {
            self.append(|open, writer| open.write_block(&writer.unsynced[writer.written]))?;
            self.written += 1;
        }
        Ok(())
    }

    /// Makes all written blocks durable.
    pub(super) fn sync(&mut self) -> Result<()> {
        if self.written > 0 {
            self.append(|open, _| open.file.sync_data())?;
        }
        self.unsynced.drain(..self.written);
        self.written = 0;
        Ok(())
    }

    /// Whether the open part is as large as it should become.
    pub(super) fn is_full(&self) -> bool {
        let full =
            |open: &Open| open.unpacked >= self.settings.part_bytes || open.records >= self.settings.part_records;
        self.open.as_ref().is_some_and(full)
    }

    /// Closes the open part, if there is one.
    pub(super) fn close(&mut self) -> Result<()> {
        self.sync()?;
        let Some(open) = &self.open else { return Ok(()) };
        self.folder.close(&open.name, &Name { closed: Some((open.records, open.digest.value())), ..open.name })?;
        self.leave();
        Ok(())
    }

    /// The open part's sequence number and its bytes so far.
    pub(super) fn open_part(&self) -> Option<(u64, u64)> {
        self.open.as_ref().map(|open| (open.name.sequence, open.bytes))
    }

    /// Starts its counts at zero: another process counts all that was written so far.
    pub(super) fn counts_anew(&mut self) {
        self.behind = Status::default();
    }

    /// What this writer has written and holds.
    pub(super) fn status(&self) -> Status {
        let waiting = records(&self.unsynced[self.written..]);
        let (records, bytes) = self.open.as_ref().map_or((0, 0), |open| (open.records, open.bytes));
        Status {
            records: self.behind.records + records + waiting,
            bytes: self.behind.bytes + bytes,
            parts: self.behind.parts + u64::from(self.open.is_some()),
        }
    }

    /// Does something to the open part; when that fails, the part is left and its unsynced blocks go to a new one.
    fn append(&mut self, work: impl FnOnce(&mut Open, &Self) -> io::Result<()>) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let done = work(&mut open, self);
        let name = open.name;
        open.records -= if done.is_err() { records(&self.unsynced[..self.written]) } else { 0 };
        self.open = Some(open);
        done.map_err(|source| {
            self.leave();
            self.written = 0;
            self.folder.failed_at(&name, "write", source)
        })
    }

    /// Has the next block begin a new part.
    fn leave(&mut self) {
        if let Some(open) = self.open.take() {
            self.behind.records += open.records;
            self.behind.bytes += open.bytes;
            self.behind.parts += 1;
        }
    }
}

impl Open {
    fn new((file, name): (File, Name)) -> Self {
        Self { file, name, digest: Digest::new(), records: 0, bytes: 0, unpacked: 0 }
    }

    fn write_block(&mut self, block: &Block) -> io::Result<()> {
        self.write(&block.bytes)?;
        self.records += u64::from(block.records);
        self.unpacked += block.unpacked;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

fn records(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| u64::from(block.records)).sum()
}
