//! Fills a generation beside the live one, and makes it live everywhere.
//!
//! One process fills a generation, and no other reads or writes it: values are put there as they are, without comparing. Then
//! the pointer to the live one moves. Each batch that is committed to one server looks at the pointer in the script that
//! applies it, so that none goes into a generation that is left. In a cluster the rows of the writers are raised
//! after the pointer has moved; what was committed between the two is in the positions of the old generation alone, and
//! is read again from its source. Leases of different generations never look alike: epochs begin at a number of the
//! generation.

use super::change::index_number;
use super::layout::{Names, Stamp, frame};
use super::shards::Shard;
use super::slots::field;
use super::{RedisStore, Shared, failed};
use super::{meta, owner};
use crate::{BoxFuture, Entity, Error, Fingerprint, Key, Listed, Position, Space, Writer};
use futures_util::future::try_join_all;
use rankwright_redis::redis::{FromRedisValue, Pipeline, Script, cmd, pipe};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How often a process looks which generation is live.
pub(super) const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// Processes that have not looked yet still read the generation that was left.
const LEFT_FOR: Duration = Duration::from_secs(600);
/// How long the previous generation stays where it is to go at once: a process that was asleep for a moment still reads it.
const READ_FOR: Duration = Duration::from_secs(5);
/// Entities that are put with one request to each server.
const AT_ONCE: usize = 500;
/// A writer's row expires a year after it was last written.
const ROW_LIVES_MS: i64 = 31_536_000_000;

/// What is live, and a number that no generation had: an earlier number can no longer be made live. KEYS: the pointer.
const BEGIN: &str = "
local live, last = tonumber(redis.call('HGET', KEYS[1], 'live')), tonumber(redis.call('HGET', KEYS[1], 'last') or '0')
if last < live then last = live end
redis.call('HSET', KEYS[1], 'last', last + 1)
return {live, last + 1}";

/// Moves the pointer, where it stands as expected and no later generation was begun, and notes where it stood; sent again after a
/// broken connection, it finds that it has. KEYS: the pointer. ARGV: the live generation, the next, the name under which it was
/// imported, if it has one.
const MOVE: &str = "
local pointer = redis.call('HMGET', KEYS[1], 'live', 'last')
if pointer[1] == ARGV[2] then return 1 end
if pointer[1] ~= ARGV[1] or pointer[2] ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'live', ARGV[2], 'former', ARGV[1])
if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'import', ARGV[3]) end
return 1";

/// The same with slots, on one server. KEYS: the pointer; slots of the live generation and of the next; watermarks of the live
/// one. ARGV: the live generation, the next, that name, 1 where the live one must never have been written to.
const SWITCH: &str = "
local pointer = redis.call('HMGET', KEYS[1], 'live', 'last')
if pointer[1] == ARGV[2] then return 1 end
if pointer[1] ~= ARGV[1] or pointer[2] ~= ARGV[2] then return 0 end
if ARGV[4] == '1' and redis.call('EXISTS', KEYS[4]) == 1 then return 0 end
local slots = redis.call('HGETALL', KEYS[2])
for i = 1, #slots, 2 do redis.call('HSET', KEYS[3], slots[i], slots[i + 1]) end
redis.call('HSET', KEYS[1], 'live', ARGV[2], 'former', ARGV[1])
if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'import', ARGV[3]) end
return 1";

/// What is known of generations.
pub(super) struct Begun {
    pub(super) live: u32,
    /// The one that was live before.
    pub(super) former: Option<u32>,
    last: Option<u32>,
    /// Nothing is left of those up to here.
    clean: u32,
    /// The last one when those that did not become live were removed.
    cleared: Option<u32>,
    /// The last one that has all slots of its predecessor; in a cluster.
    pub(super) brought: Option<u32>,
}

impl Begun {
    /// Those that are no longer live, or never became so. Something may be left of each: the process that filled it may have been
    /// killed after a later one was live already, or before the previous one had a time limit.
    fn left_behind(&self) -> impl Iterator<Item = u32> + use<> {
        let (live, former) = (self.live, self.former);
        let first = if former.is_some() { self.clean } else { live };
        (first + 1..=self.last.unwrap_or_default()).filter(move |one| *one != live && Some(*one) != former)
    }
}

/// A generation that is being filled.
pub struct Filling {
    live: Arc<Shared>,
    names: Names,
    /// What its fingerprints mean is what they mean in the live one.
    slots: Vec<Fingerprint>,
    /// Under which its import is remembered; empty for none.
    name: String,
}

impl RedisStore {
    /// Begins a generation. What earlier attempts have left goes, also of those that are under way: they can no longer become
    /// live.
    ///
    /// # Errors
    /// When the servers cannot be used.
    pub fn fill_next(&self) -> BoxFuture<'_, Result<Filling, Error>> {
        Box::pin(async move {
            let live = self.current();
            let (number, _) = live.begin_next().await?;
            let names = live.names.of_generation(number, live.names.shards());
            let slots = live.all_slots().await?;
            Ok(Filling { live, names, slots, name: String::new() })
        })
    }

    /// Whether no event was ever written to the live generation.
    ///
    /// # Errors
    /// When the servers cannot be used.
    pub fn is_untouched(&self) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async move { self.current().is_untouched().await })
    }

    /// The name of the newest import that had one and became live.
    ///
    /// # Errors
    /// When the servers cannot be used.
    pub fn imported(&self) -> BoxFuture<'_, Result<Option<String>, Error>> {
        Box::pin(async move {
            let live = self.current();
            live.of_meta("import").await.map_err(failed("find what was imported"))
        })
    }

    /// Whether keys are shared out among servers.
    pub fn is_cluster(&self) -> bool {
        self.current().link.is_cluster()
    }
}

impl Shared {
    /// A new number, and how many keys earlier attempts had left, which can no longer become live.
    async fn begin_next(&self) -> Result<(u32, u64), Error> {
        let (meta, script) = (self.names.meta(), Script::new(BEGIN));
        let begun = self.link.send(&meta, |mut connection| {
            let mut begin = script.prepare_invoke();
            begin.key(&meta);
            async move { begin.invoke_async::<(u32, u32)>(&mut connection).await }
        });
        let (_, number) = begun.await.map_err(failed("begin a generation"))?;
        let begun = self.begun().await?;
        let mut removed = 0;
        for earlier in begun.left_behind().filter(|earlier| *earlier < number) {
            let left = self.names.of_generation(earlier, self.names.shards()).prefix_of_all();
            removed += self.link.remove_all(&left).await.map_err(failed("remove what an earlier attempt left"))?;
        }
        if let Some(former) = begun.former {
            self.remember("clean", former.saturating_sub(1)).await?;
        }
        Ok((number, removed))
    }

    /// Removes what attempts have left that did not become live; how many keys. It is remembered up to where that was done, as
    /// it takes a look at every key there is.
    pub(super) async fn clear_unfinished(&self) -> Result<u64, Error> {
        let begun = self.begun().await?;
        if begun.last == begun.cleared || begun.left_behind().next().is_none() {
            return Ok(0);
        }
        let (number, removed) = self.begin_next().await?;
        self.remember("cleared", number).await?;
        Ok(removed)
    }

    /// Removes what the live generation has taken the place of; how many keys.
    pub(super) async fn clear_former(&self) -> Result<u64, Error> {
        let Begun { live, former: Some(former), clean, .. } = self.begun().await? else { return Ok(0) };
        if former <= clean || live != self.names.generation() {
            return Ok(0);
        }
        self.bring_slots().await?;
        tokio::time::sleep(READ_FOR).await;
        let left = self.names.of_generation(former, self.names.shards()).prefix_of_all();
        let removed = self.link.remove_all(&left).await.map_err(failed("remove the previous generation"))?;
        self.remember("clean", former).await?;
        Ok(removed)
    }

    /// Which generations there have been. It asks the server again, because another one than this may be live by now.
    pub(super) async fn begun(&self) -> Result<Begun, Error> {
        let meta = self.names.meta();
        let asked = self.link.send(&meta, |mut connection| {
            let mut asked = cmd("HMGET");
            asked.arg(&meta).arg(&["live", "former", "last", "clean", "cleared", "brought"]);
            async move { asked.query_async::<[Option<u32>; 6]>(&mut connection).await }
        });
        let [live, former, last, clean, cleared, brought] = asked.await.map_err(failed("find what was started"))?;
        Ok(Begun { live: live.unwrap_or_default(), former, last, clean: clean.unwrap_or_default(), cleared, brought })
    }

    pub(super) async fn remember(&self, field: &str, generation: u32) -> Result<(), Error> {
        let meta = self.names.meta();
        let noted = self.link.send(&meta, |mut connection| {
            let mut note = cmd("HSET");
            note.arg(&meta).arg(field).arg(generation);
            async move { note.query_async::<()>(&mut connection).await }
        });
        noted.await.map_err(failed("note what was done"))
    }

    async fn is_untouched(&self) -> Result<bool, Error> {
        // a writer's first batch says how far it has come, and no batch takes that back while it has values
        for space in [Space::Watermarks, Space::Joins, Space::Waiting, Space::Outbox, Space::Seen] {
            if !self.names_of(space).await?.is_empty() {
                return Ok(false);
            }
        }
        Ok(!self.has_values().await?)
    }

    /// A field of what concerns all generations.
    pub(super) async fn of_meta<T: FromRedisValue + Send>(
        &self,
        field: &str,
    ) -> Result<Option<T>, rankwright_redis::Error> {
        let meta = self.names.meta();
        let asked = self.link.send(&meta, |mut connection| {
            let mut asked = cmd("HGET");
            asked.arg(&meta).arg(field);
            async move { asked.query_async::<Option<T>>(&mut connection).await }
        });
        asked.await
    }

    /// Takes their leases from all writers.
    async fn raise_writers(&self) -> Result<(), Error> {
        for writer in self.rows_of_writers().await? {
            self.become_writer(writer).await?;
        }
        Ok(())
    }
}

impl Filling {
    /// What the slots of the live generation mean, in the order of their numbers.
    pub fn slots(&self) -> &[Fingerprint] {
        &self.slots
    }

    /// Has its import remembered under a name, from the moment it is live.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Number of the generation.
    pub fn number(&self) -> u32 {
        self.names.generation()
    }

    /// Puts entities where nothing lies.
    ///
    /// # Errors
    /// When the servers cannot be used; it may be tried again.
    pub fn put<'a>(&'a self, entities: &'a Listed) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            for some in entities.chunks(AT_ONCE) {
                self.put_some(some).await?;
            }
            Ok(())
        })
    }

    async fn put_some(&self, entities: &[(Key, Arc<Entity>)]) -> Result<(), Error> {
        let mut parts: BTreeMap<Shard, Pipeline> = BTreeMap::new();
        for (key, entity) in entities {
            let (space, shard) = (key.scope.space(), self.names.shard(key));
            let options = &self.live.options;
            let lives = if space == Space::Seen { options.seen } else { options.retention };
            let (name, value) = (self.names.entity(key), frame(Stamp::random(), entity, self.live.format)?);
            let part = parts.entry(shard).or_insert_with(pipe);
            part.cmd("SET").arg(&name).arg(value).arg("PX").arg(lives.as_millis() as u64).ignore();
            if index_number(space) > 0 {
                let index = self.names.index(space, shard);
                part.cmd("ZADD").arg(&index).arg(entity.newest().millis()).arg(&name).ignore();
                part.cmd("PEXPIRE").arg(index).arg(lives.as_millis() as u64).ignore();
            }
        }
        try_join_all(parts.into_iter().map(|(shard, part)| async move {
            let place = self.names.index(Space::Values, shard);
            let put = self.live.link.send(place, |mut connection| {
                let part = part.clone();
                async move { part.query_async::<()>(&mut connection).await }
            });
            put.await.map_err(failed("fill a generation"))
        }))
        .await
        .map(drop)
    }

    /// Says where a writer stands.
    ///
    /// # Errors
    /// When the servers cannot be used; it may be tried again.
    pub fn stands<'a>(&'a self, writer: &'a Writer, position: &'a Position) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let row = self.names.writer(writer);
            let put = self.live.link.send(&row, |mut connection| {
                let mut put = pipe();
                put.hset(&row, "epoch", self.names.first_epoch()).ignore();
                put.hset(&row, "position", &position.0).ignore();
                put.pexpire(&row, ROW_LIVES_MS).ignore();
                async move { put.query_async::<()>(&mut connection).await }
            });
            put.await.map_err(failed("hand over a position"))
        })
    }

    /// Makes this generation the live one, and has the previous one expire. False where another one has become live meanwhile or,
    /// where the live one has to be `untouched`, was written to.
    ///
    /// # Errors
    /// When the servers cannot be used.
    pub fn switch(&self, untouched: bool) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async move {
            let (live, next) = (&self.live.names, &self.names);
            if untouched && !self.live.is_untouched().await? {
                let done = self.is_live().await?;
                if !done {
                    self.give_up().await;
                }
                return Ok(done);
            }
            let switched = match self.live.link.is_cluster() {
                true => self.switch_in_cluster().await?,
                false => {
                    let script = Script::new(SWITCH);
                    let said = self.live.link.send(live.meta(), |mut connection| {
                        let mut switch = script.prepare_invoke();
                        switch.key(live.meta()).key(live.slots()).key(next.slots());
                        switch.key(live.index(Space::Watermarks, Shard::WHOLE));
                        switch.arg(live.generation()).arg(next.generation()).arg(&self.name).arg(u8::from(untouched));
                        async move { switch.invoke_async::<bool>(&mut connection).await }
                    });
                    said.await.map_err(failed("make a generation live"))?
                }
            };
            if !switched {
                if !self.is_live().await? {
                    self.give_up().await;
                }
            } else if let Err(error) = self.bring_slots().await {
                let generation = live.generation();
                tracing::warn!(%error, generation, "keys of the previous generation stay until their own time is over");
            } else if let Err(error) = self.live.link.expire_all(&live.prefix_of_all(), LEFT_FOR).await {
                let generation = live.generation();
                tracing::warn!(%error, generation, "some keys of the previous generation stay until their own time is over");
            }
            Ok(switched)
        })
    }

    /// Whether this generation is the live one already.
    async fn is_live(&self) -> Result<bool, Error> {
        let live = self.live.of_meta::<u32>("live").await.map_err(failed("find what is live"))?;
        Ok(live == Some(self.names.generation()))
    }

    /// Removes what was put there, as long as it cannot have become live.
    pub fn give_up(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.live.link.remove_all(&self.names.prefix_of_all()).await {
                tracing::debug!(%error, "what was filled is removed by the next attempt");
            }
        })
    }

    /// Copies slots that the previous generation of a cluster gave out while this one became live, before its keys expire.
    pub(super) async fn bring_slots(&self) -> Result<(), Error> {
        match self.live.link.is_cluster() {
            true => self.live.bring_between(&self.live.names, &self.names).await,
            false => Ok(()),
        }
    }

    async fn switch_in_cluster(&self) -> Result<bool, Error> {
        self.copy_slots().await?;
        let moved = self.move_pointer().await?;
        if moved {
            self.live.raise_writers().await?;
        }
        Ok(moved)
    }

    /// Copies what was given out so far; what comes later is brought afterwards.
    pub(super) async fn copy_slots(&self) -> Result<(), Error> {
        let slots = self.live.all_slots().await?;
        let name = self.names.slots();
        let copied = self.live.link.send(&name, |mut connection| {
            let mut copy = cmd("HSET");
            copy.arg(&name);
            for (number, fingerprint) in slots.iter().enumerate() {
                copy.arg(field(*fingerprint)).arg(number);
            }
            let none = slots.is_empty();
            async move { if none { Ok(()) } else { copy.query_async::<()>(&mut connection).await } }
        });
        copied.await.map_err(failed("copy slots"))
    }

    pub(super) async fn move_pointer(&self) -> Result<bool, Error> {
        let (live, next) = (&self.live.names, &self.names);
        let meta = live.meta();
        let script = Script::new(MOVE);
        let moved = self.live.link.send(&meta, |mut connection| {
            let mut pointer = script.prepare_invoke();
            pointer.key(&meta).arg(live.generation()).arg(next.generation()).arg(&self.name);
            async move { pointer.invoke_async::<bool>(&mut connection).await }
        });
        moved.await.map_err(failed("make a generation live"))
    }
}

impl Shared {
    /// What is live now, where it is another generation than this one, or was made again by another version.
    pub(super) async fn successor(&self) -> Result<Option<Self>, Error> {
        let live = meta::open(&self.link, &self.names).await.map_err(|error| match error {
            Error::Open { source, .. } => Error::Failed { action: "find what is live", source },
            error => error,
        })?;
        let names = self.names.of_generation(live.generation, live.shards);
        if self.is(&names, live.format, live.id.as_deref()) {
            return Ok(None);
        }
        let emptied = self.id.is_some() && self.id != live.id;
        let first = self.lost.as_ref().or(self.id.as_ref().filter(|_| emptied));
        // one that was made before it comes from a backup
        let is_back = |first: &String| live.id.as_ref().is_some_and(|id| id == first || meta::is_older(id, first));
        let lost = first.filter(|first| !is_back(first)).cloned();
        if emptied && lost.is_none() {
            tracing::info!(server = self.link.place(), "the state that was gone is back");
        } else if emptied {
            tracing::error!(server = self.link.place(), "the state is gone, and an empty one lies in its place");
            if let Some(own) = self.owner.get() {
                owner::mark_again(&self.link, &names, own).await;
            }
        } else {
            tracing::info!(from = self.names.generation(), to = live.generation, "going on with another generation");
        }
        Ok(Some(Self {
            link: self.link.clone(),
            reading: self.reading.clone(),
            names,
            scripts: self.scripts.clone(),
            cache: self.cache.clone(), // it goes by whole names
            options: self.options,
            layout: live.format,
            format: self.options.format.in_layout(live.format),
            id: live.id,
            lost,
            owner: self.owner.clone(),
            line: Default::default(),
            numbers: Default::default(),
        }))
    }
}
