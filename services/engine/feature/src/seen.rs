//! What a visitor took already, for recommenders that leave it out.

use crate::slot::{Meaning, Slots};
use rankwright_config::model::Seen;
use rankwright_state::{Entity, Fingerprint, Slot};
use std::time::Duration;

/// Items that are kept of a visitor, the newest ones.
pub const KEPT_ITEMS: u32 = 100;

/// They count as long as this after the last of them, as values of features do where nothing else is said.
pub const KEPT_FOR: Duration = Duration::from_secs(90 * 86_400);

/// What is stored for it.
pub(crate) fn meaning(seen: &Seen) -> Meaning {
    Meaning::Seen { interactions: seen.interactions.clone(), keep: KEPT_ITEMS }
}

/// Notes that it is needed.
pub(crate) fn need(seen: &Seen, slots: &mut Slots) {
    slots.need(meaning(seen), KEPT_FOR, KEPT_ITEMS);
}

/// Which stored value it is.
pub fn fingerprint(seen: &Seen) -> Fingerprint {
    meaning(seen).fingerprint()
}

/// Ids of the items that a visitor took, the newest first.
pub fn items(visitor: &Entity, slot: Slot) -> impl Iterator<Item = &str> {
    visitor.items(slot).into_iter().flat_map(|items| items.visits()).map(|visit| visit.item.as_str())
}
