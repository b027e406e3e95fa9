//! Whose the parts of a folder are: who imports, rebuilds or forgets may be another user than who serves.
//!
//! What root makes belongs to the owner of the folder in which it is made. It is handed over as it was opened, and no link is
//! followed to it, so nothing that lies elsewhere changes hands.

use rustix::fs::{CWD, Dir, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;
use tracing::{debug, warn};

const ROOT: u32 = 0;

/// Makes a folder, and those above it, where there are none.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let Some(name) = path.file_name() else { return fs::create_dir_all(path) };
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(above)?;
    let above = place(above)?;
    match mkdirat(&above, name, Mode::from_raw_mode(0o777)) {
        Err(Errno::EXIST) if path.is_dir() => return Ok(()), // another process was faster
        made => made?,
    }
    let as_it_is = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(openat(&above, name, as_it_is, Mode::empty())?);
    // what somebody has put in its place meanwhile is not theirs by that
    let is_empty = Dir::read_from(&folder)?
        .all(|entry| entry.is_ok_and(|entry| matches!(entry.file_name().to_bytes(), b"." | b"..")));
    if is_empty {
        give(&folder, &above)?;
    }
    Ok(())
}

/// Creates a file for writing in a folder, where there is none of that name.
pub(super) fn create_in(folder: &Path, name: &str) -> io::Result<File> {
    let folder = place(folder)?;
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = File::from(openat(&folder, name, new, Mode::from_raw_mode(0o666))?);
    give(&file, &folder)?;
    Ok(file)
}

/// A folder to make something in, which may be one that nobody may list.
fn place(folder: &Path) -> io::Result<File> {
    let place = openat(CWD, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(File::from(place))
}

/// Gives what root has made to the owner of the folder in which it lies.
fn give(made: &File, folder: &File) -> io::Result<()> {
    let (own, to) = (made.metadata()?, folder.metadata()?);
    if own.uid() == ROOT && to.uid() != ROOT {
        // where root may not do so, as on some network file systems, it may not read what it gave away either
        if let Err(error) = fchown(made, Some(to.uid()), Some(to.gid())) {
            debug!(%error, uid = to.uid(), "what was made in a folder does not become its owner's");
        }
    }
    Ok(())
}

/// Gives a file to the owner of the one whose place it takes, in its mode. Who may not do so says so, and keeps it; nobody may read
/// it then who could not before.
pub(super) fn hand_over(file: &File, former: &Metadata, place: &Path) -> io::Result<()> {
    let (own, mut mode) = (file.metadata()?, former.mode() & 0o777);
    if (own.uid(), own.gid()) != (former.uid(), former.gid())
        && let Err(error) = fchown(file, Some(former.uid()), Some(former.gid()))
    {
        if fchown(file, None, Some(former.gid())).is_err() {
            let (group, others) = (mode >> 3 & 7, mode & 7);
            mode = mode & 0o700 | (group & others); // the former group are others now
        }
        warn!(
            place = %place.display(), %error, uid = former.uid(),
            "this part belongs to whoever forgets now, as only root may hand files over: see that its former owner can read it"
        );
    }
    file.set_permissions(Permissions::from_mode(mode))
}
