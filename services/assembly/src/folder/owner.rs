//! The owner of a state's files: `import --rebuild` and `forget` may run as another user than the service.
//!
//! Often that user is root, in a folder of another user, who could lead root to foreign files by a link. So root continues as the
//! folder's owner: new files belong to the owner from the beginning, and files that the owner may not touch stay out of reach.

use super::place;
use anyhow::{Context, Result, bail};
use rankwright_config::{ClickthroughStore, Config, State};
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tracing::info;

const ROOT: u32 = 0;
/// Threads that have ended are gone after at most this time,
const PATIENCE: Duration = Duration::from_secs(2);
/// and looked for this often.
const PAUSE: Duration = Duration::from_millis(1);

/// Has root go on as the user whose the state of a configuration is, or its click-throughs where no folder has the state; for good,
/// and before there are other threads. Who is not root, or works on what is root's or not there yet, stays who they are.
///
/// # Errors
/// When root may not become another user, as in a container without that right.
pub fn as_owner(config: &Config) -> Result<()> {
    let Some((folder, owner)) = folder_of(config).filter(|_| geteuid().is_root()).and_then(of_another) else {
        return Ok(());
    };
    alone()?;
    let groups = owner.groups();
    let become_them = || -> io::Result<()> {
        set_thread_groups(&groups)?;
        set_thread_gid(groups[0])?;
        set_thread_uid(Uid::from_raw(owner.uid))?;
        Ok(())
    };
    let (place, uid) = (folder.display(), owner.uid);
    become_them()
        .with_context(|| format!("failed to continue as user {uid}, who owns {place}: run it as that user"))?;
    info!(folder = %place, uid, gid = groups[0].as_raw(), "root continues as the user who owns this folder");
    Ok(())
}

/// Each thread has an owner of its own: others would stay root's.
fn alone() -> Result<()> {
    let began = Instant::now();
    loop {
        let threads = fs::read_dir("/proc/self/task").context("failed to count the threads of this process")?.count();
        match threads {
            1 => return Ok(()),
            // one that has been waited for is still there for a moment
            _ if began.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            _ => bail!("{threads} threads run already, which would stay root's"),
        }
    }
}

fn folder_of(config: &Config) -> Option<PathBuf> {
    match (&config.state, &config.train) {
        (State::File(file), _) => Some(place(file)),
        (_, Some(ClickthroughStore::File { path, .. })) => Some(path.clone()),
        _ => None,
    }
}

/// Who a folder belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) uid: u32,
    /// Of the folder, which they may have chosen.
    pub(super) gid: u32,
}

impl Owner {
    /// Their groups as this machine knows them, the first one first. Of a user without a name it is the folder's, unless that is root's.
    fn groups(&self) -> Vec<Gid> {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let groups = groups(self.uid, &read("/etc/passwd"), &read("/etc/group")).unwrap_or_else(|| {
            let nobodys = 65534;
            vec![if self.gid == ROOT { nobodys } else { self.gid }]
        });
        groups.into_iter().map(Gid::from_raw).collect()
    }
}

/// A user's groups, by what `passwd` and `group` hold; `None` for who is not in there.
pub(super) fn groups(uid: u32, passwd: &str, group: &str) -> Option<Vec<u32>> {
    let mut users = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let user = users.find(|user| user.get(2).is_some_and(|own| own.parse() == Ok(uid)))?;
    let first: u32 = user.get(3)?.parse().ok()?;
    let others = group.lines().filter_map(|line| {
        let fields: Vec<_> = line.split(':').collect();
        let is_in = fields.get(3)?.split(',').any(|member| member == user[0]);
        fields[2].parse().ok().filter(|gid| is_in && *gid != first)
    });
    Some([first].into_iter().chain(others).collect())
}

/// The folder with its owner, where that is not root; or with who laid the link to it.
pub(super) fn of_another(folder: PathBuf) -> Option<(PathBuf, Owner)> {
    let owners = [fs::symlink_metadata(&folder), fs::metadata(&folder)];
    let other = owners.into_iter().flatten().find(|own| own.uid() != ROOT)?;
    Some((folder, Owner { uid: other.uid(), gid: other.gid() }))
}
