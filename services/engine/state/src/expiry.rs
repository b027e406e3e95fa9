//! Which values are outdated, and when a store looks for them.

use crate::Slot;
use rankwright_event::Timestamp;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Says of a slot's value of some time whether it is too old at `now`; `other` is for slots that are not listed.
pub(crate) fn outdated(
    now: Timestamp,
    ttl: &[(Slot, Duration)],
    other: Duration,
) -> impl Fn(Slot, Timestamp) -> bool + use<> {
    let oldest: HashMap<Slot, Timestamp> = ttl.iter().map(|(slot, ttl)| (*slot, now.minus(*ttl))).collect();
    let oldest_other = now.minus(other);
    move |slot, at| at < *oldest.get(&slot).unwrap_or(&oldest_other)
}

/// Spaces out the sweeps of a store, each of which looks at all entities: as many keys are written between two of them as the
/// first one left, so expiry costs a constant per write, however much event time passes, and a store holds about twice what is not
/// outdated at most.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    written: AtomicU64,
    left: AtomicU64,
}

impl Pace {
    /// This many keys were written.
    pub(crate) fn written(&self, keys: usize) {
        self.written.fetch_add(keys as u64, Ordering::Relaxed);
    }

    /// Whether a sweep is due; one is due in a store that was just opened.
    pub(crate) fn is_due(&self) -> bool {
        self.written.load(Ordering::Relaxed) >= self.left.load(Ordering::Relaxed)
    }

    /// A sweep has left this many entities.
    pub(crate) fn swept(&self, left: u64) {
        self.left.store(left, Ordering::Relaxed);
        self.written.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn a_sweep_is_due_when_as_many_keys_were_written_as_the_last_one_left() {
        let pace = Pace::default();
        assert!(pace.is_due(), "what a store holds that is opened may be outdated");
        pace.swept(3);
        pace.written(2);
        assert!(!pace.is_due(), "two of three");
        pace.written(1);
        assert!(pace.is_due());
    }

    /// Ten years, on each day of which one of a thousand entities is written.
    #[test]
    fn days_on_which_little_is_written_cost_nothing() {
        let pace = Pace::default();
        let sweeps = (0..3650).filter(|_| {
            pace.written(1);
            let due = pace.is_due();
            if due {
                pace.swept(1000);
            }
            due
        });
        assert_eq!(sweeps.count(), 4);
    }

    /// Each day brings a thousand keys that were never there before and live for thirty days.
    #[test]
    fn a_store_of_ever_new_keys_holds_twice_what_is_not_outdated() {
        let (pace, live, mut there, mut most) = (Pace::default(), 30_000, 0, 0);
        for _ in 0..3650 {
            there += 1000;
            pace.written(1000);
            most = most.max(there);
            if pace.is_due() {
                there = there.min(live);
                pace.swept(there);
            }
        }
        assert!(most <= 2 * live + 1000, "{most}");
    }
}
