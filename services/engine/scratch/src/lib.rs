//! Folders for what is needed for a while by name: files that a process keeps open may have none, others are left behind where it
//! is killed.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use tempfile::{Builder, TempDir};

/// Locked as long as the process lives.
const LOCK: &str = "lock";

/// A folder that goes with this value or, where its process was killed, when the next one is made beside it.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// A new one in this folder, with a name that begins so, and a file `lock` in it. Those of killed processes whose names begin
    /// so go.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn within(parent: &Path, prefix: &str) -> io::Result<Self> {
        remove_abandoned(parent, prefix);
        let folder = Builder::new().prefix(prefix).tempdir_in(parent)?;
        let making = folder.path().join("making");
        let lock = File::create_new(&making)?;
        // no process finds it unlocked; where the file system has no locks, it has no name to be found by
        if lock.lock().is_ok() {
            fs::rename(making, folder.path().join(LOCK))?;
        }
        Ok(Self { folder, _lock: lock })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn remove_abandoned(parent: &Path, prefix: &str) {
    let found = fs::read_dir(parent).into_iter().flatten().flatten();
    for folder in found.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes())) {
        let lock = File::open(folder.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let (path, removed) = (folder.path(), fs::remove_dir_all(folder.path()));
            tracing::info!(path = %path.display(), removed = removed.is_ok(), "left by a process that was killed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "rankwright-test-";

    #[test]
    fn what_a_killed_process_left_goes_with_the_next_one_and_what_is_in_use_stays() {
        let parent = tempfile::tempdir().expect("a folder");
        let within = || Scratch::within(parent.path(), PREFIX).expect("there is room");
        let (used, killed) = (within(), within());
        let left = killed.path().to_owned();
        fs::write(left.join("bins-0.page"), [0; 9]).expect("can be written");
        let Scratch { folder, _lock } = killed;
        drop((folder.keep(), _lock)); // as the system does with what was locked
        let unlocked = parent.path().join(PREFIX.to_owned() + "of an older version");
        fs::create_dir(&unlocked).expect("can be made");
        let next = within();
        assert!(!left.exists() && used.path().exists() && unlocked.exists());
        drop((used, next));
        assert_eq!(fs::read_dir(parent.path()).expect("is there").count(), 1, "nothing else is left");
    }
}
