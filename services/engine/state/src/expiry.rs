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

/// Spaces out the sweeps of a store, each of which looks at all entities: as many keys are written between two of them as there
/// are entities, so expiry costs a constant per write, however much event time passes.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU64);

impl Pace {
    /// Of a store that is opened: whatever it holds may be outdated by now.
    pub(crate) fn of(entities: u64) -> Self {
        Self(entities.into())
    }

    /// This many keys were written.
    pub(crate) fn written(&self, keys: usize) {
        self.0.fetch_add(keys as u64, Ordering::Relaxed);
    }

    /// Whether a store of this many entities is to be swept now; it counts from zero again then.
    pub(crate) fn is_due(&self, entities: u64) -> bool {
        let due = |written| (written >= entities).then_some(0);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn a_sweep_is_due_when_as_many_keys_were_written_as_there_are_entities() {
        let pace = Pace::of(3);
        assert_eq!([pace.is_due(3), pace.is_due(3)], [true, false]);
        pace.written(2);
        assert!(!pace.is_due(3), "two of three");
        pace.written(1);
        assert_eq!([pace.is_due(3), pace.is_due(3)], [true, false]);
    }

    /// A year of days, on each of which one of a thousand entities is written, sweeps once in a thousand days.
    #[test]
    fn days_on_which_little_is_written_cost_nothing() {
        let pace = Pace::of(0);
        let sweeps = (0..3650).filter(|_| {
            pace.written(1);
            pace.is_due(1000)
        });
        assert_eq!(sweeps.count(), 3);
    }
}
