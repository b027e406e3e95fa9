//! Makes the store of a folder, in one step for its users: a marker lies beside it until all of it is there. Where a process is
//! killed before that, or its disk is full, the next one starts again.

use super::disk::Refusal;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const MARKER: &str = "unfinished";
/// In the marker, once it is certain that nothing else is there. An empty one says nothing.
const BEGUN: &[u8] = b"this state was never finished: whatever lies beside this file can go\n";
/// What tells the store below that it is there.
const VERSION: &str = "version";
const TABLES: &str = "keyspaces";
const JOURNAL: &str = "jnl";

/// A store that is being made. Dropping it leaves the marker behind.
#[derive(Debug)]
pub(super) struct Making {
    folder: PathBuf,
    _lock: File,
}

/// Why it is not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Making {
    /// Makes way for a store that has to be made; `None` where there is one. What lies beside a marker stays as long as it
    /// may be a whole store, one that another version has filled since, say: [`Making::clear`] is for what cannot be opened.
    pub(super) fn begin(folder: &Path) -> Result<Option<Self>, Trouble> {
        let marker = folder.join(MARKER);
        let mut as_it_is = OpenOptions::new();
        as_it_is.read(true).write(true).custom_flags(OFlags::NOFOLLOW.bits() as i32); // what it would lead to is emptied
        loop {
            let mut lock = match as_it_is.open(&marker) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match lies_in(folder)? {
                        Lies::Store => return Ok(None),
                        Lies::Part if marker.try_exists()? => continue, // another process makes it at this moment
                        Lies::Part => return Err(Refusal::Part.into()),
                        Lies::Nothing => std::fs::create_dir_all(folder)?,
                    }
                    match File::create_new(&marker) {
                        Ok(made) => made,
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                    return Err(io::Error::other(format!("{} is a symbolic link", marker.display())).into());
                }
                Err(error) => return Err(error.into()),
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(Refusal::Held.into()),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            if !is_still(&lock, &marker)? {
                continue; // its holder has finished in between
            }
            let is_begun = lock.metadata()?.len() > 0;
            match lies_in(folder)? {
                Lies::Store if is_begun => {}
                Lies::Part if is_begun => clear(folder)?,
                Lies::Nothing => {
                    lock.set_len(0)?;
                    lock.write_all(BEGUN)?;
                    lock.sync_all()?;
                    sync(folder)?;
                }
                // an empty one was left by a process that came too late
                lies => {
                    std::fs::remove_file(&marker)?;
                    return if lies == Lies::Store { Ok(None) } else { Err(Refusal::Part.into()) };
                }
            }
            return Ok(Some(Self { folder: folder.to_owned(), _lock: lock }));
        }
    }

    /// Removes what lies beside the marker and cannot be opened.
    pub(super) fn clear(&self) -> io::Result<()> {
        clear(&self.folder)
    }

    /// All of it is there.
    pub(super) fn finish(self) -> io::Result<()> {
        std::fs::remove_file(self.folder.join(MARKER))?;
        sync(&self.folder)
    }
}

/// What is there of a store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lies {
    Nothing,
    Part,
    Store,
}

fn lies_in(folder: &Path) -> io::Result<Lies> {
    if folder.join(VERSION).try_exists()? {
        return Ok(Lies::Store);
    }
    match parts(folder) {
        Ok(parts) if parts.is_empty() => Ok(Lies::Nothing),
        Ok(_) => Ok(Lies::Part),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Lies::Nothing),
        Err(error) => Err(error),
    }
}

/// Whether the open file is the one that lies there.
fn is_still(open: &File, path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(there) => open.metadata().map(|open| (open.dev(), open.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes what is there of a store, but for its lock.
fn clear(folder: &Path) -> io::Result<()> {
    for part in parts(folder)? {
        if part.is_dir() { std::fs::remove_dir_all(part)? } else { std::fs::remove_file(part)? }
    }
    sync(folder)
}

fn parts(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let named = |name: &str| path.file_name().is_some_and(|of| of == name);
        if named(VERSION) || named(TABLES) || path.extension().is_some_and(|extension| extension == JOURNAL) {
            parts.push(path);
        }
    }
    Ok(parts)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
