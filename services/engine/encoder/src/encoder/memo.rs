//! What was computed lately, bounded in bytes, and what is being computed.

use super::Text;
use foldhash::fast::RandomState;
use quick_cache::Weighter;
use quick_cache::sync::{Cache, DefaultLifecycle, GuardResult, PlaceholderGuard};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Half a SHA-256 of a text or pair: two with the same key cannot be found.
pub(super) type Key = u128;
type Vector = Arc<[f32]>;

pub(super) struct Memo {
    kept: Cache<Key, Vector, Weight, RandomState>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// What is known of a text.
pub(super) enum Seen<'a> {
    Known(Vector),
    /// The caller is to compute it, and is waited for until the guard is filled or dropped.
    Ours(Guard<'a>),
    /// Another call computes it.
    Others,
}

pub(super) struct Guard<'a>(PlaceholderGuard<'a, Key, Vector, Weight, RandomState, DefaultLifecycle<Key, Vector>>);

/// Of an entry beside its components: its key, its place in the table, the head of its allocation.
const ENTRY_BYTES: usize = 96;

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Vector> for Weight {
    fn weight(&self, _: &Key, vector: &Vector) -> u64 {
        (ENTRY_BYTES + size_of_val::<[f32]>(vector)) as u64
    }
}

pub(super) fn key((text, pair): Text<'_>) -> Key {
    let mut digest = Sha256::new();
    digest.update((text.len() as u64).to_le_bytes());
    digest.update(text);
    digest.update(pair.unwrap_or_default());
    let digest: [u8; 32] = digest.finalize().into();
    u128::from_le_bytes(*digest.first_chunk().expect("32 bytes are more than 16"))
}

impl Memo {
    /// For vectors of `dim` components, which take at most `bytes` in all.
    pub(super) fn new(bytes: u64, dim: usize) -> Self {
        let items = usize::try_from(bytes / (ENTRY_BYTES + size_of::<f32>() * dim) as u64).unwrap_or(usize::MAX);
        let kept = Cache::with(items, bytes, Weight, RandomState::default(), DefaultLifecycle::default());
        Self { kept, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// What is known, without any claim to compute it.
    pub(super) fn recall(&self, key: Key) -> Option<Vector> {
        let vector = self.kept.get(&key)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(vector)
    }

    /// What is known, without waiting.
    pub(super) fn look(&self, key: Key) -> Seen<'_> {
        self.within(key, Some(Duration::ZERO))
    }

    /// What is known once the call that computes it has done so, or failed; others where the deadline came first.
    pub(super) fn wait(&self, key: Key, by: Option<Instant>) -> Seen<'_> {
        self.within(key, by.map(|by| by.saturating_duration_since(Instant::now())))
    }

    fn within(&self, key: Key, limit: Option<Duration>) -> Seen<'_> {
        match self.kept.get_value_or_guard(&key, limit) {
            GuardResult::Value(vector) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                Seen::Known(vector)
            }
            GuardResult::Guard(guard) => {
                self.misses.fetch_add(1, Ordering::Relaxed);
                Seen::Ours(Guard(guard))
            }
            GuardResult::Timeout => Seen::Others,
        }
    }

    pub(super) fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }
}

impl Guard<'_> {
    pub(super) fn fill(self, vector: Vector) {
        let _ = self.0.insert(vector); // nothing removes it meanwhile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_kept(memo: &Memo, number: usize) -> bool {
        matches!(memo.look(key((&number.to_string(), None))), Seen::Known(_))
    }

    #[test]
    fn results_are_bounded_in_bytes() {
        let memo = Memo::new(1 << 20, 384);
        for number in 0..10_000 {
            if let Seen::Ours(guard) = memo.look(key((&number.to_string(), None))) {
                guard.fill([0.5; 384].into());
            }
        }
        let kept = (0..10_000).filter(|&number| is_kept(&memo, number)).count();
        assert!(kept * (384 * 4 + ENTRY_BYTES) <= 1 << 20, "{kept}");
        assert!(kept > 200, "{kept}");
        assert!(memo.kept.weight() <= 1 << 20);
    }

    #[test]
    fn a_pair_has_another_key_than_its_texts_together_or_the_other_way_round() {
        let keys = [key(("a b", None)), key(("a ", Some("b"))), key(("a", Some(" b"))), key(("b", Some("a ")))];
        assert!((0..4).all(|one| (0..one).all(|other| keys[one] != keys[other])));
    }

    #[test]
    fn what_is_computed_is_recalled_and_nothing_else() {
        let memo = Memo::new(1 << 20, 1);
        assert!(memo.recall(1).is_none());
        let Seen::Ours(guard) = memo.look(1) else { panic!("it is unknown") };
        assert!(memo.recall(1).is_none(), "it is being computed");
        guard.fill([0.5].into());
        assert_eq!(memo.recall(1).as_deref(), Some(&[0.5][..]));
        assert_eq!(memo.hits_and_misses(), (1, 1));
    }

    #[test]
    fn what_a_call_gave_up_the_next_one_computes() {
        let memo = Memo::new(1 << 20, 1);
        let Seen::Ours(guard) = memo.look(1) else { panic!("it is unknown") };
        assert!(matches!(memo.look(1), Seen::Others));
        assert!(matches!(memo.wait(1, Some(Instant::now() + Duration::from_millis(5))), Seen::Others));
        drop(guard);
        assert!(matches!(memo.wait(1, None), Seen::Ours(_)));
    }
}
