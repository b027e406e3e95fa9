//! State in the memory of this process.

mod usage;

use crate::expiry::{Pace, outdated};
use crate::timeline::Timeline;
use crate::{
    BoxFuture, Commit, Entity, Error, Fingerprint, Key, Lease, Listed, Move, Outcome, Position, Rows, Slot, Space,
    Stats, Store, Usage, Writer,
};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use parking_lot::{Mutex, RwLock};
use rankwright_event::Timestamp;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

const SHARDS: usize = 64;

/// Entities in shards, each behind a lock of its own: rankings read beside ingest, and large ones lock all shards for the
/// microseconds that their look-ups take.
pub struct MemoryStore {
    hasher: RandomState,
    values: Vec<Shard>,
    work: Vec<Shard>, // joins, outbox and seen events, which are listed often and are few
    writers: Mutex<HashMap<Writer, (u64, Position)>>,
    slots: Mutex<HashMap<Fingerprint, Slot>>,
    /// Of work; changed under the lock of the writers.
    timeline: Mutex<Option<Timeline>>,
    pace: Pace,
}

type Shard = RwLock<HashTable<(Key, Arc<Entity>)>>;

impl Default for MemoryStore {
    fn default() -> Self {
        let shards = || (0..SHARDS).map(|_| Shard::default()).collect();
        let (writers, slots, timeline, pace) = Default::default();
        Self { hasher: RandomState::default(), values: shards(), work: shards(), writers, slots, timeline, pace }
    }
}

impl MemoryStore {
    /// All writers, and where they stand.
    pub fn writers(&self) -> Vec<(Writer, Position)> {
        self.writers.lock().iter().map(|(writer, (_, position))| (writer.clone(), position.clone())).collect()
    }

    fn shards(&self, space: Space) -> &[Shard] {
        match space {
            Space::Values => &self.values,
            _ => &self.work,
        }
    }

    fn hash(&self, key: &Key) -> (u64, &Shard) {
        let hash = self.hasher.hash_one(key);
        (hash, &self.shards(key.scope.space())[(hash >> 32) as usize % SHARDS])
    }

    fn get(&self, key: &Key) -> Option<Arc<Entity>> {
        let (hash, shard) = self.hash(key);
        shard.read().find(hash, |entry| entry.0 == *key).map(|entry| entry.1.clone())
    }

    /// What lies under keys, in their order.
    fn rows(&self, keys: &[Key]) -> Rows {
        if keys.len() < SHARDS {
            return keys.iter().map(|key| self.get(key)).collect();
        }
        // Each lock, and each count of a holder, has the processor wait for all that it has under way. So all locks come first,
        // then all look-ups, which wait for memory beside each other, and the counts last, when they are near.
        let values: Vec<_> = self.values.iter().map(|shard| shard.read()).collect();
        let work: Vec<_> = match keys.iter().any(|key| key.scope.space() != Space::Values) {
            true => self.work.iter().map(|shard| shard.read()).collect(),
            false => Vec::new(),
        };
        let find = |key: &Key| {
            let shards = if key.scope.space() == Space::Values { &values } else { &work };
            let hash = self.hasher.hash_one(key);
            shards[(hash >> 32) as usize % SHARDS].find(hash, |entry| entry.0 == *key).map(|entry| &entry.1)
        };
        let found: Vec<Option<&Arc<Entity>>> = keys.iter().map(find).collect();
        std::hint::black_box(found.iter().flatten().map(|entity| Arc::strong_count(entity)).sum::<usize>());
        found.into_iter().map(Option::<&Arc<Entity>>::cloned).collect()
    }

    /// Writes an entity, in place of the stored one or into it.
    fn put(&self, key: Key, change: Entity, replace: bool) {
        let (hash, shard) = self.hash(&key);
        let mut shard = shard.write();
        match shard.find_mut(hash, |entry| entry.0 == key) {
            Some((_, entity)) if replace => *entity = Arc::new(change),
            Some((_, entity)) => Arc::make_mut(entity).absorb(&change),
            None => {
                shard.insert_unique(hash, (key, Arc::new(change)), |entry| self.hasher.hash_one(&entry.0));
            }
        }
    }

    fn remove(&self, key: &Key) {
        let (hash, shard) = self.hash(key);
        if let Ok(entry) = shard.write().find_entry(hash, |entry| entry.0 == *key) {
            entry.remove();
        }
    }

    fn apply(&self, lease: &Lease, commit: Commit) -> Outcome {
        let mut writers = self.writers.lock();
        let moves = commit.moves(lease);
        if !moves.iter().all(|Move { lease, from, .. }| {
            writers.get(&lease.writer).is_some_and(|(epoch, at)| *epoch == lease.epoch && at == from)
        }) {
            return Outcome::LostLease;
        }
        if commit.absent.iter().any(|key| self.get(key).is_some()) {
            return Outcome::Exists;
        }
        for Move { lease, to, .. } in moves {
            writers.insert(lease.writer, (lease.epoch, to));
        }
        self.pace.written(commit.writes.len());
        let mut timeline = self.timeline.lock();
        let mut writes = commit.writes.into_iter().peekable();
        while let Some((key, change)) = writes.next() {
            let noted = timeline.as_ref().map(|_| key.clone());
            let replaced_by = writes.next_if(|(next, after)| change.is_none() && after.is_some() && *next == key);
            match (change, replaced_by) {
                (Some(change), _) => self.put(key, change, false),
                (None, Some((_, Some(change)))) => self.put(key, change, true),
                (None, _) => self.remove(&key),
            }
            if let (Some(timeline), Some(key)) = (timeline.as_mut(), noted) {
                timeline.note(&key, self.get(&key).map(|entity| entity.newest()));
            }
        }
        Outcome::Applied
    }

    fn allocate(&self, wanted: &[Fingerprint]) -> Result<Vec<Slot>, Error> {
        let mut slots = self.slots.lock();
        let mut number = |fingerprint| {
            let given = slots.len();
            match slots.entry(fingerprint) {
                Entry::Occupied(slot) => Ok(*slot.get()),
                Entry::Vacant(place) => Ok(*place.insert(Slot(u16::try_from(given).map_err(|_| Error::Full(given))?))),
            }
        };
        wanted.iter().map(|fingerprint| number(*fingerprint)).collect()
    }

    fn list(&self, space: Space) -> Listed {
        let mut found = Listed::new();
        for shard in self.shards(space) {
            found.extend(shard.read().iter().filter(|entry| entry.0.scope.space() == space).cloned());
        }
        found.sort_by(|left, right| left.0.cmp(&right.0));
        found
    }

    fn in_timeline<T>(&self, look: impl FnOnce(&Timeline) -> T) -> T {
        let _writers = self.writers.lock();
        let mut timeline = self.timeline.lock();
        look(timeline.get_or_insert_with(|| {
            let mut timeline = Timeline::default();
            for shard in &self.work {
                shard.read().iter().for_each(|(key, entity)| timeline.note(key, Some(entity.newest())));
            }
            timeline
        }))
    }

    fn oldest_of(&self, space: Space, until: Timestamp, limit: usize) -> Listed {
        let listed = |key: Key| self.get(&key).map(|entity| (key, entity));
        self.in_timeline(|timeline| timeline.oldest(space, until, limit).into_iter().filter_map(listed).collect())
    }

    fn entities(&self) -> u64 {
        self.values.iter().map(|shard| shard.read().len() as u64).sum()
    }

    fn remove_outdated(&self, outdated: impl Fn(Slot, Timestamp) -> bool) -> u64 {
        if !self.pace.is_due() {
            return 0;
        }
        let mut removed = 0;
        for shard in &self.values {
            let mut shard = shard.write();
            let before = shard.len();
            shard.retain(|(_, entity)| {
                if entity.values().any(|(slot, stored)| outdated(slot, stored.at)) {
                    Arc::make_mut(entity).retain(|slot, stored| !outdated(slot, stored.at));
                    return !entity.is_empty();
                }
                true
            });
            removed += (before - shard.len()) as u64;
        }
        self.pace.swept(self.entities());
        removed
    }
}

impl Store for MemoryStore {
    fn slots<'a>(&'a self, wanted: &'a [Fingerprint]) -> BoxFuture<'a, Result<Vec<Slot>, Error>> {
        Box::pin(async move { self.allocate(wanted) })
    }

    fn read<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move { Ok(self.rows(keys)) })
    }

    fn acquire<'a>(&'a self, writer: &'a Writer) -> BoxFuture<'a, Result<Lease, Error>> {
        Box::pin(async move {
            let mut writers = self.writers.lock();
            let (epoch, position) = writers.entry(writer.clone()).or_default();
            *epoch += 1;
            Ok(Lease { writer: writer.clone(), epoch: *epoch, position: position.clone() })
        })
    }

    fn commit<'a>(&'a self, lease: &'a Lease, commit: Commit) -> BoxFuture<'a, Result<Outcome, Error>> {
        Box::pin(async move { Ok(self.apply(lease, commit)) })
    }

    fn scan(&self, space: Space) -> BoxFuture<'_, Result<Listed, Error>> {
        Box::pin(async move { Ok(self.list(space)) })
    }

    fn oldest(&self, space: Space, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Listed, Error>> {
        Box::pin(async move { Ok(self.oldest_of(space, until, limit)) })
    }

    fn count(&self, space: Space) -> BoxFuture<'_, Result<usize, Error>> {
        Box::pin(async move { Ok(self.in_timeline(|timeline| timeline.count(space))) })
    }

    fn expire<'a>(
        &'a self,
        now: Timestamp,
        ttl: &'a [(Slot, Duration)],
        other: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        Box::pin(async move { Ok(self.remove_outdated(outdated(now, ttl, other))) })
    }

    fn durable(&self) -> bool {
        false
    }

    fn stats(&self) -> BoxFuture<'_, Result<Stats, Error>> {
        Box::pin(async move { Ok(Stats { entities: self.entities(), bytes: None }) })
    }

    fn usage(&self, keys: usize) -> BoxFuture<'_, Result<Usage, Error>> {
        Box::pin(async move { self.sampled(keys) })
    }

    fn known_slots(&self) -> BoxFuture<'_, Result<Vec<(Fingerprint, Slot)>, Error>> {
        Box::pin(async move { Ok(self.slots.lock().iter().map(|(fingerprint, slot)| (*fingerprint, *slot)).collect()) })
    }

    fn positions<'a>(&'a self, writers: &'a [Writer]) -> BoxFuture<'a, Result<Vec<Option<Position>>, Error>> {
        Box::pin(async move {
            let known = self.writers.lock();
            Ok(writers.iter().map(|writer| known.get(writer).map(|(_, position)| position.clone())).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_memory_store_keeps_the_contract() {
        crate::contract::state_store_contract(MemoryStore::default).await;
    }

    #[tokio::test]
    async fn the_memory_store_counts_its_entities() {
        crate::contract::entities_are_counted(&MemoryStore::default()).await;
        crate::contract::sweeps_are_spaced_out(&MemoryStore::default()).await;
    }
}
