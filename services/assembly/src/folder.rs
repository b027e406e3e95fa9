//! A state on disk: opening it, and putting another one in its place.
//!
//! Both hold a lock beside the state, because the state's own lock moves away with it: no process opens a state in the moment in
//! which it is replaced.

mod owner;
mod rights;

use crate::open::format;
use anyhow::{Context, Result, bail};
use rankwright_config::state::FileState;
use rankwright_state::FileStore;
use rankwright_state::file::FileOptions;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tracing::info;

pub use owner::as_owner;

/// Name of the service that a state on disk belongs to: a folder has one.
pub(crate) const SERVICE: &str = "default";

/// A process that finds the lock taken looks again this often,
const PAUSE: Duration = Duration::from_millis(10);
/// and waits at most this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where the values of a configuration lie; click-throughs and models lie beside them.
pub(crate) fn place(file: &FileState) -> PathBuf {
    file.path.join("state")
}

/// Opens a state. What was killed while it put another one in its place is undone, and what it had written for that removed.
pub(crate) fn open(path: &Path, file: &FileState) -> Result<FileStore> {
    let parent = parent(path);
    fs::create_dir_all(parent).with_context(|| format!("failed to make {}", parent.display()))?;
    let _lock = lock(path)?;
    let old = replaced(path);
    if old.exists() && !path.exists() {
        fs::rename(&old, path).with_context(|| format!("failed to put {} back", old.display()))?;
    }
    let store = FileStore::open(path, options(file), SERVICE);
    let former = || if old.exists() { format!("; the one before it is {}", old.display()) } else { String::new() };
    let store = store.with_context(|| format!("failed to open the state in {}{}", path.display(), former()))?;
    remove(&old).with_context(|| format!("failed to clear {}", old.display()))?;
    clear(&copy_of(path)); // its writer holds the state itself
    Ok(store)
}

/// One that is there, as it is; `None` where there is none. A folder has one process at a time.
pub(crate) fn existing(path: &Path, file: &FileState) -> Result<Option<FileStore>> {
    if !parent(path).exists() {
        return Ok(None);
    }
    let _lock = lock(path)?;
    if !path.exists() {
        if replaced(path).exists() {
            bail!(
                "{}: a process ended while it replaced the state; start the service, or that process, again",
                path.display()
            );
        }
        return Ok(None);
    }
    let opened = FileStore::open(path, options(file), SERVICE);
    opened.map(Some).with_context(|| {
        format!("{} can be read while no process uses it, GET /status of that process shows the same", path.display())
    })
}

fn options(file: &FileState) -> FileOptions {
    FileOptions { format: format(file.format), ..FileOptions::default() }
}

/// Rewrites the files of a state, so that nothing is in them of what was removed.
pub(crate) fn rewrite(path: &Path, store: FileStore) -> Result<()> {
    if path.is_symlink() {
        bail!("it is a symbolic link: have state.path name the folder in which the files lie");
    }
    let new = copy_of(path);
    remove(&new).with_context(|| format!("failed to clear {}", new.display()))?;
    let written = private(&new).and_then(|()| store.write_copy(&new).map_err(Into::into)).and_then(|()| lock(path));
    let lock = written.inspect_err(|_| clear(&new))?;
    let put = put(path, &new, store).inspect_err(|_| clear(&new));
    drop(lock); // until then no other process has the state, or rewrites it
    put
}

/// Makes a folder that other users cannot read.
fn private(folder: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().mode(0o700).create(folder);
    made.with_context(|| format!("failed to make {}", folder.display()))
}

/// Puts a folder in the place of a state, which is closed for it. What is killed in between is undone by [`open`].
pub(crate) fn replace(live: &Path, new: &Path, store: FileStore) -> Result<()> {
    let _lock = lock(live)?;
    put(live, new, store)
}

/// Under the lock.
fn put(live: &Path, new: &Path, store: FileStore) -> Result<()> {
    let old = replaced(live);
    rights::handed_over(new, live)?;
    drop(store);
    let moved = |from: &Path, to: &Path| {
        fs::rename(from, to).with_context(|| format!("failed to move {} to {}", from.display(), to.display()))
    };
    moved(live, &old)?;
    if let Err(error) = moved(new, live) {
        return Err(match moved(&old, live) {
            Ok(()) => error,
            Err(worse) => error.context(format!("{worse:#}; the next start tries it again")),
        });
    }
    let forced = || File::open(parent(live)).and_then(|parent| parent.sync_all());
    forced().with_context(|| format!("failed to sync {} to the disk", live.display()))?;
    info!(path = %live.display(), "the new state is live");
    remove(&old).and_then(|()| forced()).with_context(|| format!("failed to remove {}", old.display()))
}

/// Where a state lies while another one takes its place.
fn replaced(path: &Path) -> PathBuf {
    path.with_extension("replaced")
}

/// Where a state is rewritten.
fn copy_of(path: &Path) -> PathBuf {
    path.with_extension("anew")
}

/// Where a state and what is to take its place lie beside each other.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Keeps others from opening states beside each other, and from replacing them, until it is dropped.
fn lock(path: &Path) -> Result<File> {
    let (place, began) = (parent(path), Instant::now());
    let lock = File::open(place).with_context(|| format!("failed to open {}", place.display()))?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if began.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                bail!("{}: another process is opening it, or puts another state in its place", path.display())
            }
            // as some network file systems: their states are opened as before there was such a lock
            Err(TryLockError::Error(error)) => {
                tracing::warn!(
                    place = %place.display(), %error,
                    "this file system locks no folders: start nothing on the state while a rebuild or forget ends"
                );
                return Ok(lock);
            }
        }
    }
}

/// Removes what was not written to its end, or says that it stays.
fn clear(new: &Path) {
    if let Err(error) = remove(new) {
        tracing::warn!(path = %new.display(), %error, "a copy of the state that is not used was not removed");
    }
}

/// Whether or not it is there.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
