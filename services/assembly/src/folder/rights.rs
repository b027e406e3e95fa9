//! Who may do what with the files of a state, when another one takes its place. No link is followed on the way.

use anyhow::{Context, Result, bail};
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;
use tracing::warn;

/// What is done with a file or a folder that was found.
type Work<'a> = &'a mut dyn FnMut(&Path, &File, &Metadata) -> io::Result<()>;

/// Gives a new state the modes and group of the old one, and forces the names of the files in it to the disk. A user who may
/// not give files to that group keeps the own one; then no user may do more with the files than before.
///
/// # Errors
/// When the old one belongs to another user, who could not use the new one.
pub(super) fn handed_over(new: &Path, like: &Path) -> Result<()> {
    let folder = fs::metadata(like).with_context(|| format!("failed to look at {}", like.display()))?;
    if folder.uid() != fs::metadata(new).with_context(|| format!("failed to look at {}", new.display()))?.uid() {
        bail!("{} belongs to user {}: have them do it, or root", like.display(), folder.uid());
    }
    let of_files = fs::symlink_metadata(like.join("version")).ok();
    let mut refused = None;
    each_below(new, &mut |_, file, own| {
        let given = if own.gid() == folder.gid() { Ok(()) } else { fchown(file, None, Some(folder.gid())) };
        let mode = |like: &Metadata| {
            Permissions::from_mode(if given.is_ok() { like.mode() } else { ungrouped(like.mode()) } & 0o7777)
        };
        if own.is_dir() {
            file.set_permissions(mode(&folder))?;
            file.sync_all()?;
        } else if let Some(like) = of_files.as_ref().filter(|_| own.mode() & 0o077 != 0) {
            file.set_permissions(mode(like))?; // what the store keeps to its owner stays so
        }
        refused = refused.take().or(given.err());
        Ok(())
    })?;
    if let Some(error) = refused {
        let (place, gid) = (like.display(), folder.gid());
        warn!(%place, gid, %error, "the files of this state no longer belong to its previous group, which may do no more with them than others");
    }
    Ok(())
}

/// The mode for another group: members of the old one are among the others now, and members of this one were.
pub(super) fn ungrouped(mode: u32) -> u32 {
    let both = mode >> 3 & mode & 7;
    mode & !0o077 | both << 3 | both
}

/// All in a folder, and then the folder: until then no other user may be able to enter it.
pub(super) fn each_below(folder: &Path, work: Work<'_>) -> Result<()> {
    entered(CWD, folder.as_os_str(), folder, work)
}

fn entered(parent: BorrowedFd<'_>, name: &OsStr, place: &Path, work: Work<'_>) -> Result<()> {
    match opened(parent, name) {
        Ok(file) => visited(&file, place, work),
        Err(Errno::NOENT | Errno::LOOP) => Ok(()), // gone, because another process may use it already, or a link
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
