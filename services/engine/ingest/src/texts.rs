//! Texts that models compute for events and rankings, on threads that may wait for them.

use rankwright_event::Event;
use rankwright_feature::{Encoded, Plan, Texts};
use tokio::task::spawn_blocking;

/// What models make of texts.
pub(crate) async fn encoded(texts: Texts) -> Encoded {
    if texts.is_empty() {
        return Encoded::default();
    }
    spawn_blocking(move || texts.encode(None)).await.unwrap_or_default() // a panic is reported where it happened
}

/// Has models compute what these events need, all cores at a time: the models know it when the events are taken in, one
/// after the other.
pub(crate) async fn foresee(plan: &Plan, events: impl Iterator<Item = &Event>) {
    drop(encoded(plan.foreseen(events)).await);
}
