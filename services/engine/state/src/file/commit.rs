//! Changes, each one atomic batch.

use super::address::Address;
use super::disk::{Disk, failed};
use crate::{Commit, Entity, Error, Key, Lease, Move, Outcome, Space, codec};
use fjall::OwnedWriteBatch;
use hashbrown::HashMap;
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What becomes of each key.
pub(super) type Changes = HashMap<Key, Change, foldhash::fast::RandomState>;

/// What becomes of a key.
pub(super) struct Change {
    pub(super) existed: bool,
    pub(super) now: Option<Arc<Entity>>,
}

impl Disk {
    pub(super) fn apply(&self, lease: &Lease, commit: Commit) -> Result<Outcome, Error> {
        let writing = self.writing.lock();
        let moves = commit.moves(lease);
        for Move { lease, from, .. } in &moves {
            if self.meta.writer(&lease.writer)? != Some((lease.epoch, from.clone())) {
                return Ok(Outcome::LostLease);
            }
        }
        for key in &commit.absent {
            if self.current(key)?.is_some() {
                return Ok(Outcome::Exists);
            }
        }
        self.pace.written(commit.writes.len());
        let changes = self.fold(commit.writes)?;
        let mut batch = self.db.batch();
        for Move { lease, to, .. } in &moves {
            self.meta.put_writer(&mut batch, &lease.writer, lease.epoch, to)?;
        }
        self.write(&writing, batch, changes)?;
        Ok(Outcome::Applied)
    }

    fn fold(&self, writes: Vec<(Key, Option<Entity>)>) -> Result<Changes, Error> {
        let mut changes = Changes::with_capacity_and_hasher(writes.len(), Default::default());
        for (key, write) in writes {
            if !changes.contains_key(&key) {
                let now = self.current(&key)?;
                changes.insert(key.clone(), Change { existed: now.is_some(), now });
            }
            let change = changes.get_mut(&key).expect("it was just put there");
            match write {
                None => change.now = None,
                Some(write) => absorb(&mut change.now, write),
            }
        }
        Ok(changes)
    }

    /// Writes changes with whatever the batch holds already; the cache follows when they are in the journal.
    pub(super) fn write(
        &self,
        _writing: &MutexGuard<'_, ()>,
        mut batch: OwnedWriteBatch,
        changes: Changes,
    ) -> Result<(), Error> {
        let mut entities = self.entities.load(Ordering::Relaxed);
        for (key, change) in &changes {
            self.put(&mut batch, key, change)?;
            if key.scope.space() == Space::Values {
                entities = (entities + u64::from(change.now.is_some())).saturating_sub(u64::from(change.existed));
            }
        }
        self.meta.put_entities(&mut batch, entities)?;
        let written = batch.commit().map_err(failed("commit"));
        let mut timeline = self.timeline.lock();
        if written.is_err() {
            *timeline = None; // rebuilt from what is there
        }
        for (key, change) in changes {
            if let Some(timeline) = timeline.as_mut() {
                timeline.note(&key, change.now.as_ref().map(|entity| entity.newest()));
            }
            self.cache.put(key, change.now.filter(|_| written.is_ok())); // what a failure left is read from disk
        }
        written.map(|()| self.entities.store(entities, Ordering::Relaxed))
    }

    fn put(&self, batch: &mut OwnedWriteBatch, key: &Key, change: &Change) -> Result<(), Error> {
        let (keyspace, address) = (self.keyspace(key.scope.space()), Address::of(key));
        match &change.now {
            Some(entity) => batch.insert(keyspace, address.bytes(), address.row(codec::encode(entity, self.format)?)),
            None if change.existed => batch.remove(keyspace, address.bytes()),
            None => {}
        }
        Ok(())
    }
}

fn absorb(current: &mut Option<Arc<Entity>>, write: Entity) {
    match current {
        Some(entity) => Arc::make_mut(entity).absorb(&write),
        None => *current = Some(Arc::new(write)),
    }
}
