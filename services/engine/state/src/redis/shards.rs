//! Which keys of a cluster lie together.
//!
//! A script can touch the keys of one slot only, so keys with what belongs to them lie in shards: names with one hash tag.
//! Their number is fixed when a state is made. It bounds how far a state can be spread, and each commit has a script for
//! each shard that it touches: with 64, a cluster of a dozen servers is loaded evenly within a fifth, and the hundred keys
//! of a ranking are some fifty short commands, which go to all servers at once. Shards are spread evenly over the slots.
//!
//! Two parts of the keys have a shard of their own each. Ids of events: whether all those of a batch are new is decided by
//! one script. Watermarks: they are written after everything else of a batch, so that a reader of one sees what is behind
//! it (see `parts`).

use crate::{Key, Space};
use rankwright_redis::{SLOTS, slot_of};

/// Number of shards of a new state.
pub(super) const SHARDS: u16 = 64;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Shard(u16);

impl Shard {
    /// The only one, where keys are not shared out.
    pub(super) const WHOLE: Self = Self(0);
}

/// The shards of a generation.
#[derive(Debug, Clone)]
pub(super) struct Shards {
    tags: Vec<String>,
}

impl Shards {
    /// `count` shards, and the two special ones.
    pub(super) fn new(count: u16) -> Self {
        let tags = (0..count).map(|number| tag(number, count));
        Self { tags: tags.chain(["seen", "watermarks"].map(String::from)).collect() }
    }

    pub(super) fn of(&self, key: &Key) -> Shard {
        match key.scope.space() {
            Space::Seen => self.seen(),
            Space::Watermarks => self.watermarks(),
            _ => Shard((digest(&key.to_bytes()) % self.count() as u64) as u16),
        }
    }

    /// Those that may have keys of a space.
    pub(super) fn with(&self, space: Space) -> Vec<Shard> {
        match space {
            Space::Seen => vec![self.seen()],
            Space::Watermarks => vec![self.watermarks()],
            _ => (0..self.count() as u16).map(Shard).collect(),
        }
    }

    /// What stands in braces in the names of a shard.
    pub(super) fn tag(&self, shard: Shard) -> &str {
        &self.tags[usize::from(shard.0)]
    }

    /// The shard that is written last.
    pub(super) fn watermarks(&self) -> Shard {
        Shard(self.count() as u16 + 1)
    }

    /// How many there are besides the two that are special.
    pub(super) fn number(&self) -> u16 {
        self.count() as u16
    }

    fn seen(&self) -> Shard {
        Shard(self.count() as u16)
    }

    fn count(&self) -> usize {
        self.tags.len() - 2
    }
}

/// A tag whose slot is in the shard's part of all slots: the number with the first suffix that has this effect.
fn tag(number: u16, count: u16) -> String {
    let part = |slot: u16| u32::from(slot) * u32::from(count) / u32::from(SLOTS);
    let mut tags = (0u32..).map(|suffix| format!("{number}.{suffix}"));
    tags.find(|tag| part(slot_of(tag.as_bytes())) == u32::from(number)).unwrap_or_default()
}

/// FNV-1a: part of the stored format.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;
    use crate::contract::item;
    use rankwright_event::Tenant;

    #[test]
    fn shards_are_spread_evenly_over_the_slots() {
        for count in [1, 3, 64, 1000] {
            let shards = Shards::new(count);
            let slots: Vec<u16> = shards.tags[..usize::from(count)].iter().map(|tag| slot_of(tag.as_bytes())).collect();
            let width = f64::from(SLOTS) / f64::from(count);
            for (number, slot) in slots.iter().enumerate() {
                assert!(
                    (f64::from(*slot) / width - 0.5 - number as f64).abs() <= 0.5 + 1.0 / width,
                    "{number} of {count}"
                );
            }
        }
    }

    #[test]
    fn keys_are_shared_out_evenly_and_stay_where_they_are() {
        let shards = Shards::new(SHARDS);
        let mut counts = vec![0; usize::from(SHARDS)];
        (0..64_000).for_each(|number| counts[usize::from(shards.of(&item(&format!("item-{number}"))).0)] += 1);
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
        assert_eq!(shards.of(&item("p1")), Shard(20), "a state would lose its keys");
        assert_eq!(shards.tag(Shard(20)), "20.322", "as above");
    }

    #[test]
    fn ids_of_events_lie_together_and_watermarks_do() {
        let shards = Shards::new(SHARDS);
        let of = |scope| shards.of(&Key::new(&Tenant::default(), scope));
        assert_eq!(of(Scope::Seen("a".into())), of(Scope::Seen("b".into())));
        assert_eq!(of(Scope::Watermark("a".into())), shards.watermarks());
        assert_ne!(of(Scope::Seen("a".into())), shards.watermarks());
    }
}
