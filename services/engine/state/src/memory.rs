//! State in the memory of this process.

use crate::{
    BoxFuture, Commit, Entity, Error, Fingerprint, Key, Lease, Outcome, Position, Slot, Space, Stats, Store, Writer,
};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use parking_lot::{Mutex, RwLock};
use rankwright_event::Timestamp;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

const SHARDS: usize = 64;

/// Entities in shards, each behind a lock of its own: rankings read beside ingest.
pub struct MemoryStore {
    hasher: RandomState,
    shards: Vec<RwLock<HashTable<(Key, Arc<Entity>)>>>,
    writers: Mutex<HashMap<Writer, (u64, Position)>>,
    slots: Mutex<HashMap<Fingerprint, Slot>>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| RwLock::default()).collect();
        Self { hasher: RandomState::default(), shards, writers: Mutex::default(), slots: Mutex::default() }
    }
}

impl MemoryStore {
    fn hash(&self, key: &Key) -> (u64, &RwLock<HashTable<(Key, Arc<Entity>)>>) {
        let hash = self.hasher.hash_one(key);
        (hash, &self.shards[(hash >> 32) as usize % SHARDS])
    }

    fn get(&self, key: &Key) -> Option<Arc<Entity>> {
        let (hash, shard) = self.hash(key);
        shard.read().find(hash, |entry| entry.0 == *key).map(|entry| entry.1.clone())
    }

    fn absorb(&self, key: Key, change: Entity) {
        let (hash, shard) = self.hash(&key);
        let mut shard = shard.write();
        match shard.find_mut(hash, |entry| entry.0 == key) {
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
        let holder = (lease.epoch, commit.from);
        match writers.get_mut(&lease.writer) {
            Some(current) if *current == holder => current.1 = commit.to,
            _ => return Outcome::LostLease,
        }
        for (key, change) in commit.writes {
            match change {
                Some(change) => self.absorb(key, change),
                None => self.remove(&key),
            }
        }
        Outcome::Applied
    }

    fn allocate(&self, wanted: &[Fingerprint]) -> Result<Vec<Slot>, Error> {
        let mut slots = self.slots.lock();
        let mut number = |fingerprint| {
            let next = u16::try_from(slots.len()).map_err(|_| Error::Full(slots.len()))?;
            Ok(*slots.entry(fingerprint).or_insert(Slot(next)))
        };
        wanted.iter().map(|fingerprint| number(*fingerprint)).collect()
    }

    fn expired(entity: &mut Arc<Entity>, outdated: impl Fn(Slot, Timestamp) -> bool) -> bool {
        if entity.values().iter().any(|(slot, stored)| outdated(*slot, stored.at)) {
            Arc::make_mut(entity).retain(|slot, stored| !outdated(slot, stored.at));
        }
        entity.is_empty()
    }
}

impl Store for MemoryStore {
    fn slots<'a>(&'a self, wanted: &'a [Fingerprint]) -> BoxFuture<'a, Result<Vec<Slot>, Error>> {
        Box::pin(async move { self.allocate(wanted) })
    }

    fn read<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Option<Arc<Entity>>>, Error>> {
        Box::pin(async move { Ok(keys.iter().map(|key| self.get(key)).collect()) })
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

    fn scan(&self, space: Space) -> BoxFuture<'_, Result<Vec<(Key, Arc<Entity>)>, Error>> {
        Box::pin(async move {
            let mut found: Vec<(Key, Arc<Entity>)> = Vec::new();
            for shard in &self.shards {
                found.extend(shard.read().iter().filter(|entry| entry.0.scope.space() == space).cloned());
            }
            found.sort_by(|left, right| left.0.cmp(&right.0));
            Ok(found)
        })
    }

    fn expire<'a>(
        &'a self,
        now: Timestamp,
        ttl: &'a [(Slot, Duration)],
        other: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        Box::pin(async move {
            let ttl: HashMap<Slot, Duration> = ttl.iter().copied().collect();
            let outdated = |slot: Slot, at: Timestamp| at < now.minus(*ttl.get(&slot).unwrap_or(&other));
            let mut removed = 0;
            for shard in &self.shards {
                let mut shard = shard.write();
                let before = shard.len();
                shard.retain(|entry| entry.0.scope.space() != Space::Values || !Self::expired(&mut entry.1, outdated));
                removed += (before - shard.len()) as u64;
            }
            Ok(removed)
        })
    }

    fn durable(&self) -> bool {
        false
    }

    fn stats(&self) -> Stats {
        let entities = self.shards.iter().map(|shard| shard.read().len() as u64).sum();
        Stats { entities, bytes: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_memory_store_keeps_the_contract() {
        crate::contract::state_store_contract(MemoryStore::default).await;
    }
}
