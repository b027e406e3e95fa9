//! Whose the files of a state are: whoever rebuilds it, or forgets, may be another user than who serves.
//!
//! That one is root, often, in a folder of somebody who is not. So no link is followed on the way, and what is handed over is what
//! was looked at: nothing that lies elsewhere becomes theirs.

use anyhow::{Context, Result};
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What is done with a file or a folder that was found.
type Work<'a> = &'a mut dyn FnMut(&Path, &File, &Metadata) -> io::Result<()>;

const ROOT: u32 = 0;
/// Clocks of file systems are a little behind.
const BEHIND: Duration = Duration::from_secs(1);

/// A state that is used by somebody who may not be its owner: what they have made in it becomes the owner's when this is dropped,
/// and so does what they have made beside it.
pub(crate) struct Lent {
    state: PathBuf,
    beside: Option<PathBuf>,
    since: SystemTime,
}

impl Lent {
    /// From now on. What is a link is left alone.
    pub(crate) fn new(state: &Path, beside: Option<&Path>) -> Self {
        Self::since(SystemTime::now() - BEHIND, state, beside)
    }

    pub(super) fn since(since: SystemTime, state: &Path, beside: Option<&Path>) -> Self {
        Self { state: state.to_owned(), beside: beside.map(Path::to_owned), since }
    }

    fn give_back(&self) -> Result<()> {
        let Ok(owner) = opened(CWD, self.state.as_os_str()).map(|state| state.metadata()) else { return Ok(()) };
        let owner = owner?;
        for folder in [Some(&self.state), self.beside.as_ref()].into_iter().flatten() {
            each_below(folder, &mut |_, file, own| {
                // what was moved there by others stays whose it is; nobody but root may give anything away
                let is_ours = own.uid() == ROOT && own.created().or(own.modified())? >= self.since;
                if is_ours { owned(file, own, &owner) } else { Ok(()) }
            })?;
        }
        Ok(())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Err(error) = self.give_back() {
            let error = format!("{error:#}");
            tracing::warn!(error, "the owner of the state cannot read what was written there now");
        }
    }
}

/// Gives a folder and all in it to the owner of another one, with the modes that are used there, and forces the names of the files in
/// it to the disk.
pub(super) fn handed_over(new: &Path, like: &Path) -> Result<()> {
    let folder = fs::metadata(like).with_context(|| format!("failed to look at {}", like.display()))?;
    let of_files = fs::symlink_metadata(like.join("version")).ok();
    each_below(new, &mut |_, file, own| {
        owned(file, own, &folder)?;
        if own.is_dir() {
            file.set_permissions(folder.permissions())?;
            return file.sync_all();
        }
        // what the store keeps to its owner stays so
        let shared = of_files.as_ref().filter(|_| own.mode() & 0o077 != 0);
        shared.map_or(Ok(()), |like| file.set_permissions(Permissions::from_mode(like.mode() & 0o777)))
    })
}

fn owned(file: &File, own: &Metadata, owner: &Metadata) -> io::Result<()> {
    if (own.uid(), own.gid()) == (owner.uid(), owner.gid()) {
        return Ok(());
    }
    fchown(file, Some(owner.uid()), Some(owner.gid()))
}

/// All in a folder, and then the folder: until then nobody else may be able to enter it.
pub(super) fn each_below(folder: &Path, work: Work<'_>) -> Result<()> {
    entered(CWD, folder.as_os_str(), folder, work)
}

fn entered(parent: BorrowedFd<'_>, name: &OsStr, place: &Path, work: Work<'_>) -> Result<()> {
    match opened(parent, name) {
        Ok(file) => visited(&file, place, work),
        Err(Errno::NOENT | Errno::LOOP) => Ok(()), // gone, as somebody may use it already, or a link
        Err(error) => Err(error).with_context(|| place.display().to_string()),
    }
}

/// As it is: a link leads nowhere.
fn opened(parent: BorrowedFd<'_>, name: &OsStr) -> Result<File, Errno> {
    let as_it_is = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(parent, name, as_it_is, Mode::empty()).map(File::from)
}

fn visited(file: &File, place: &Path, work: Work<'_>) -> Result<()> {
    let at = || place.display().to_string();
    let own = file.metadata().with_context(at)?;
    if own.is_dir() {
        let entries = match Dir::read_from(file) {
            Err(Errno::NOENT) => return Ok(()), // removed meanwhile
            entries => entries.with_context(at)?,
        };
        for entry in entries {
            let entry = entry.with_context(at)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                entered(file.as_fd(), name, &place.join(name), work)?;
            }
        }
    }
    let may_lie_elsewhere = !own.is_dir() && own.nlink() > 1; // it has a second name
    if may_lie_elsewhere { Ok(()) } else { work(place, file, &own).with_context(at) }
}
