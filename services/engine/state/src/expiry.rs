//! Which values are outdated.

use crate::Slot;
use rankwright_event::Timestamp;
use std::collections::HashMap;
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
