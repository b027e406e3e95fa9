//! State on local disk: the `fjall` log-structured store below, decoded entities cached above.
//!
//! A commit is one atomic batch of the store's journal, which the operating system holds when [`Store::commit`]
//! answers: it survives the end of this process at any moment (`kill -9`). The journal is forced to the disk about once
//! a second, at [`FileStore::sync`] and when the store is closed, so a loss of power costs the last second; positions
//! of sources go back with the effects they belong to, and nothing is counted twice or lost.
//!
//! Part of the layout is the generation: values lie in a key space of the live one, whose number the entry `live` of
//! the key space `meta` names, so a rebuild can fill the next one beside it. All disk work happens inside the returned
//! futures, on the thread that polls them.

mod address;
mod cache;
mod commit;
mod copy;
mod disk;
mod expire;
mod flush;
mod journal;
mod making;
mod meta;
mod usage;

use crate::expiry::outdated;
use crate::{
    BoxFuture, Commit, Error, Fingerprint, Format, Key, Lease, Listed, Outcome, Position, Rows, Show, Slot, Space,
    Stats, Store, Usage, Writer,
};
use disk::Disk;
use flush::Flusher;
use parking_lot::Mutex;
use rankwright_event::Timestamp;
use std::path::Path;
use std::time::Duration;
use usage::Walk;

/// How a [`FileStore`] works; what it holds does not depend on any of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOptions {
    /// How values are written, where the state's version has it; all formats are read.
    pub format: Format,
    /// Memory for decoded entities and blocks of files, in bytes; 64 MiB by default.
    pub cache_bytes: u64,
    /// Memory for what waits to be sorted into files, in bytes and for each key space; 16 MiB by default.
    pub buffer_bytes: u64,
}

/// Entities in a folder of one machine, for one process at a time.
pub struct FileStore {
    flusher: Flusher, // ends before the disk is closed
    disk: Disk,
    options: FileOptions,
    walk: Box<Mutex<Walk>>,
    /// Why the newest write failed, if it did.
    trouble: Mutex<Option<String>>,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self { format: Format::Binary, cache_bytes: 64 << 20, buffer_bytes: 16 << 20 }
    }
}

impl FileStore {
    /// Opens the state of `service` in the folder `path`, which is made where it does not exist.
    ///
    /// # Errors
    /// [`Error::Open`], where the folder cannot be used, another process holds it, or it is another service's;
    /// [`Error::Newer`], where a newer version wrote it.
    pub fn open(path: impl AsRef<Path>, options: FileOptions, service: &str) -> Result<Self, Error> {
        let disk = Disk::open(path.as_ref(), options, service)?;
        let flusher = Flusher::start(disk.database()).map_err(disk::cannot_open(path.as_ref()))?;
        Ok(Self { flusher, disk, options, walk: Box::default(), trouble: Mutex::default() })
    }

    /// Number of the generation that is read and written.
    pub fn generation(&self) -> u32 {
        self.disk.generation()
    }

    /// Writes what can be read here to another folder, in which nothing lies yet, and to the disk: nothing is in its files of what
    /// was removed here. It takes as much room as there is of this one; half of it lies there after an error.
    ///
    /// # Errors
    /// [`Error::Open`] and [`Error::Failed`], where the folder cannot be used, the disk is full, or a table here is damaged.
    pub fn write_copy(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        self.disk.write_copy(folder.as_ref(), self.options)
    }

    /// Forces everything that was committed to the disk.
    ///
    /// # Errors
    /// [`Error::Failed`], where the disk refuses; nothing can be written any more then.
    pub fn sync(&self) -> Result<(), Error> {
        self.flusher.sync()
    }
}

impl Store for FileStore {
    fn slots<'a>(&'a self, wanted: &'a [Fingerprint]) -> BoxFuture<'a, Result<Vec<Slot>, Error>> {
        Box::pin(async move { self.disk.slots(wanted) })
    }

    fn read<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move { keys.iter().map(|key| self.disk.get(key)).collect() })
    }

    fn acquire<'a>(&'a self, writer: &'a Writer) -> BoxFuture<'a, Result<Lease, Error>> {
        Box::pin(async move { self.disk.acquire(writer) })
    }

    fn commit<'a>(&'a self, lease: &'a Lease, commit: Commit) -> BoxFuture<'a, Result<Outcome, Error>> {
        Box::pin(async move {
            let outcome = self.disk.apply(lease, commit);
            *self.trouble.lock() = outcome.as_ref().err().map(told);
            outcome.inspect(|_| self.flusher.written())
        })
    }

    fn scan(&self, space: Space) -> BoxFuture<'_, Result<Listed, Error>> {
        Box::pin(async move { self.disk.scan(space) })
    }

    fn each<'a>(&'a self, space: Space, show: &'a mut Show<'a>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { self.disk.each(space, show) })
    }

    fn oldest(&self, space: Space, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Listed, Error>> {
        Box::pin(async move { self.disk.oldest(space, until, limit) })
    }

    fn count(&self, space: Space) -> BoxFuture<'_, Result<usize, Error>> {
        Box::pin(async move { self.disk.in_timeline(|timeline| timeline.count(space)) })
    }

    fn expire<'a>(
        &'a self,
        now: Timestamp,
        ttl: &'a [(Slot, Duration)],
        other: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        Box::pin(async move { self.disk.expire(now, outdated(now, ttl, other)).inspect(|_| self.flusher.written()) })
    }

    fn durable(&self) -> bool {
        true
    }

    fn stats(&self) -> BoxFuture<'_, Result<Stats, Error>> {
        Box::pin(async move { Ok(self.disk.stats()) })
    }

    fn usage(&self, keys: usize) -> BoxFuture<'_, Result<Usage, Error>> {
        Box::pin(async move { self.walk.lock().go_on(&self.disk, keys) })
    }

    fn known_slots(&self) -> BoxFuture<'_, Result<Vec<(Fingerprint, Slot)>, Error>> {
        Box::pin(async move { self.disk.meta.known_slots() })
    }

    fn positions<'a>(&'a self, writers: &'a [Writer]) -> BoxFuture<'a, Result<Vec<Option<Position>>, Error>> {
        let position = |writer| Ok(self.disk.meta.writer(writer)?.map(|(_, position)| position));
        Box::pin(async move { writers.iter().map(position).collect() })
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
    }

    fn live_generation(&self) -> u32 {
        self.generation()
    }
}

/// An error with its cause.
fn told(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

#[cfg(test)]
mod tests;
