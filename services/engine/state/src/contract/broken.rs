//! The suite is worth something if it fails stores that break a promise: a memory store with one fault at a time.

use super::state_store_contract;
use crate::{
    BoxFuture, Commit, Entity, Error, Fingerprint, Key, Lease, Listed, MemoryStore, Outcome, Rows, Slot, Space, Stats,
    Store, Writer,
};
use parking_lot::Mutex;
use rankwright_event::{Tenant, Timestamp};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    ReadsBackwards,
    ReadsOnlyWhatIsThere,
    ReadsAsBefore,
    OneTenant,
    ScopesMixed,
    LosesRemovals,
    LosesLateWrites,
    Overwrites,
    AppliesTwice,
    ValuesBeforeRemovals,
    RemovalsLast,
    TruncatesBatches,
    TearsEntities,
    ForgetsSlots,
    OneSlot,
    SlotsWrapAround,
    ForgetsEpochs,
    ForgetsPositions,
    PositionsShared,
    AppliesWhatItRefuses,
    AcceptsAnyLease,
    ListsBackwards,
    ListsEverything,
    NeverExpires,
    ExpiresJoins,
    OneTimeToLive,
    ExpiresTooMuch,
    CountsOfExpiryWrong,
    WritesWhatExists,
    MovesFirstAlone,
    ComparesFirstAlone,
    OldestByName,
    OldestUnbounded,
}

const FAULTS: [Fault; 33] = [
    Fault::ReadsBackwards,
    Fault::ReadsOnlyWhatIsThere,
    Fault::ReadsAsBefore,
    Fault::OneTenant,
    Fault::ScopesMixed,
    Fault::LosesRemovals,
    Fault::LosesLateWrites,
    Fault::Overwrites,
    Fault::AppliesTwice,
    Fault::ValuesBeforeRemovals,
    Fault::RemovalsLast,
    Fault::TruncatesBatches,
    Fault::TearsEntities,
    Fault::ForgetsSlots,
    Fault::OneSlot,
    Fault::SlotsWrapAround,
    Fault::ForgetsEpochs,
    Fault::ForgetsPositions,
    Fault::PositionsShared,
    Fault::AppliesWhatItRefuses,
    Fault::AcceptsAnyLease,
    Fault::ListsBackwards,
    Fault::ListsEverything,
    Fault::NeverExpires,
    Fault::ExpiresJoins,
    Fault::OneTimeToLive,
    Fault::ExpiresTooMuch,
    Fault::CountsOfExpiryWrong,
    Fault::WritesWhatExists,
    Fault::MovesFirstAlone,
    Fault::ComparesFirstAlone,
    Fault::OldestByName,
    Fault::OldestUnbounded,
];

struct Broken {
    fault: Fault,
    store: MemoryStore,
    leases: Mutex<HashMap<Writer, Lease>>, // with the position of the last commit
    cached: Mutex<HashMap<Key, Option<Arc<Entity>>>>,
    slots: AtomicU16,
    reads: AtomicU64,
}

impl Broken {
    fn new(fault: Fault) -> Self {
        let (leases, cached) = (Mutex::default(), Mutex::default());
        Self {
            fault,
            store: MemoryStore::default(),
            leases,
            cached,
            slots: AtomicU16::new(0),
            reads: AtomicU64::new(0),
        }
    }

    fn key(&self, key: &Key) -> Key {
        match (self.fault, &key.scope) {
            (Fault::OneTenant, _) => Key::new(&Tenant::default(), key.scope.clone()),
            (Fault::ScopesMixed, crate::Scope::User(id)) => super::item(id.as_str()),
            _ => key.clone(),
        }
    }

    async fn rows(&self, keys: &[Key]) -> Result<Rows, Error> {
        let keys: Vec<_> = keys.iter().map(|key| self.key(key)).collect();
        let mut rows = self.store.read(&keys).await?;
        self.reads.fetch_add(1, Ordering::AcqRel);
        match self.fault {
            Fault::ReadsBackwards => rows.reverse(),
            Fault::ReadsOnlyWhatIsThere => rows.retain(Option::is_some),
            Fault::ReadsAsBefore => {
                let mut cached = self.cached.lock();
                let before = keys.into_iter().zip(rows).map(|(key, row)| cached.entry(key).or_insert(row).clone());
                return Ok(before.collect());
            }
            _ => {}
        }
        Ok(rows)
    }

    fn change(&self, writes: Vec<(Key, Option<Entity>)>) -> Vec<(Key, Option<Entity>)> {
        let mut writes: Vec<_> = writes.into_iter().map(|(key, change)| (self.key(&key), change)).collect();
        match self.fault {
            Fault::LosesRemovals => writes.retain(|(_, change)| change.is_some()),
            Fault::LosesLateWrites => {
                let mut seen = std::collections::HashSet::new();
                writes.retain(|(key, _)| seen.insert(key.clone()));
            }
            Fault::Overwrites => {
                writes = writes.into_iter().flat_map(|(key, change)| [(key.clone(), None), (key, change)]).collect();
            }
            Fault::AppliesTwice => {
                writes = writes.into_iter().flat_map(|write| [write.clone(), write]).collect();
            }
            Fault::ValuesBeforeRemovals => writes.sort_by_key(|(_, change)| change.is_none()),
            Fault::RemovalsLast => {
                let (removals, values): (Vec<_>, Vec<_>) = writes.into_iter().partition(|(_, change)| change.is_none());
                writes = removals.into_iter().chain(values).collect();
            }
            Fault::TruncatesBatches => writes.truncate(4096),
            _ => {}
        }
        writes
    }

    /// Writes the values of an entity one by one, and lets readers look in between, if there are any.
    async fn tear(&self, lease: &Lease, writes: Vec<(Key, Option<Entity>)>) {
        let mut lease = lease.clone();
        for (key, change) in writes {
            let values = change.iter().flat_map(Entity::values);
            let parts = values.map(|(slot, stored)| Some(Entity::one(slot, stored.clone())));
            let parts: Vec<_> = if change.is_none() { vec![None] } else { parts.collect() };
            for part in parts {
                self.write(&mut lease, vec![(key.clone(), part)]).await;
                let before = self.reads.load(Ordering::Acquire);
                let waits = (0..2000).take_while(|_| self.reads.load(Ordering::Acquire) < before + 6);
                waits.for_each(|_| std::thread::yield_now());
            }
        }
    }

    async fn write(&self, lease: &mut Lease, writes: Vec<(Key, Option<Entity>)>) {
        let commit = Commit { from: lease.position.clone(), to: lease.position.clone(), writes, ..Commit::default() };
        assert_eq!(self.store.commit(lease, commit).await.expect("commits"), Outcome::Applied);
    }

    async fn committed(&self, lease: &Lease, mut commit: Commit) -> Result<Outcome, Error> {
        let newest = self.leases.lock().get(&lease.writer).cloned();
        let mut used = lease.clone();
        if let Some(newest) = &newest {
            match self.fault {
                Fault::ForgetsEpochs => used.epoch = newest.epoch,
                Fault::ForgetsPositions => commit.from = newest.position.clone(),
                Fault::WritesWhatExists => commit.absent.clear(),
                Fault::MovesFirstAlone => commit.also.iter_mut().for_each(|part| part.to.clone_from(&part.from)),
                Fault::ComparesFirstAlone => {
                    let known = self.leases.lock();
                    for part in &mut commit.also {
                        let Some(newest) = known.get(&part.lease.writer) else { continue };
                        (part.lease, part.from) = (newest.clone(), newest.position.clone());
                    }
                }
                _ => {}
            }
        } else if self.fault == Fault::AcceptsAnyLease {
            used = self.store.acquire(&lease.writer).await?;
        }
        commit.writes = self.change(commit.writes);
        let (from, to, writes) = (commit.from.clone(), commit.to.clone(), commit.writes.clone());
        let current = newest.as_ref().is_some_and(|newest| newest.epoch == used.epoch && newest.position == from);
        if self.fault == Fault::TearsEntities && current && commit.writes.len() < 10 {
            self.tear(&Lease { position: from, ..used.clone() }, std::mem::take(&mut commit.writes)).await;
        }
        let also = commit.also.clone();
        let outcome = self.store.commit(&used, commit).await?;
        if outcome == Outcome::Applied {
            let mut known = self.leases.lock();
            known.entry(used.writer.clone()).or_insert(used).position = to;
            for part in also {
                known.entry(part.lease.writer.clone()).or_insert(part.lease).position = part.to;
            }
        } else if self.fault == Fault::AppliesWhatItRefuses {
            super::put(&self.store, writes).await;
        }
        Ok(outcome)
    }

    async fn numbers(&self, wanted: &[Fingerprint]) -> Result<Vec<Slot>, Error> {
        let wrapped: Vec<_> = wanted.iter().map(|fingerprint| Fingerprint(fingerprint.0 & 0xFFFF)).collect();
        match self.fault {
            Fault::ForgetsSlots => {
                Ok(wanted.iter().map(|_| Slot(self.slots.fetch_add(1, Ordering::Relaxed))).collect())
            }
            Fault::OneSlot => Ok(vec![Slot(0); wanted.len()]),
            Fault::SlotsWrapAround => self.store.slots(&wrapped).await,
            _ => self.store.slots(wanted).await,
        }
    }

    async fn listed(&self, space: Space) -> Result<Listed, Error> {
        let mut listed = self.store.scan(space).await?;
        match self.fault {
            Fault::ListsBackwards => listed.reverse(),
            Fault::ListsEverything => {
                for space in [Space::Joins, Space::Values] {
                    listed.extend(self.store.scan(space).await?);
                }
                listed.sort_by(|left, right| left.0.cmp(&right.0));
                listed.dedup_by(|left, right| left.0 == right.0);
            }
            _ => {}
        }
        Ok(listed)
    }

    async fn expired(&self, now: Timestamp, ttl: &[(Slot, Duration)], other: Duration) -> Result<u64, Error> {
        match self.fault {
            Fault::NeverExpires => Ok(0),
            Fault::OneTimeToLive => self.store.expire(now, &[], other).await,
            Fault::ExpiresTooMuch => self.store.expire(Timestamp::from_millis(now.millis() + 1), ttl, other).await,
            Fault::CountsOfExpiryWrong => Ok(self.store.expire(now, ttl, other).await? + 1),
            Fault::ExpiresJoins => {
                let joins = self.store.scan(Space::Joins).await?;
                super::put(&self.store, joins.into_iter().map(|(key, _)| (key, None)).collect()).await;
                self.store.expire(now, ttl, other).await
            }
            _ => self.store.expire(now, ttl, other).await,
        }
    }
}

impl Store for Broken {
    fn slots<'a>(&'a self, wanted: &'a [Fingerprint]) -> BoxFuture<'a, Result<Vec<Slot>, Error>> {
        Box::pin(self.numbers(wanted))
    }

    fn read<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(self.rows(keys))
    }

    fn acquire<'a>(&'a self, writer: &'a Writer) -> BoxFuture<'a, Result<Lease, Error>> {
        let shared = Writer("everybody".into());
        Box::pin(async move {
            let writer = if self.fault == Fault::PositionsShared { &shared } else { writer };
            let lease = self.store.acquire(writer).await?;
            self.leases.lock().insert(writer.clone(), lease.clone());
            Ok(lease)
        })
    }

    fn commit<'a>(&'a self, lease: &'a Lease, commit: Commit) -> BoxFuture<'a, Result<Outcome, Error>> {
        Box::pin(self.committed(lease, commit))
    }

    fn scan(&self, space: Space) -> BoxFuture<'_, Result<Listed, Error>> {
        Box::pin(self.listed(space))
    }

    fn oldest(&self, space: Space, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Listed, Error>> {
        Box::pin(async move {
            let until = if self.fault == Fault::OldestUnbounded { Timestamp::MAX } else { until };
            let mut listed = self.store.oldest(space, until, limit).await?;
            if self.fault == Fault::OldestByName {
                listed.sort_by(|left, right| right.0.cmp(&left.0));
            }
            Ok(listed)
        })
    }

    fn expire<'a>(
        &'a self,
        now: Timestamp,
        ttl: &'a [(Slot, Duration)],
        other: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        Box::pin(self.expired(now, ttl, other))
    }

    fn durable(&self) -> bool {
        false
    }

    fn stats(&self) -> BoxFuture<'_, Result<Stats, Error>> {
        self.store.stats()
    }
}

fn keeps_the_contract(fault: Fault) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("starts a runtime");
    let suite = || runtime.block_on(state_store_contract(|| Broken::new(fault)));
    catch_unwind(AssertUnwindSafe(suite)).is_ok()
}

#[test]
fn the_suite_passes_the_wrapper_without_a_fault() {
    assert!(keeps_the_contract(Fault::None));
}

#[test]
fn the_suite_fails_every_broken_store() {
    let missed: Vec<_> = FAULTS.into_iter().filter(|fault| keeps_the_contract(*fault)).collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
