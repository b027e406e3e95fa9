//! Visits all keys of a space.

use super::layout::unframe;
use super::{Shared, failed};
use crate::{Entity, Error, Key, Listed, Rewrite, Scope, Slot, Space, Writer};
use futures_util::future::try_join_all;
use rankwright_event::Timestamp;
use rankwright_redis::redis::{Cmd, Script, cmd};
use std::collections::HashSet;
use std::sync::Arc;

/// Keys that are asked for at once.
const AT_ONCE: usize = 1000;
/// Keys of the first request, when the size of their values is not known, and about the bytes of later ones: an answer has a
/// time limit.
pub(super) const FIRST: usize = 16;
const ANSWER: usize = 8 << 20;
/// How many times as many as before a request may ask for: small ones may lie before large ones.
const GROWTH: usize = 4;

/// What lies under some of the names that are gone through.
pub(super) struct Page {
    pub(super) listed: Listed,
    /// As many names as to ask for next.
    pub(super) next: usize,
}

/// Replaces a value (or removes it, where the new one is empty) if it still has a stamp; whether it did.
const SWAP: &str = "
if redis.call('GETRANGE', KEYS[1], 0, 7) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL') end
return 1";

fn page(cursor: u64, pattern: &[u8]) -> Cmd {
    let mut page = cmd("SCAN");
    page.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(AT_ONCE);
    page
}

impl Shared {
    pub(super) async fn scan(&self, space: Space) -> Result<Listed, Error> {
        let mut listed = Listed::new();
        self.list(&self.names_of(space).await?, &mut listed).await?;
        listed.sort_by(|left, right| left.0.cmp(&right.0));
        Ok(listed)
    }

    pub(super) async fn oldest(&self, space: Space, until: Timestamp, limit: usize) -> Result<Listed, Error> {
        if space == Space::Values {
            return Err(Error::Failed { action: "list values by time", source: "values have no index".into() });
        }
        let names = self.oldest_names(space, until, limit).await?;
        let mut listed = Listed::with_capacity(names.len());
        self.list(&names, &mut listed).await?;
        listed.retain(|(_, entity)| entity.newest() <= until); // one may have been written to meanwhile
        Ok(listed)
    }

    /// What lies under names, some of them at a time.
    async fn list(&self, names: &[Vec<u8>], listed: &mut Listed) -> Result<(), Error> {
        let (mut left, mut at_once) = (names, FIRST);
        while !left.is_empty() {
            let (names, rest) = left.split_at(at_once.min(left.len()));
            let page = self.page(names).await?;
            listed.extend(page.listed);
            (left, at_once) = (rest, page.next);
        }
        Ok(())
    }

    /// What lies under some names. It comes over the link that the names have come over: where sentinels name the
    /// server, the other one may lead to a former master for a while, which does not have what is there now.
    pub(super) async fn page(&self, names: &[Vec<u8>]) -> Result<Page, Error> {
        let values = self.values_by(&self.link, names.iter().map(Vec::as_slice)).await?;
        let bytes: usize = values.iter().flatten().map(Vec::len).sum();
        let found = self.entities(names, values)?;
        let listed = found.into_iter().map(|(key, _, entity)| (key, Arc::new(entity))).collect();
        let next = (ANSWER * names.len() / bytes.max(1)).clamp(1, AT_ONCE.min(GROWTH * names.len()));
        Ok(Page { listed, next })
    }

    /// Names of all items.
    pub(super) async fn names_of_items(&self) -> Result<Vec<Vec<u8>>, Error> {
        let mut names = self.all_values().await?;
        names.retain(|name| matches!(self.names.key(name), Some(Key { scope: Scope::Item(_), .. })));
        Ok(names)
    }

    /// The oldest of each shard, and of these the oldest.
    async fn oldest_names(&self, space: Space, until: Timestamp, limit: usize) -> Result<Vec<Vec<u8>>, Error> {
        let indexes = self.names.indexes(space);
        let listed = indexes.iter().map(|index| {
            self.link.send(index, move |mut connection| {
                let mut listing = cmd("ZRANGEBYSCORE");
                listing.arg(index).arg("-inf").arg(until.millis()).arg("WITHSCORES").arg("LIMIT").arg(0).arg(limit);
                async move { listing.query_async::<Vec<(Vec<u8>, f64)>>(&mut connection).await }
            })
        });
        let mut names = try_join_all(listed).await.map_err(failed("list"))?.concat();
        if indexes.len() > 1 {
            names.sort_by(|left, right| left.1.total_cmp(&right.1).then_with(|| left.0.cmp(&right.0)));
            names.truncate(limit);
        }
        Ok(names.into_iter().map(|(name, _)| name).collect())
    }

    /// Entities under names, with their stamps; those that are gone by now are left out.
    async fn some(&self, names: &[Vec<u8>]) -> Result<Vec<(Key, super::layout::Stamp, Entity)>, Error> {
        let values = self.values(names.iter().map(Vec::as_slice)).await?;
        self.entities(names, values)
    }

    fn entities(
        &self,
        names: &[Vec<u8>],
        values: Vec<Option<Vec<u8>>>,
    ) -> Result<Vec<(Key, super::layout::Stamp, Entity)>, Error> {
        let mut found = Vec::new();
        for (name, value) in names.iter().zip(values) {
            let Some(value) = value else { continue };
            let key = self.names.key(name).ok_or_else(|| Error::Damaged {
                key: name.escape_ascii().to_string(),
                reason: "these are not the bytes of a key".to_owned(),
            })?;
            let (stamp, entity) = unframe(&key, &value)?;
            found.push((key, stamp, entity));
        }
        Ok(found)
    }

    pub(super) async fn names_of(&self, space: Space) -> Result<Vec<Vec<u8>>, Error> {
        if space == Space::Values {
            return self.all_values().await;
        }
        let indexes = self.names.indexes(space);
        let listed = indexes.iter().map(|index| {
            self.link.send(index, move |mut connection| {
                let mut listing = cmd("ZRANGE");
                listing.arg(index).arg(0).arg(-1);
                async move { listing.query_async::<Vec<Vec<u8>>>(&mut connection).await }
            })
        });
        Ok(try_join_all(listed).await.map_err(failed("list"))?.concat())
    }

    /// How many names there are of a space that has an index.
    pub(super) async fn count(&self, space: Space) -> Result<usize, Error> {
        let indexes = self.names.indexes(space);
        let counted = indexes.iter().map(|index| {
            self.link.send(index, move |mut connection| {
                let mut count = cmd("ZCARD");
                count.arg(index);
                async move { count.query_async::<usize>(&mut connection).await }
            })
        });
        Ok(try_join_all(counted).await.map_err(failed("count"))?.into_iter().sum())
    }

    /// Whether there is any value.
    pub(super) async fn has_values(&self) -> Result<bool, Error> {
        let pattern = &self.names.pattern(Space::Values);
        let found = self.link.each(|mut connection| async move {
            let mut cursor = 0u64;
            loop {
                let (next, some): (u64, Vec<Vec<u8>>) = page(cursor, pattern).query_async(&mut connection).await?;
                if next == 0 || !some.is_empty() {
                    return Ok(!some.is_empty());
                }
                cursor = next;
            }
        });
        Ok(found.await.map_err(failed("list"))?.contains(&true))
    }

    /// All writers that ever had a lease.
    pub(super) async fn rows_of_writers(&self) -> Result<Vec<Writer>, Error> {
        let names = self.all_names(self.names.writers().as_bytes()).await?;
        let writer = |name: &Vec<u8>| self.names.writer_of(name);
        Ok(names.iter().filter_map(writer).collect())
    }

    async fn all_values(&self) -> Result<Vec<Vec<u8>>, Error> {
        self.all_names(&self.names.pattern(Space::Values)).await
    }

    /// Names of all keys that match; one that is written meanwhile may be among them or not.
    async fn all_names(&self, pattern: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let listed = self.link.each(|mut connection| async move {
            let (mut names, mut cursor) = (HashSet::new(), 0u64);
            loop {
                let (next, some): (u64, Vec<Vec<u8>>) = page(cursor, pattern).query_async(&mut connection).await?;
                names.extend(some);
                if next == 0 {
                    return Ok(names);
                }
                cursor = next;
            }
        });
        let servers = listed.await.map_err(failed("list"))?;
        let mut all = HashSet::new();
        servers.into_iter().for_each(|names| all.extend(names)); // a key on its way may be on two
        Ok(all.into_iter().collect())
    }

    pub(super) async fn remove_outdated(&self, outdated: impl Fn(Slot, Timestamp) -> bool) -> Result<u64, Error> {
        let swap = Script::new(SWAP);
        let mut removed = 0;
        for names in self.all_values().await?.chunks(AT_ONCE) {
            for (key, stamp, mut entity) in self.some(names).await? {
                if !entity.values().any(|(slot, stored)| outdated(slot, stored.at)) {
                    continue;
                }
                entity.retain(|slot, stored| !outdated(slot, stored.at));
                let swapped = self.swap(&swap, &key, stamp, &entity).await?;
                removed += u64::from(swapped && entity.is_empty());
            }
        }
        Ok(removed)
    }

    /// What another process wrote to meanwhile is looked at again.
    pub(super) async fn rewrite(&self, change: &Rewrite) -> Result<u64, Error> {
        let swap = Script::new(SWAP);
        let (mut changed, mut left) = (0, self.all_values().await?);
        while !left.is_empty() {
            let mut again = Vec::new();
            for names in left.chunks(AT_ONCE) {
                for (key, stamp, entity) in self.some(names).await? {
                    let Some(entity) = change(&key, &entity) else { continue };
                    match self.swap(&swap, &key, stamp, &entity).await? {
                        true => changed += 1,
                        false => again.push(self.names.entity(&key)),
                    }
                }
            }
            left = again;
        }
        Ok(changed)
    }

    /// Puts what is left of an entity in its place, unless another process wrote to it; whether it did.
    async fn swap(
        &self,
        swap: &Script,
        key: &Key,
        stamp: super::layout::Stamp,
        entity: &Entity,
    ) -> Result<bool, Error> {
        let name = self.names.entity(key);
        let fresh = super::layout::Stamp::random();
        let value = match entity.is_empty() {
            true => Vec::new(),
            false => super::layout::frame(fresh, entity, self.format)?,
        };
        self.cache.sent(&name);
        let swapped = self.link.send(&name, |mut connection| {
            let mut script = swap.prepare_invoke();
            script.key(&name).arg(&stamp.0[..]).arg(&value);
            async move { script.invoke_async::<bool>(&mut connection).await }
        });
        let swapped = swapped.await.map_err(failed("remove outdated values"))?;
        let left = (!entity.is_empty()).then(|| (fresh, Arc::new(entity.clone())));
        if swapped {
            self.cache.wrote(name, left);
        }
        Ok(swapped)
    }
}
