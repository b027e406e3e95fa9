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
    /// A change of what an earlier commit is to leave, and what was seen behind it.
    Seen(Option<Arc<Entity>>, Entity),
    /// A change of what was there.
    Merged(Option<Arc<Entity>>, Entity),
    /// A change of what was not read.
    Unread(Entity),
}

/// What is to be expected under a key, as far as commits under way are concerned.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    /// What lies there now: none of them changes it.
    Unchanged,
    /// This.
    Changed(Option<Arc<Entity>>),
    /// It can be told when they are over.
    Unsure,
}

#[derive(Default)]
struct Entry {
    /// What the batch sees; nothing was asked for where `loaded` is false.
    current: Option<Arc<Entity>>,
    loaded: bool,
    /// Whether nothing lay there when it was.
    fresh: bool,
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
        (entry.loaded, entry.fresh) = (true, entity.is_none());
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

    /// Writes all values of an entity.
    pub fn absorb(&mut self, key: &Key, entity: &Entity) {
        let entry = self.entries.entry_ref(key).or_default();
        if entry.loaded {
            Arc::make_mut(entry.current.get_or_insert_default()).absorb(entity);
        }
        match &mut entry.change {
            Change::Absorb(change) | Change::Replace(change) => change.absorb(entity),
            Change::Remove => entry.change = Change::Replace(entity.clone()),
            Change::None => entry.change = Change::Absorb(entity.clone()),
        }
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &Key) {
        let entry = self.entries.entry_ref(key).or_default();
        entry.current = None;
        entry.change = Change::Remove;
    }

    /// The folded writes as a commit, in no particular order, and how many values of features they change; everything is
    /// forgotten.
    pub fn take(&mut self, from: Position, to: Position) -> (Commit, u64) {
        let mut values = 0;
        let (mut writes, mut fresh) = (Vec::new(), Vec::new());
        for (key, entry) in self.entries.drain() {
            let counted = |entity: &Entity| if key.scope.space() == Space::Values { entity.len() as u64 } else { 0 };
            match entry.change {
                Change::None => {}
                Change::Absorb(entity) => {
                    fresh.extend(entry.fresh.then(|| key.clone()));
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
        (Commit { from, to, writes, fresh, ..Commit::default() }, values)
    }

    /// As [`Overlay::take`], with what the writes will leave.
    pub fn take_coming(&mut self, from: Position, to: Position) -> (Commit, Coming) {
        let mut entries = HashMap::with_capacity_and_hasher(self.entries.len(), Default::default());
        for (key, entry) in &self.entries {
            let left = match &entry.change {
                Change::None => continue,
                Change::Absorb(change) if !entry.loaded => Left::Unread(change.clone()),
                Change::Absorb(change) if entry.expected => Left::Seen(entry.current.clone(), change.clone()),
                Change::Absorb(_) => Left::Known(entry.current.clone()),
                Change::Remove => Left::Known(None),
                Change::Replace(entity) => Left::Known(Some(Arc::new(entity.clone()))),
            };
            entries.insert(key.clone(), left);
        }
        (self.take(from, to).0, Coming { entries })
    }
}

impl Coming {
    /// Keys that are changed without having been read.
    pub fn unread(&self) -> impl Iterator<Item = &Key> {
        self.entries.iter().filter(|(_, left)| matches!(left, Left::Unread(_))).map(|(key, _)| key)
    }

    /// Whether the commit changes a key.
    pub fn changes(&self, key: &Key) -> bool {
        self.entries.contains_key(key)
    }

    /// Takes what lies under keys right before the commit for what it changes, where that was not read.
    pub fn rest_on(&mut self, there: impl IntoIterator<Item = (Key, Option<Arc<Entity>>)>) {
        for (key, base) in there {
            if let Some(left @ (Left::Seen(..) | Left::Unread(_))) = self.entries.get_mut(&key)
                && let Left::Seen(_, change) | Left::Unread(change) = std::mem::replace(left, Left::Known(None))
            {
                *left = Left::Merged(base, change);
            }
        }
    }

    /// What is to be expected under a key behind commits, the first of which takes place first.
    pub fn expected<'c>(commits: impl DoubleEndedIterator<Item = &'c Self> + Clone, key: &Key) -> Expected {
        let mut earlier = commits;
        let merged = |base: Option<Arc<Entity>>, change: &Entity| {
            let mut entity = base.unwrap_or_default();
            Arc::make_mut(&mut entity).absorb(change);
            Expected::Changed(Some(entity))
        };
        while let Some(commit) = earlier.next_back() {
            return match commit.entries.get(key) {
                None => continue,
                Some(Left::Known(entity)) => Expected::Changed(entity.clone()),
                // what was seen is of when this one was put together: more is known of those before by now
                Some(Left::Seen(entity, change)) => match Self::expected(earlier, key) {
                    Expected::Changed(base) => merged(base, change),
                    Expected::Unchanged | Expected::Unsure => Expected::Changed(entity.clone()),
                },
                Some(Left::Merged(base, change)) => merged(base.clone(), change),
                Some(Left::Unread(change)) => match Self::expected(earlier, key) {
                    Expected::Changed(base) => merged(base, change),
                    Expected::Unchanged | Expected::Unsure => Expected::Unsure,
                },
            };
        }
        Expected::Unchanged
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
