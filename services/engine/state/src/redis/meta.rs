//! What concerns all values: the format, the live generation, writers and slots.

use super::layout::Names;
use super::shards::SHARDS;
use super::{Shared, failed};
use crate::{Error, Lease, Position, Stats, Writer};
use futures_util::future::try_join_all;
use rankwright_redis::redis::{self, Script, pipe};
use rankwright_redis::{Link, SLOTS};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Version of the layout; raised when an older version of ours could not read what this one writes.
/// Values are compact since version 2; a state of version 1 keeps those that it was begun with.
const FORMAT: u32 = 2;

/// What lies under the service's name: the number of its live generation, and of its shards where it has some.
pub(super) struct Live {
    /// Version of the layout.
    pub(super) format: u32,
    pub(super) generation: u32,
    pub(super) shards: Option<u16>,
    /// Which state it is: another one has another, also under the same name. An earlier version made states without.
    pub(super) id: Option<String>,
}

/// Word of how the state grows.
const GROWTH: &str = "growth";

/// Writes a note only to a state that is there: a purged one does not come back as a part, which could not be opened.
const TELL: &str =
    "if redis.call('HEXISTS', KEYS[1], 'format') == 1 then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end";

/// Makes a state in shards where there is none; the number of shards is fixed from then on, and none for one without.
const OPEN: &str = "
if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('HSET', KEYS[1], 'format', ARGV[1], 'live', 1, 'shards', ARGV[2], 'id', ARGV[3])
end
return redis.call('HMGET', KEYS[1], 'format', 'live', 'shards', 'id')";

/// Makes the state of a service where there is none. One that is there is used by a server that takes no writes, too.
pub(super) async fn open(link: &Link, names: &Names) -> Result<Live, Error> {
    if let Some(live) = found(link, names).await? {
        return Ok(live);
    }
    let cannot_open = |error| Error::Open { place: link.place(), source: Box::new(error) };
    let asked = match link.is_cluster() {
        true => in_shards(link, names).await,
        false => whole(link, names).await,
    };
    usable(link, asked.map_err(cannot_open)?)
}

/// What is there, without making anything.
pub(super) async fn found(link: &Link, names: &Names) -> Result<Option<Live>, Error> {
    let meta = names.meta();
    let asked = link.send(&meta, |mut connection| {
        let mut asked = redis::cmd("HMGET");
        asked.arg(&meta).arg(&["format", "live", "shards", "id"]);
        async move { asked.query_async::<Found>(&mut connection).await }
    });
    let found = asked.await.map_err(|error| Error::Open { place: link.place(), source: Box::new(error) })?;
    let (Some(format), Some(generation), shards, id) = found else { return Ok(None) };
    usable(link, (format, generation, shards, id)).map(Some)
}

/// Gives a state that an earlier version made an id. A server that takes no writes leaves it without.
pub(super) async fn identified(link: &Link, names: &Names, live: Live) -> Live {
    if live.id.is_some() {
        return live;
    }
    let meta = names.meta();
    let given = link.send(&meta, |mut connection| {
        let mut give = pipe();
        give.hset_nx(&meta, "id", new_id()).ignore().hget(&meta, "id");
        async move { give.query_async::<(Option<String>,)>(&mut connection).await }
    });
    let id = given.await.inspect_err(|error| tracing::debug!(%error, "the state stays without an id"));
    Live { id: id.ok().and_then(|(id,)| id), ..live }
}

/// It begins with the time.
fn new_id() -> String {
    let made = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    format!("{made:012x}{:08x}", fastrand::u32(..))
}

/// Whether a state was made before another one. Shorter ids, of earlier versions, do not tell.
pub(super) fn is_older(id: &str, other: &str) -> bool {
    let tells = |id: &str| id.len() == 20;
    tells(id) && tells(other) && id < other
}

fn usable(link: &Link, (format, generation, shards, id): Meta) -> Result<Live, Error> {
    if format > FORMAT {
        return Err(Error::Newer { place: link.place(), found: format, known: FORMAT });
    }
    let refuse = |reason: &str| Err(Error::Open { place: link.place(), source: reason.into() });
    match (link.is_cluster(), shards) {
        (true, Some(shards)) if (1..=SLOTS).contains(&shards) => {
            Ok(Live { format, generation, shards: Some(shards), id })
        }
        (true, Some(shards)) => refuse(&format!("its number of shards is {shards}")),
        (true, None) => refuse("a state of one server lies there, which cannot become one of a cluster: import again"),
        (false, Some(_)) => refuse("a state of a cluster lies there: set state.mode to cluster"),
        (false, None) => Ok(Live { format, generation, shards: None, id }),
    }
}

type Meta = (u32, u32, Option<u16>, Option<String>);
type Found = (Option<u32>, Option<u32>, Option<u16>, Option<String>);

async fn whole(link: &Link, names: &Names) -> Result<Meta, rankwright_redis::Error> {
    let meta = names.meta();
    let asked = link.send(&meta, |mut connection| {
        let mut asked = pipe();
        asked.hset_nx(&meta, "format", FORMAT).ignore().hset_nx(&meta, "live", 1).ignore();
        asked.hset_nx(&meta, "id", new_id()).ignore();
        asked.hget(&meta, "format").hget(&meta, "live").hget(&meta, "shards").hget(&meta, "id");
        async move { asked.query_async(&mut connection).await }
    });
    asked.await
}

async fn in_shards(link: &Link, names: &Names) -> Result<Meta, rankwright_redis::Error> {
    let (meta, script) = (names.meta(), Script::new(OPEN));
    let asked = link.send(&meta, |mut connection| {
        let mut asked = script.prepare_invoke();
        asked.key(&meta).arg(FORMAT).arg(SHARDS).arg(new_id());
        async move { asked.invoke_async(&mut connection).await }
    });
    asked.await
}

/// Says so where the server may drop what it was given.
pub(super) async fn warn_of_eviction(link: &Link) {
    let asked = link.each(|mut connection| async move {
        redis::cmd("INFO").arg("memory").query_async::<String>(&mut connection).await
    });
    let Ok(servers) = asked.await else { return }; // managed servers may refuse to tell
    servers.iter().for_each(|memory| warn_of_policy(link, memory));
}

fn warn_of_policy(link: &Link, memory: &str) {
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
        let raised = self.link.send(&name, |mut connection| {
            let mut script = self.scripts.acquire.prepare_invoke();
            script.key(&name).arg(self.names.first_epoch());
            async move { script.invoke_async::<(u64, String)>(&mut connection).await }
        });
        let (epoch, position) = raised.await.map_err(failed("acquire a lease"))?;
        Ok(Lease { writer, epoch, position: Position(position) })
    }

    pub(super) async fn hold(&self, task: &str, holder: &str, time: Duration) -> Result<bool, Error> {
        let name = self.names.task(task);
        let held = self.link.send(&name, |mut connection| {
            let mut script = self.scripts.hold.prepare_invoke();
            script.key(&name).arg(holder).arg(time.as_millis().max(1) as u64);
            async move { script.invoke_async::<bool>(&mut connection).await }
        });
        held.await.map_err(failed("hold a task"))
    }

    pub(super) async fn holder(&self, task: &str) -> Result<Option<String>, Error> {
        let name = self.names.task(task);
        let asked = self.link.send(&name, |mut connection| {
            let mut asked = redis::cmd("GET");
            asked.arg(&name);
            async move { asked.query_async::<Option<String>>(&mut connection).await }
        });
        asked.await.map_err(failed("find who holds a task"))
    }

    /// Beside what else is known of the whole state, which stays as long as that.
    pub(super) async fn tell_growth(&self, word: &str) -> Result<(), Error> {
        let (meta, script) = (self.names.meta(), Script::new(TELL));
        let told = self.link.send(&meta, |mut connection| {
            let mut told = script.prepare_invoke();
            told.key(&meta).arg(GROWTH).arg(word);
            async move { told.invoke_async::<()>(&mut connection).await }
        });
        told.await.map_err(failed("leave word of how the state grows"))
    }

    pub(super) async fn growth(&self) -> Result<Option<String>, Error> {
        self.of_meta(GROWTH).await.map_err(failed("measure how the state grows"))
    }

    /// Where writers stand.
    pub(super) async fn positions(&self, writers: Vec<Writer>) -> Result<Vec<Option<Position>>, Error> {
        let rows = writers.iter().map(|writer| async move {
            let name = self.names.writer(writer);
            let asked = self.link.send(&name, |mut connection| {
                let mut asked = redis::cmd("HMGET");
                asked.arg(&name).arg("epoch").arg("position");
                async move { asked.query_async::<(Option<u64>, Option<String>)>(&mut connection).await }
            });
            let (epoch, position) = asked.await?;
            Ok(epoch.map(|_| Position(position.unwrap_or_default())))
        });
        try_join_all(rows).await.map_err(failed("tell positions"))
    }

    /// A server counts keys of all services of the database together.
    pub(super) async fn stats(&self) -> Result<Stats, Error> {
        let asked = self.link.each(|mut connection| async move {
            let mut asked = pipe();
            asked.cmd("DBSIZE").cmd("INFO").arg("memory");
            asked.query_async::<(u64, String)>(&mut connection).await
        });
        let servers = asked.await.map_err(failed("tell its size"))?;
        let used = |memory: &str| {
            memory.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse::<u64>().ok())
        };
        let bytes = servers.iter().map(|(_, memory)| used(memory)).sum::<Option<u64>>();
        Ok(Stats { entities: servers.iter().map(|(keys, _)| keys).sum(), bytes })
    }
}

/// Keeps the import of the crate in one place.
pub(super) type Answer = redis::Value;
