//! The change of one key in a commit.

use super::Shared;
use super::cache::Known;
use super::layout::{Stamp, frame};
use super::reading::{is_kept, known};
use super::scripts::INDEXES;
use crate::{Entity, Error, Format, Key, Space};
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// The change of one key.
pub(super) struct Change {
    key: Key,
    pub(super) name: Vec<u8>,
    write: Write,
    /// What it is merged into.
    base: Known,
    /// Whether anything is known of that: nothing may lie there, too. A guess will do, as the script compares.
    looked_up: bool,
    /// Nothing may lie there yet.
    first: bool,
    /// What lies there afterwards.
    merged: Option<Arc<Entity>>,
    /// Of what lies there afterwards. Wherever it is, it stands for these values: what is merged again has another one.
    stamp: Stamp,
    /// The same as it is stored, or where it is moved from; empty where nothing is.
    value: Vec<u8>,
}

/// Places of changes whose keys others have changed, with what lies there now.
pub(super) type Moved = Vec<(usize, Option<Vec<u8>>)>;

/// What a commit says of the keys that it changes.
#[derive(Default)]
pub(super) struct Told<'a> {
    /// Nothing may lie there.
    pub(super) absent: &'a [Key],
    /// Nothing is thought to.
    pub(super) fresh: &'a [Key],
    /// What lies under the first of a pair takes its place under the second.
    pub(super) moved: &'a [(Key, Key)],
}

enum Write {
    Absorb(Entity),
    Replace(Entity),
    Remove,
}

/// Spaces that have an index, in the order of the script's keys.
pub(super) const INDEXED: [Space; 5] = [Space::Joins, Space::Outbox, Space::Seen, Space::Waiting, Space::Watermarks];

impl Shared {
    /// One change for each key, merged into what is known to lie there.
    pub(super) async fn changes(
        &self,
        writes: Vec<(Key, Option<Entity>)>,
        told: Told<'_>,
    ) -> Result<Vec<Change>, Error> {
        let mut changes: Vec<Change> = Vec::with_capacity(writes.len());
        let mut places: HashMap<Key, usize, foldhash::fast::RandomState> = HashMap::default();
        let absent: HashSet<&Key, foldhash::fast::RandomState> = told.absent.iter().collect();
        let fresh: HashSet<&Key, foldhash::fast::RandomState> = told.fresh.iter().collect();
        for (key, write) in writes {
            match places.get(&key) {
                Some(&place) => changes[place].write.then(write),
                None => {
                    let first = absent.contains(&key);
                    let change = self.change(key.clone(), write, first, fresh.contains(&key));
                    places.insert(key, changes.len());
                    changes.push(change);
                }
            }
        }
        let needs_base = |change: &&mut Change| matches!(change.write, Write::Absorb(_)) && !change.looked_up;
        let mut unknown: Vec<&mut Change> = changes.iter_mut().filter(needs_base).collect();
        let wanted: Vec<(&Key, &Vec<u8>)> = unknown.iter().map(|change| (&change.key, &change.name)).collect();
        let bases = self.fetch(&wanted).await?;
        for (change, base) in unknown.iter_mut().zip(bases) {
            change.base = base;
        }
        changes.iter_mut().for_each(Change::merge);
        let mut moves = HashSet::<usize, foldhash::fast::RandomState>::default();
        for (from, to) in told.moved {
            let Some((from, to)) = places.get(from).copied().zip(places.get(to).copied()) else { continue };
            // it can be moved once
            if matches!(changes[from].write, Write::Remove) && changes[to].base.is_none() && moves.insert(from) {
                changes[to].value = moved_from(from);
            }
        }
        Ok(changes)
    }

    fn change(&self, key: Key, write: Option<Entity>, first: bool, fresh: bool) -> Change {
        let name = self.names.entity(&key);
        let write = write.map_or(Write::Remove, Write::Absorb);
        let space = key.scope.space();
        let guess = match first {
            true => Some(None),
            // what is not kept is new, as a rule
            false => self.line.leaves(&name).or_else(|| match is_kept(space) {
                true => self.cache.guess(&name).or(fresh.then_some(None)),
                false => Some(None),
            }),
        };
        let (looked_up, base) = (guess.is_some(), guess.flatten());
        Change { key, name, write, base, looked_up, first, merged: None, stamp: Stamp::random(), value: Vec::new() }
    }

    /// Encodes what is to be stored, where that has not been done.
    pub(super) fn encode(&self, changes: &mut [Change]) -> Result<(), Error> {
        for change in changes {
            let Some(entity) = change.merged.as_ref().filter(|_| change.value.is_empty()) else { continue };
            change.value = frame(change.stamp, entity, self.format_of(change.key.scope.space()))?;
        }
        Ok(())
    }

    fn format_of(&self, space: Space) -> Format {
        if space == Space::Values { self.format } else { self.format.packed() }
    }

    /// Takes what lies under keys now in place of what they were thought to hold.
    pub(super) fn take_up(changes: &mut [Change], moved: Moved) -> Result<(), Error> {
        for (place, value) in moved {
            let Some(change) = changes.get_mut(place) else { continue };
            change.rest_on(value.map(|value| known(&change.key, &value)).transpose()?);
        }
        Ok(())
    }

    /// Keeps what a commit has written.
    pub(super) fn wrote(&self, changes: Vec<Change>) {
        for change in changes {
            let Change { key, name, merged, stamp, .. } = change;
            match (key.scope.space(), merged) {
                (space, None) if space != Space::Values => self.cache.remove(&name),
                (space, merged) if is_kept(space) => self.cache.wrote(name, merged.map(|entity| (stamp, entity))),
                _ => {}
            }
        }
    }
}

impl Write {
    fn then(&mut self, next: Option<Entity>) {
        *self = match (std::mem::replace(self, Self::Remove), next) {
            (_, None) => Self::Remove,
            (Self::Remove, Some(entity)) => Self::Replace(entity),
            (Self::Absorb(mut entity), Some(next)) => {
                entity.absorb(&next);
                Self::Absorb(entity)
            }
            (Self::Replace(mut entity), Some(next)) => {
                entity.absorb(&next);
                Self::Replace(entity)
            }
        };
    }
}

impl Change {
    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    /// Whether nothing may lie there yet.
    pub(super) fn is_first(&self) -> bool {
        self.first
    }

    /// What lies there afterwards, as far as is known: what is moved keeps a stamp that this process does not know.
    pub(super) fn leaves(&self) -> Known {
        self.merged.clone().map(|entity| (self.stamp, entity))
    }

    /// Merges into something else.
    pub(super) fn rest_on(&mut self, base: Known) {
        self.base = base;
        self.merge();
    }

    fn merge(&mut self) {
        self.merged = match &self.write {
            Write::Remove => None,
            Write::Replace(entity) => Some(Arc::new(entity.clone())),
            Write::Absorb(entity) => {
                let mut merged = self.base.as_ref().map_or_else(Arc::default, |(_, base)| base.clone());
                Arc::make_mut(&mut merged).absorb(entity);
                Some(merged)
            }
        };
        (self.stamp, self.value) = (Stamp::random(), Vec::new());
    }

    /// The stamp that the key must have.
    pub(super) fn wanted(&self) -> &[u8] {
        if self.first {
            return b"";
        }
        match (&self.write, &self.base) {
            (Write::Absorb(_), Some((stamp, _))) => &stamp.0,
            (Write::Absorb(_), None) => b"",
            (Write::Replace(_) | Write::Remove, _) => b"*",
        }
    }

    /// As it is stored, once that is encoded.
    pub(super) fn value(&self) -> &[u8] {
        debug_assert_eq!(self.value.is_empty(), self.merged.is_none(), "it is encoded");
        &self.value
    }

    /// Which of the indexes is that of its space, from 1 on; 0 where that has none.
    pub(super) fn index(&self) -> usize {
        index_number(self.key.scope.space())
    }

    /// Its place in an index.
    pub(super) fn newest(&self) -> i64 {
        self.merged.as_ref().map_or(0, |entity| entity.newest().millis())
    }
}

/// What the script is told in place of a value; no stamp begins like this.
fn moved_from(place: usize) -> Vec<u8> {
    format!(">{place}").into_bytes()
}

/// Which of the indexes is that of a space, from 1 on; 0 where it has none.
pub(super) fn index_number(space: Space) -> usize {
    const _: () = assert!(INDEXES == INDEXED.len(), "scripts count on this number");
    INDEXED.iter().position(|indexed| *indexed == space).map_or(0, |place| place + 1)
}
