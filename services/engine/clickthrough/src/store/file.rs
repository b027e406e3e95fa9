//! `file`: click-throughs in a folder of parts.
//!
//! Records go to an open part, block by block; a part that is large enough is closed. What was flushed survives the
//! power going off, what was written survives the process. A part that a dead process left open is read as far as it
//! goes, and never written to again. Several processes may share a folder: each has an open part of its own.

mod folder;
mod owner;
mod writer;

use crate::forget::{Rewritten, rewritten};
use crate::part::packing::Compression;
use crate::part::{BLOCK_BYTES, Encoder, Format, Header, Part};
use crate::{Clickthrough, ClickthroughStore, Forgotten, Mark, Records, Result, Status, Subject};
use folder::{Folder, Name};
use parking_lot::Mutex;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use writer::Writer;

/// Where parts are, how they are written, and when one is closed.
#[derive(Debug, Clone)]
pub struct FileSettings {
    /// The folder; made when missing.
    pub path: PathBuf,
    /// How new parts are written; there may be others.
    pub format: Format,
    /// A part is closed with this many bytes, before compression.
    pub part_bytes: u64,
    /// A part is closed with this many records.
    pub part_records: u64,
    /// Records are written in blocks of this many bytes, before compression.
    pub block_bytes: usize,
}

impl FileSettings {
    /// Parts of 64 MiB before compression.
    pub fn new(path: impl Into<PathBuf>, format: Format) -> Self {
        let (part_bytes, part_records) = (64 << 20, 1 << 20);
        Self { path: path.into(), format, part_bytes, part_records, block_bytes: BLOCK_BYTES }
    }
}

/// Keeps records in a folder.
pub struct FileStore {
    folder: Arc<Folder>,
    inner: Mutex<Inner>,
}

struct Inner {
    encoder: Encoder,
    writer: Writer,
    taken: u64,
    durable: u64,
    /// What other processes and earlier ones left, when this one opened the folder.
    found: Status,
}

impl FileStore {
    /// Opens a folder, for records with the columns of `header`.
    pub fn open(settings: FileSettings, header: Header) -> Result<Self> {
        let encoder = Encoder::new(settings.format, header).with_block_bytes(settings.block_bytes);
        let folder = Arc::new(Folder::open(settings.path.clone())?);
        let found = count(&folder)?;
        let writer = Writer::new(settings, folder.clone(), encoder.head()?);
        Ok(Self { folder, inner: Mutex::new(Inner { encoder, writer, taken: 0, durable: 0, found }) })
    }
}

impl Inner {
    /// Hands the block that is being made to the writer, and the writer's blocks to the disk.
    fn write(&mut self) -> Result<()> {
        if let Some(block) = self.encoder.take()? {
            self.writer.push(block);
        }
        self.writer.write()?;
        if self.writer.is_full() {
            self.writer.close()?;
            self.durable = self.taken;
        }
        Ok(())
    }
}

impl ClickthroughStore for FileStore {
    fn append(&self, records: &[Clickthrough]) -> Result<Mark> {
        let inner = &mut *self.inner.lock();
        records.iter().try_for_each(|record| inner.encoder.check(record))?;
        inner.writer.write()?; // what an earlier error left goes first, so that it cannot pile up
        for record in records {
            inner.encoder.push(record)?;
            inner.taken += 1;
            if inner.encoder.is_full() {
                inner.write()?;
            }
        }
        Ok(Mark(inner.taken))
    }

    fn flush(&self) -> Result<Mark> {
        let inner = &mut *self.inner.lock();
        inner.write()?;
        inner.writer.sync()?;
        inner.durable = inner.taken;
        Ok(Mark(inner.durable))
    }

    fn durable(&self) -> Mark {
        Mark(self.inner.lock().durable)
    }

    fn read(&self) -> Result<Records> {
        let mut inner = self.inner.lock();
        inner.write()?;
        let own = inner.writer.open_part();
        let names = self.folder.list()?;
        drop(inner);
        let folder = self.folder.clone();
        let part = move |name: Name| {
            let (file, name) = folder.read(&name)?;
            // of this process's open part, only what is whole now
            let length = own.filter(|&(sequence, _)| sequence == name.sequence).map_or(u64::MAX, |(_, bytes)| bytes);
            let place = folder.place(&name);
            let part = Part::new(place, name.format, file.take(length));
            Ok(Part { records: name.closed.map(|(records, _)| records), ..part })
        };
        Ok(Records::new(names.into_iter().map(part)))
    }

    fn let_go(&self) -> Result<()> {
        let inner = &mut *self.inner.lock();
        inner.write()?;
        inner.writer.close()?; // the next block begins another part
        inner.durable = inner.taken;
        Ok(())
    }

    fn forget(&self, subject: &Subject) -> Result<Forgotten> {
        self.let_go()?;
        let inner = &mut *self.inner.lock();
        let mut forgotten = Forgotten { unlisted: self.folder.sweep()?, ..Forgotten::default() };
        for name in self.folder.list()? {
            let (file, name) = self.folder.read(&name)?;
            let part = Part::new(self.folder.place(&name), name.format, file);
            let part = Part { records: name.closed.map(|(records, _)| records), ..part };
            let (before, mut found) = (forgotten.clone(), Forgotten::default());
            let Some(Rewritten { bytes, records }) = rewritten(part, None, Compression::None, subject, &mut found)?
            else {
                forgotten = before.and(found);
                continue;
            };
            forgotten = match self.folder.replace(&name, &bytes, records)? {
                true => before.and(found),
                false => before.and(Forgotten { left: vec![self.folder.place(&name)], ..Forgotten::default() }),
            };
        }
        inner.found = count(&self.folder)?;
        inner.writer.counts_anew();
        Ok(forgotten)
    }

    fn status(&self) -> Status {
        let inner = self.inner.lock();
        let (found, written) = (inner.found, inner.writer.status());
        Status {
            records: found.records + written.records + u64::from(inner.encoder.pending()),
            bytes: found.bytes + written.bytes,
            parts: found.parts + written.parts,
        }
    }
}

impl Drop for FileStore {
    /// Closes the open part, so that the next process need not read an open one.
    fn drop(&mut self) {
        let inner = self.inner.get_mut();
        if let Err(error) = inner.write().and_then(|()| inner.writer.close()) {
            tracing::error!(%error, "failed to close the open part of the click-throughs");
        }
    }
}

/// Counts what is in a folder: by the names of closed parts, and by reading open ones.
fn count(folder: &Folder) -> Result<Status> {
    let mut status = Status::default();
    for name in folder.list()? {
        let (file, name) = folder.read(&name)?;
        status.bytes += file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
        status.parts += 1;
        status.records += match name.closed {
            Some((records, _)) => records,
            None => {
                let part = Part::new(folder.place(&name), name.format, file);
                Records::new(std::iter::once(Ok(part))).filter(Result::is_ok).count() as u64
            }
        };
    }
    Ok(status)
}
