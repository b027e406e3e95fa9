//! The owner of a rewritten part: `forget` may run as another user than the service.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;
use tracing::warn;

/// Gives a file the owner and mode of the one that it replaces. A user without that right gets a warning and keeps the file;
/// its mode then lets no user read it who could not before.
pub(super) fn hand_over(file: &File, former: &Metadata, place: &Path) -> io::Result<()> {
    let (own, mut mode) = (file.metadata()?, former.mode() & 0o777);
    if (own.uid(), own.gid()) != (former.uid(), former.gid())
        && let Err(error) = fchown(file, Some(former.uid()), Some(former.gid()))
    {
        if fchown(file, None, Some(former.gid())).is_err() {
            let (group, others) = (mode >> 3 & 7, mode & 7);
            mode = mode & 0o700 | (group & others); // the old group are others now
        }
        let (place, uid, gid) = (place.display(), former.uid(), former.gid());
        match own.uid() == uid {
            true => {
                warn!(%place, %error, gid, "this part no longer belongs to its previous group, which may do no more than others")
            }
            false => warn!(
                %place, %error, uid,
                "this part now belongs to the user who runs 'forget', because only root may change owners: make sure its previous owner can read it"
            ),
        }
    }
    file.set_permissions(Permissions::from_mode(mode))
}
