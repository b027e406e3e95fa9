//! A copy of a state that holds what can be read and no more: the store below keeps what was removed in its journal and its
//! tables until these are merged, which may be never.

use super::FileOptions;
use super::disk::{Disk, cannot_open, failed};
use super::meta::{BUFFER_BYTES, FORMAT_ENTRY};
use crate::Error;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::fs::File;
use std::path::Path;

impl Disk {
    /// Writes it to an empty folder; nothing may change meanwhile.
    pub(super) fn write_copy(&self, folder: &Path, options: FileOptions) -> Result<(), Error> {
        let _writing = self.writing.lock();
        let db = Database::builder(folder).open().map_err(cannot_open(folder))?;
        for (from, buffer) in self.keyspaces(options) {
            let to = || KeyspaceCreateOptions::default().max_memtable_size(buffer);
            copy(from, &db.keyspace(from.name(), to).map_err(cannot_open(folder))?).map_err(failed("rewrite"))?;
        }
        // an empty journal would look like a lost one
        let meta = self.meta.keyspace();
        if let Some(format) = meta.get(FORMAT_ENTRY).map_err(failed("rewrite"))? {
            let to = || KeyspaceCreateOptions::default().max_memtable_size(BUFFER_BYTES);
            let written = db.keyspace(meta.name(), to).and_then(|meta| meta.insert(FORMAT_ENTRY, format));
            written.map_err(failed("rewrite"))?;
        }
        db.persist(PersistMode::SyncAll).map_err(failed("flush to the disk"))?;
        // the store below forces files and their folders to the disk, but not the folders above
        let forced = |folder: &Path| File::open(folder).and_then(|folder| folder.sync_all());
        [&folder.join("keyspaces"), folder].into_iter().try_for_each(forced).map_err(cannot_open(folder))
    }
}

/// The rows of a key space lie in the order that tables are written in.
fn copy(from: &Keyspace, to: &Keyspace) -> fjall::Result<()> {
    let mut tables = to.start_ingestion()?;
    for row in from.iter() {
        let (address, row) = row.into_inner()?;
        tables.write(address, row)?;
    }
    tables.finish()
}
