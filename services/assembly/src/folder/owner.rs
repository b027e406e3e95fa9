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
use std::path::Path;

/// What is done with a file or a folder that was found.
type Work<'a> = &'a mut dyn FnMut(&Path, &File, &Metadata) -> io::Result<()>;

/// Whose a state is; `None` where there is none.
pub(crate) fn owner(path: &Path) -> Option<Metadata> {
    fs::metadata(path).ok()
}

/// Gives a folder and all in it to the owner of a state.
pub(crate) fn belongs(folder: &Path, owner: &Metadata) -> Result<()> {
    each_below(folder, &mut |_, file, own| owned(file, own, owner))
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
    let as_it_is = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let at = || place.display().to_string();
    let file = match openat(parent, name, as_it_is, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::LOOP) => return Ok(()), // gone, as somebody may use it already, or a link
        Err(error) => return Err(error).with_context(at),
    };
    let own = file.metadata().with_context(at)?;
    if own.is_dir() {
        for entry in Dir::read_from(&file).with_context(at)? {
            let entry = entry.with_context(at)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                entered(file.as_fd(), name, &place.join(name), work)?;
            }
        }
    }
    work(place, &file, &own).with_context(at)
}
