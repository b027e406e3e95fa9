//! State as a batch of events sees it: what was read, and what the batch has done so far.

use crate::{Commit, Entity, Key, Position, Slot, Stored};
use hashbrown::HashMap;
use std::sync::Arc;

/// Reads entities that were fetched beforehand.
pub trait View {
    /// What lies under a key.
    fn entity(&self, key: &Key) -> Option<&Arc<Entity>>;
}

/// Entities that were read, with the writes of a batch applied, and these writes folded together.
#[derive(Default)]
pub struct Overlay {
    entries: HashMap<Key, Entry, foldhash::fast::RandomState>,
}

#[derive(Default)]
struct Entry {
    /// What the batch sees; nothing was asked for where `loaded` is false.
    current: Option<Arc<Entity>>,
    loaded: bool,
    change: Change,
}

#[derive(Default)]
enum Change {
    #[default]
    None,
    Absorb(Entity),
    Remove,
    Replace(Entity),
}

impl Overlay {
    /// Whether this key was loaded.
    pub fn knows(&self, key: &Key) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.loaded)
    }

    /// Adds what was read under a key; what the batch has written there already comes on top.
    pub fn load(&mut self, key: Key, entity: Option<Arc<Entity>>) {
        let entry = self.entries.entry(key).or_default();
        if entry.loaded {
            return;
        }
        entry.loaded = true;
        entry.current = match &entry.change {
            Change::None => entity,
            Change::Absorb(change) => {
                let mut entity = entity.unwrap_or_default();
                Arc::make_mut(&mut entity).absorb(change);
                Some(entity)
            }
            Change::Remove => None,
            Change::Replace(change) => Some(Arc::new(change.clone())),
        };
    }

    /// Writes a value; a later [`View::entity`] of a loaded key sees it.
    pub fn write(&mut self, key: &Key, slot: Slot, stored: Stored) {
        let entry = self.entries.entry_ref(key).or_default();
        if entry.loaded {
            let current = entry.current.get_or_insert_default();
            Arc::make_mut(current).absorb_value(slot, &stored);
        }
        match &mut entry.change {
            Change::Absorb(change) | Change::Replace(change) => change.absorb_value(slot, &stored),
            Change::Remove => entry.change = Change::Replace(Entity::one(slot, stored)),
            Change::None => entry.change = Change::Absorb(Entity::one(slot, stored)),
        }
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &Key) {
        let entry = self.entries.entry_ref(key).or_default();
        entry.current = None;
        entry.change = Change::Remove;
    }

    /// The folded writes as a commit, in no particular order, and how many values they change; everything is forgotten.
    pub fn take(&mut self, from: Position, to: Position) -> (Commit, u64) {
        let mut values = 0;
        let mut writes = Vec::new();
        for (key, entry) in self.entries.drain() {
            match entry.change {
                Change::None => {}
                Change::Absorb(entity) => {
                    values += entity.len() as u64;
                    writes.push((key, Some(entity)));
                }
                Change::Remove => writes.push((key, None)),
                Change::Replace(entity) => {
                    values += entity.len() as u64;
                    writes.extend([(key.clone(), None), (key, Some(entity))]);
                }
            }
        }
        (Commit { from, to, writes }, values)
    }
}

impl View for Overlay {
    fn entity(&self, key: &Key) -> Option<&Arc<Entity>> {
        self.entries.get(key)?.current.as_ref()
    }
}

/// What a request read.
#[derive(Default)]
pub struct Fetched {
    entities: HashMap<Key, Arc<Entity>, foldhash::fast::RandomState>,
}

impl Fetched {
    /// Adds what was read under `keys`.
    pub fn add(&mut self, keys: Vec<Key>, entities: Vec<Option<Arc<Entity>>>) {
        self.entities.reserve(keys.len());
        let found = keys.into_iter().zip(entities).filter_map(|(key, entity)| Some((key, entity?)));
        self.entities.extend(found);
    }
}

impl View for Fetched {
    fn entity(&self, key: &Key) -> Option<&Arc<Entity>> {
        self.entities.get(key)
    }
}

impl From<&Key> for Key {
    fn from(key: &Key) -> Self {
        key.clone()
    }
}
