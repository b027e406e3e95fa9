//! Texts that models compute for events and rankings, on threads that may wait for them.

use rankwright_event::Event;
use rankwright_feature::{Encoded, Plan, Texts};
use std::sync::Once;
use tokio::task::spawn_blocking;
use tracing::warn;

/// A model that refuses texts would fill the log.
static SAID: Once = Once::new();

/// Events whose texts are computed before they are taken in: as embeddings of 384 numbers they take 6 MB.
pub(crate) const EVENTS: usize = 4096;

/// What models make of texts, except for those that are known.
pub(crate) async fn encoded(mut texts: Texts, known: &Encoded) -> Encoded {
    let known = texts.among(known);
    if texts.is_empty() {
        return known;
    }
    let count = texts.len();
    let computed = spawn_blocking(move || texts.encode(None)).await;
    let encoded = computed.unwrap_or_else(|error| Encoded::without(count, error.to_string()));
    if let Some(why) = encoded.why() {
        let texts = encoded.absent();
        SAID.call_once(|| warn!(texts, why, "a text model fails: values are missing; this is logged once"));
    }
    known.and(encoded)
}

/// What models make of the texts of these events, all cores at a time: it is at hand when the events are taken in, one after the
/// other.
pub(crate) async fn foresee(plan: &Plan, events: impl Iterator<Item = &Event>) -> Encoded {
    encoded(plan.foreseen(events), &Encoded::default()).await
}
