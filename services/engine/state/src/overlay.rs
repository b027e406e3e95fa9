//! State as a batch of events sees it: what was read, and what the batch has done so far.

use crate::{Commit, Entity, Key, Position, Rows, Slot, Space, Stored};
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

/// What a commit that is under way will leave under the keys that it changes.
#[derive(Default)]
pub struct Coming {
    entries: HashMap<Key, Left, foldhash::fast::RandomState>,
}

enum Left {
    Known(Option<Arc<Entity>>),
    /// A change of what was there.
    Merged(Option<Arc<Entity>>, Entity),
    /// Nobody has read what was there.
    Unsure,
}

/// What is to be expected under a key, as far as a commit under way is concerned.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// What lies there now: the commit does not change it.
    Unchanged,
    /// This.
    Changed(Option<Arc<Entity>>),
    /// It can be told when the commit is over.
    Unsure,
}

#[derive(Default)]
struct Entry {
    /// What the batch sees; nothing was asked for where `loaded` is false.
    current: Option<Arc<Entity>>,
    loaded: bool,
    /// Whether that is what a commit under way is to leave.
    expected: bool,
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
    /// What lies under the keys as far as it was loaded, and the places of those that were not.
    pub fn look_up(&self, keys: &[Key]) -> (Rows, Vec<usize>) {
        let mut unknown = Vec::new();
        let look_up = |(place, key)| match self.entries.get(key) {
            Some(entry) if entry.loaded => entry.current.clone(),
            _ => {
                unknown.push(place);
                None
            }
        };
        let found = keys.iter().enumerate().map(look_up).collect();
        (found, unknown)
    }

    /// Adds what was read under a key, and gives what lies there now: what the batch has written comes on top.
    pub fn load(&mut self, key: &Key, entity: Option<Arc<Entity>>) -> Option<Arc<Entity>> {
        let entry = self.entries.entry_ref(key).or_default();
        if entry.loaded {
            return entry.current.clone();
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
        entry.current.clone()
    }

    /// As [`Overlay::load`], of what a commit under way is to leave.
    pub fn expect(&mut self, key: &Key, entity: Option<Arc<Entity>>) {
        self.load(key, entity);
        self.entries.entry_ref(key).or_default().expected = true;
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

    /// Keys that are changed without having been read.
    pub fn unread(&self) -> impl Iterator<Item = &Key> {
        self.changed(|entry| !entry.loaded)
    }

    /// Keys that are changed, of which nothing is known but what a commit is to leave there.
    pub fn expected(&self) -> impl Iterator<Item = &Key> {
        self.changed(|entry| entry.expected)
    }

    fn changed(&self, which: impl Fn(&Entry) -> bool) -> impl Iterator<Item = &Key> {
        let changed = self.entries.iter().filter(|(_, entry)| matches!(entry.change, Change::Absorb(_)));
        changed.filter(move |(_, entry)| which(entry)).map(|(key, _)| key)
    }

    /// What will lie under the changed keys when the writes are committed; `read` is what lies under some of those that are
    /// unread or expected.
    pub fn coming(&self, read: impl IntoIterator<Item = (Key, Option<Arc<Entity>>)>) -> Coming {
        let mut entries = HashMap::with_capacity_and_hasher(self.entries.len(), Default::default());
        for (key, entry) in &self.entries {
            let left = match &entry.change {
                Change::None => continue,
                _ if entry.loaded => Left::Known(entry.current.clone()),
                Change::Absorb(_) => Left::Unsure,
                Change::Remove => Left::Known(None),
                Change::Replace(entity) => Left::Known(Some(Arc::new(entity.clone()))),
            };
            entries.insert(key.clone(), left);
        }
        for (key, base) in read {
            if let Some(Entry { change: Change::Absorb(change), .. }) = self.entries.get(&key) {
                entries.insert(key, Left::Merged(base, change.clone()));
            }
        }
        Coming { entries }
    }

    /// The folded writes as a commit, in no particular order, and how many values of features they change; everything is
    /// forgotten.
    pub fn take(&mut self, from: Position, to: Position) -> (Commit, u64) {
        let mut values = 0;
        let mut writes = Vec::new();
        for (key, entry) in self.entries.drain() {
            let counted = |entity: &Entity| if key.scope.space() == Space::Values { entity.len() as u64 } else { 0 };
            match entry.change {
                Change::None => {}
                Change::Absorb(entity) => {
                    values += counted(&entity);
                    writes.push((key, Some(entity)));
                }
                Change::Remove => writes.push((key, None)),
                Change::Replace(entity) => {
                    values += counted(&entity);
                    writes.extend([(key.clone(), None), (key, Some(entity))]);
                }
            }
        }
        (Commit { from, to, writes, ..Commit::default() }, values)
    }
}

impl Coming {
    /// What is to be expected under a key.
    pub fn expected(&self, key: &Key) -> Expected {
        match self.entries.get(key) {
            None => Expected::Unchanged,
            Some(Left::Known(entity)) => Expected::Changed(entity.clone()),
            Some(Left::Merged(base, change)) => {
                let mut entity = base.clone().unwrap_or_default();
                Arc::make_mut(&mut entity).absorb(change);
                Expected::Changed(Some(entity))
            }
            Some(Left::Unsure) => Expected::Unsure,
        }
    }
}

impl View for Overlay {
    fn entity(&self, key: &Key) -> Option<&Arc<Entity>> {
        self.entries.get(key)?.current.as_ref()
    }
}

/// What was read for a ranking: first what it names, then what depends on that.
#[derive(Default)]
pub struct Fetched {
    named: Rows,
    others: Vec<(Key, Arc<Entity>)>,
}

impl Fetched {
    /// Entities in the order in which their keys were asked for.
    pub fn new(named: Rows) -> Self {
        Self { named, others: Vec::new() }
    }

    /// The entities read first, in order.
    pub fn named(&self) -> &[Option<Arc<Entity>>] {
        &self.named
    }

    /// Adds what was read under `keys`, which are in order and each there once.
    pub fn add(&mut self, keys: Vec<Key>, entities: Rows) {
        self.others.extend(keys.into_iter().zip(entities).filter_map(|(key, entity)| Some((key, entity?))));
        debug_assert!(self.others.is_sorted_by(|left, right| left.0 < right.0), "keys are in order");
    }
}

impl View for Fetched {
    /// Of those read later.
    fn entity(&self, key: &Key) -> Option<&Arc<Entity>> {
        let place = self.others.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        Some(&self.others[place].1)
    }
}

impl From<&Key> for Key {
    fn from(key: &Key) -> Self {
        key.clone()
    }
}
