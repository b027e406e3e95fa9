//! What concerns all values: the format, the live generation, writers and slots.

use super::layout::Names;
use super::{Shared, failed};
use crate::{Error, Fingerprint, Lease, Position, Slot, Stats, Writer};
use rankwright_redis::Link;
use rankwright_redis::redis::{self, pipe};
use std::time::Duration;

/// Version of the layout; raised when an older version of ours could not read what this one writes.
const FORMAT: u32 = 1;
/// So many slots are asked for at once: a script has room for some thousands of values at a time.
const SLOTS_AT_ONCE: usize = 4_000;

/// Makes the state of a service where there is none; the number of its live generation.
pub(super) async fn open(link: &Link, names: &Names) -> Result<u32, Error> {
    let meta = names.meta();
    let asked = link.send(|mut connection| {
        let mut asked = pipe();
        asked.hset_nx(&meta, "format", FORMAT).ignore().hset_nx(&meta, "live", 1).ignore();
        asked.hget(&meta, "format").hget(&meta, "live");
        async move { asked.query_async::<(u32, u32)>(&mut connection).await }
    });
    let cannot_open = |error| Error::Open { place: link.place(), source: Box::new(error) };
    let (found, live) = asked.await.map_err(cannot_open)?;
    if found > FORMAT {
        return Err(Error::Newer { place: link.place(), found, known: FORMAT });
    }
    Ok(live)
}

/// Says so where the server may drop what it was given.
pub(super) async fn warn_of_eviction(link: &Link) {
    let asked = link.send(|mut connection| async move {
        redis::cmd("INFO").arg("memory").query_async::<String>(&mut connection).await
    });
    let Ok(memory) = asked.await else { return }; // managed servers may refuse to tell
    let value = |name: &str| memory.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let (limit, policy) = (value("maxmemory"), value("maxmemory_policy"));
    if limit.is_some_and(|limit| limit != "0") && policy.is_some_and(|policy| policy != "noeviction") {
        let server = link.place();
        tracing::warn!(server, policy, "the server drops values when it is full: set maxmemory-policy to noeviction");
    }
}

impl Shared {
    pub(super) async fn acquire(&self, writer: Writer) -> Result<Lease, Error> {
        let name = self.names.writer(&writer);
        let raised = self.link.send(|mut connection| {
            let mut script = self.scripts.acquire.prepare_invoke();
            script.key(&name);
            async move { script.invoke_async::<(u64, String)>(&mut connection).await }
        });
        let (epoch, position) = raised.await.map_err(failed("acquire a lease"))?;
        Ok(Lease { writer, epoch, position: Position(position) })
    }

    pub(super) async fn hold(&self, task: &str, holder: &str, time: Duration) -> Result<bool, Error> {
        let name = self.names.task(task);
        let held = self.link.send(|mut connection| {
            let mut script = self.scripts.hold.prepare_invoke();
            script.key(&name).arg(holder).arg(time.as_millis().max(1) as u64);
            async move { script.invoke_async::<bool>(&mut connection).await }
        });
        held.await.map_err(failed("hold a task"))
    }

    pub(super) async fn allocate(&self, wanted: &[Fingerprint]) -> Result<Vec<Slot>, Error> {
        let mut slots = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(SLOTS_AT_ONCE) {
            slots.extend(self.allocate_some(some).await?);
        }
        Ok(slots)
    }

    async fn allocate_some(&self, wanted: &[Fingerprint]) -> Result<Vec<Slot>, Error> {
        let name = self.names.slots();
        let given = self.link.send(|mut connection| {
            let mut script = self.scripts.slots.prepare_invoke();
            script.key(&name);
            wanted.iter().for_each(|fingerprint| {
                script.arg(format!("{:016x}", fingerprint.0));
            });
            async move { script.invoke_async::<Vec<u16>>(&mut connection).await }
        });
        let given = given.await.map_err(failed("give out slots"))?;
        if given.len() != wanted.len() {
            return Err(Error::Full(usize::from(u16::MAX) + 1));
        }
        Ok(given.into_iter().map(Slot).collect())
    }

    /// The server counts keys of all services of the database together.
    pub(super) async fn stats(&self) -> Result<Stats, Error> {
        let asked = self.link.send(|mut connection| async move {
            let mut asked = pipe();
            asked.cmd("DBSIZE").cmd("INFO").arg("memory");
            asked.query_async::<(u64, String)>(&mut connection).await
        });
        let (entities, memory) = asked.await.map_err(failed("tell its size"))?;
        let used = memory.lines().find_map(|line| line.strip_prefix("used_memory:"));
        Ok(Stats { entities, bytes: used.and_then(|used| used.trim().parse().ok()) })
    }
}

/// Keeps the import of the crate in one place.
pub(super) type Answer = redis::Value;
