//! What a state in memory takes.

use super::{MemoryStore, Shard};
use crate::usage::{Purpose, Sample};
use crate::{Entity, Error, Format, Key, Space, Stored, Usage, codec};
use std::sync::Arc;

/// Share of a table's places that have an entry, on average: 7/8 at most, half of it after it has grown.
const FILLED: f64 = 0.66;
/// The two counts of an `Arc`.
const COUNTS: usize = 16;

impl MemoryStore {
    /// Tables lie in the order of hashes, so the first entries of each are as good a sample as any.
    pub(super) fn sampled(&self, keys: usize) -> Result<Usage, Error> {
        let (mut sample, mut all) = (Sample::default(), 0);
        for shards in [&self.values, &self.work] {
            for shard in shards {
                let (some, length) = first(shard, keys.div_ceil(super::SHARDS));
                let stands_for = length as f64 / some.len().max(1) as f64;
                all += length;
                for (key, entity) in some {
                    sample.entity(&key, &entity, (footprint(&key, &entity)?, Format::Binary), stands_for)?;
                }
            }
        }
        for (writer, (_, position)) in self.writers.lock().iter() {
            let bytes = size_of_val(writer) + size_of_val(position) + writer.0.len() + position.0.len();
            sample.note(Purpose::Writers, bytes as f64 / FILLED, 1.0);
            all += 1;
        }
        let whole = sample.sampled() == all as u64;
        Ok(sample.usage(all as f64, whole, Vec::new()))
    }
}

/// At most `most` entries of a table, and how many it has.
fn first(shard: &Shard, most: usize) -> (Vec<(Key, Arc<Entity>)>, usize) {
    let shard = shard.read();
    (shard.iter().take(most).cloned().collect(), shard.len())
}

/// A value takes its place in a list, and beside it about what it takes when it is written with nothing shared.
fn footprint(key: &Key, entity: &Entity) -> Result<f64, Error> {
    let place = (size_of::<(Key, Arc<Entity>)>() + 1) as f64 / FILLED;
    let values = entity.len() * size_of::<Stored>() + codec::encode(entity, Format::First)?.len();
    let work = if key.scope.space() == Space::Values { 0 } else { key.to_bytes().len() };
    Ok(place + (COUNTS + size_of::<Entity>() + values + work) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{item, put, stored};
    use crate::{Cell, FieldValue, Slot, Store, Term};

    /// Every tenth item has a long text, every other one a counter.
    fn catalogue(items: usize) -> Vec<(Key, Option<Entity>)> {
        let entity = |number: usize| {
            let text = "x".repeat(if number.is_multiple_of(10) { 1_000 } else { 20 });
            let mut entity = Entity::one(Slot(0), stored(1, Cell::Field(FieldValue::Text(Term::from(text.as_str())))));
            if number.is_multiple_of(2) {
                entity.absorb_value(Slot(1), &stored(1, Cell::Counter(1)));
            }
            entity
        };
        (0..items).map(|number| (item(&number.to_string()), Some(entity(number)))).collect()
    }

    #[tokio::test]
    async fn a_sample_tells_of_the_whole_within_a_fifth() {
        let store = MemoryStore::default();
        put(&store, catalogue(50_000)).await;
        let (all, some) = (store.usage(usize::MAX).await.expect("tells"), store.usage(3_000).await.expect("tells"));
        assert!(all.whole && !some.whole);
        assert_eq!((all.keys, all.sampled), (50_001, 50_001), "the writer has a row");
        assert!((2_800..3_300).contains(&some.sampled), "{some:?}");
        assert_eq!(some.keys, all.keys, "a table knows its size");
        assert_eq!(all.room[&Purpose::Values(Slot(0))].values, 50_000);
        assert_eq!(all.room[&Purpose::Values(Slot(1))].values, 25_000);
        for (purpose, room) in &all.room {
            let ratio = |some: u64, all: u64| some as f64 / all as f64;
            let some = some.room[purpose];
            assert!((0.8..1.25).contains(&ratio(some.bytes, room.bytes)), "{purpose:?} {some:?} {room:?}");
            assert!((0.8..1.25).contains(&ratio(some.values, room.values)), "{purpose:?} {some:?} {room:?}");
        }
    }
}
