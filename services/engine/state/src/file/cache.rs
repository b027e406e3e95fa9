//! Decoded entities, so that a ranking's hundred items are not decoded again for each request.
//!
//! The one promise: what a commit has replaced is never found here once the commit has answered. A reader that misses
//! leaves a placeholder, reads the disk, and fills it; a commit, which writes the disk first, replaces or removes the
//! placeholder as it would an entity, and the reader's older entity finds no place any more.

use crate::{Cell, Entity, Error, FieldValue, Key, Scope, Stored};
use foldhash::fast::RandomState;
use quick_cache::Weighter;
use quick_cache::sync::{Cache as Entries, GuardResult};
use std::sync::Arc;

/// Entities of limited weight in bytes; those not used for long go first.
pub(super) struct Cache {
    entries: Entries<Key, Arc<Entity>, Weight, RandomState>,
    largest: u64,
}

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

    /// The entity under a key, if it is here.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Entity>> {
        self.entries.get(key)
    }

    /// The entity under a key, loaded where it is not here; others who want the same one wait for it.
    pub(super) fn get_or_load(
        &self,
        key: &Key,
        load: impl FnOnce() -> Result<Option<Arc<Entity>>, Error>,
    ) -> Result<Option<Arc<Entity>>, Error> {
        let guard = match self.entries.get_value_or_guard(key, None) {
            GuardResult::Value(entity) => return Ok(Some(entity)),
            GuardResult::Guard(guard) => guard,
            GuardResult::Timeout => return load(),
        };
        let loaded = load()?;
        if let Some(entity) = &loaded {
            let _replaced = guard.insert(entity.clone()); // by a commit that came between
        }
        Ok(loaded)
    }

    /// Takes what a commit has written; of an entity too large to be kept the older one is removed all the same.
    pub(super) fn put(&self, key: Key, entity: Option<Arc<Entity>>) {
        match entity {
            Some(entity) if Weight.weight(&key, &entity) <= self.largest => self.entries.insert(key, entity),
            _ => self.remove(&key),
        }
    }

    pub(super) fn remove(&self, key: &Key) {
        self.entries.remove(key);
    }
}

impl Weighter<Key, Arc<Entity>> for Weight {
    fn weight(&self, key: &Key, entity: &Arc<Entity>) -> u64 {
        let values = entity.values().map(|(_, stored)| size_of::<Stored>() + heap(&stored.cell));
        (size_of::<(Key, Entity)>() + text(key) + values.sum::<usize>()) as u64
    }
}

/// Bytes of a cell beyond itself.
fn heap(cell: &Cell) -> usize {
    match cell {
        Cell::Field(value @ (FieldValue::Text(_) | FieldValue::Texts(_))) => {
            value.texts().iter().map(|text| size_of::<u64>() + size_of_val(text) + text.len()).sum()
        }
        Cell::Field(value) => size_of_val(value.numbers()),
        Cell::Windows(windows) => size_of_val(windows.parts().1),
        Cell::Recent(recent) => {
            recent.visits().iter().map(|visit| size_of_val(visit) + visit.item.as_str().len()).sum()
        }
        Cell::Blob(bytes) => bytes.len(),
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

    fn blob(bytes: usize) -> Arc<Entity> {
        Arc::new(Entity::one(Slot(0), stored(1, Cell::Blob(vec![7; bytes].into()))))
    }

    fn size(cache: &Cache, key: &Key) -> Option<usize> {
        cache.get(key).and_then(|entity| entity.blob(Slot(0)).map(<[u8]>::len))
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

    #[test]
    fn a_reader_does_not_bring_back_what_a_commit_replaced() {
        for (name, newer) in [("removed", None), ("small", Some(blob(5))), ("too large", Some(blob(1 << 20)))] {
            let (cache, key) = (Cache::new(1 << 16), item("a"));
            let read = cache.get_or_load(&key, || {
                cache.put(key.clone(), newer.clone());
                Ok(Some(blob(3)))
            });
            assert!(read.expect("loads").is_some());
            let kept = size(&cache, &key);
            assert!(matches!((name, kept), ("small", Some(5)) | ("removed" | "too large", None)), "{name}: {kept:?}");
        }
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
            let mut loaded = false;
            let read = cache.get_or_load(&key, || {
                loaded = true;
                Ok(Some(blob(3)))
            });
            assert!(loaded & read.expect("loads").is_some());
        }
    }
}
