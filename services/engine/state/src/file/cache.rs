//! Decoded entities, so that a ranking's hundred items are not decoded again for each request.
//!
//! Two promises: what a commit has replaced is never found here once the commit has answered, and no reader goes back
//! to what was before a commit that it has seen. A reader that misses leaves a placeholder, reads the disk, and fills
//! it; a commit, which writes the disk first, replaces or removes the placeholder as it would an entity. The reader's
//! answer finds no place then: it may be older than what lies here, or ahead of it, and the reader looks again.

use crate::{Cell, Entity, Error, FieldValue, Key, Scope, Stored};
use foldhash::fast::RandomState;
use quick_cache::Weighter;
use quick_cache::sync::{Cache as Entries, GuardResult};
use std::sync::Arc;

/// Entities of limited weight in bytes; those not used for long go first. It also knows which keys hold nothing, once they
/// were read.
pub(super) struct Cache {
    entries: Entries<Key, Known, Weight, RandomState>,
    largest: u64,
}

/// What lies under a key.
type Known = Option<Arc<Entity>>;

#[derive(Clone)]
struct Weight;

/// Guess at the weight of an entity, which sizes the tables alone.
const USUAL_BYTES: u64 = 1024;

impl Cache {
    pub(super) fn new(bytes: u64) -> Self {
        let items = usize::try_from(bytes / USUAL_BYTES).unwrap_or(usize::MAX);
        let entries = Entries::with(items, bytes, Weight, RandomState::default(), Default::default());
        let largest = entries.shard_capacity() / 2;
        Self { entries, largest }
    }

    /// What lies under a key, if that is known here.
    pub(super) fn get(&self, key: &Key) -> Option<Known> {
        self.entries.get(key)
    }

    /// What lies under a key, loaded where it is not known here; others who want the same wait for it.
    pub(super) fn get_or_load(&self, key: &Key, load: impl Fn() -> Result<Known, Error>) -> Result<Known, Error> {
        loop {
            let guard = match self.entries.get_value_or_guard(key, None) {
                GuardResult::Value(known) => return Ok(known),
                GuardResult::Guard(guard) => guard,
                GuardResult::Timeout => return load(),
            };
            let loaded = load()?;
            if guard.insert(loaded.clone()).is_ok() {
                return Ok(loaded);
            } // else a commit came between
        }
    }

    /// Takes what a commit has written; of an entity too large to be kept the older one is removed all the same.
    pub(super) fn put(&self, key: Key, entity: Option<Arc<Entity>>) {
        let weight = entity.as_deref().map(|entity| weight(&key, Some(entity)));
        if weight.is_some_and(|weight| weight <= self.largest) {
            self.entries.insert(key, entity);
        } else {
            self.remove(&key);
        }
    }

    pub(super) fn remove(&self, key: &Key) {
        self.entries.remove(key);
    }
}

impl Weighter<Key, Known> for Weight {
    fn weight(&self, key: &Key, known: &Known) -> u64 {
        weight(key, known.as_deref())
    }
}

fn weight(key: &Key, entity: Option<&Entity>) -> u64 {
    let values = entity.into_iter().flat_map(Entity::values);
    let values: usize = values.map(|(_, stored)| size_of::<Stored>() + heap(&stored.cell)).sum();
    let entity = entity.map_or(0, size_of_val);
    (size_of::<(Key, Known)>() + text(key) + entity + values) as u64
}

/// Bytes of a cell beyond itself.
fn heap(cell: &Cell) -> usize {
    match cell {
        Cell::Field(value @ (FieldValue::Text(_) | FieldValue::Texts(_))) => {
            value.texts().iter().map(|text| size_of::<u64>() + size_of_val(text) + text.len()).sum()
        }
        Cell::Field(FieldValue::Bytes(bytes)) | Cell::Blob(bytes) => bytes.len(),
        Cell::Field(value) => size_of_val(value.numbers()),
        Cell::Windows(windows) => windows.counts().count() * size_of::<(i64, u64)>(),
        Cell::Recent(recent) | Cell::Items(recent) => {
            recent.visits().iter().map(|visit| size_of_val(visit) + visit.item.as_str().len()).sum()
        }
        Cell::Parts(parts) => parts.all().iter().map(|part| size_of_val(part) + part.bytes.len()).sum(),
        Cell::Counter(_) | Cell::Flags(_) => 0,
    }
}

fn text(key: &Key) -> usize {
    let scope = match &key.scope {
        Scope::Global => 0,
        Scope::Item(id) => id.as_str().len(),
        Scope::User(id) => id.as_str().len(),
        Scope::Session(id) => id.as_str().len(),
        Scope::FieldValue(_, value) => value.len(),
        Scope::ItemWithin(_, value, item) => value.len() + item.as_str().len(),
        Scope::Join(id) | Scope::Outbox(id) => id.as_str().len(),
        Scope::Seen(id) | Scope::Waiting(id) => id.as_str().len(),
        Scope::Watermark(writer) => writer.len(),
    };
    key.tenant.as_str().len() + scope
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slot;
    use crate::contract::{item, stored};
    use std::cell::Cell;

    fn blob(bytes: usize) -> Arc<Entity> {
        Arc::new(Entity::one(Slot(0), stored(1, crate::Cell::Blob(vec![7; bytes].into()))))
    }

    fn size(cache: &Cache, key: &Key) -> Option<usize> {
        cache.get(key).flatten().and_then(|entity| entity.blob(Slot(0)).map(<[u8]>::len))
    }

    #[test]
    fn weight_is_bounded() {
        let cache = Cache::new(1 << 20);
        for number in 0..10_000 {
            cache.put(item(&number.to_string()), Some(blob(1000)));
        }
        let weight = cache.entries.weight();
        assert!((1 << 19..=1 << 20).contains(&weight), "{weight} bytes");
    }

    /// Looks a key up; a commit comes while the disk is read for the first time.
    fn overtaken(cache: &Cache, commit: Option<Arc<Entity>>, before: Known, after: Known) -> Option<usize> {
        let (key, reads) = (item("a"), Cell::new(0));
        let found = cache.get_or_load(&key, || {
            reads.set(reads.get() + 1);
            if reads.get() > 1 {
                return Ok(after.clone());
            }
            cache.put(key.clone(), commit.clone());
            Ok(before.clone())
        });
        found.expect("loads").and_then(|entity| entity.blob(Slot(0)).map(<[u8]>::len))
    }

    #[test]
    fn a_reader_does_not_bring_back_what_a_commit_replaced() {
        let large = 1 << 20;
        for (newer, kept) in [(None, None), (Some(5), Some(5)), (Some(large), None)] {
            for before in [Some(blob(3)), None] {
                let (cache, written) = (Cache::new(1 << 16), newer.map(blob));
                assert_eq!(overtaken(&cache, written.clone(), before, written), newer);
                assert_eq!(size(&cache, &item("a")), kept);
            }
        }
    }

    #[test]
    fn a_reader_is_not_ahead_of_what_others_find() {
        for ahead in [Some(blob(4)), None] {
            let cache = Cache::new(1 << 16);
            assert_eq!(overtaken(&cache, Some(blob(3)), ahead.clone(), ahead), Some(3));
        }
    }

    #[test]
    fn that_nothing_lies_under_a_key_is_known_until_a_commit_writes_it() {
        let (cache, key) = (Cache::new(1 << 16), item("a"));
        assert!(cache.get(&key).is_none());
        assert!(cache.get_or_load(&key, || Ok(None)).expect("loads").is_none());
        assert!(cache.get(&key).is_some_and(|known| known.is_none()));
        cache.put(key.clone(), Some(blob(3)));
        assert_eq!(size(&cache, &key), Some(3));
        cache.put(key.clone(), None);
        assert!(cache.get(&key).is_none());
    }

    #[test]
    fn an_entity_that_grew_too_large_is_not_found_as_it_was() {
        let (cache, key) = (Cache::new(1 << 16), item("a"));
        cache.put(key.clone(), Some(blob(3)));
        assert_eq!(size(&cache, &key), Some(3));
        cache.put(key.clone(), Some(blob(1 << 20)));
        assert_eq!(size(&cache, &key), None);
    }

    #[test]
    fn without_memory_everything_is_loaded() {
        let (cache, key) = (Cache::new(0), item("a"));
        for _ in 0..2 {
            let loaded = Cell::new(false);
            let read = cache.get_or_load(&key, || {
                loaded.set(true);
                Ok(Some(blob(3)))
            });
            assert!(loaded.get() & read.expect("loads").is_some());
        }
    }
}
