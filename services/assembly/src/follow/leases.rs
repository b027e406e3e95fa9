//! Who reads which part of a stream that has no groups of readers: the state store keeps it.

use crate::program::chain;
use rankwright_source::{BoxFuture, Leases};
use rankwright_state::Store;
use std::sync::Arc;
use std::time::Duration;

/// Tasks of one process.
pub(super) struct Held {
    pub(super) store: Arc<dyn Store>,
    /// This process among the others.
    pub(super) holder: String,
}

impl Leases for Held {
    fn hold<'a>(&'a self, task: &'a str, time: Duration) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async move {
            let held = self.store.hold(task, &self.holder, time).await;
            held.map_err(|error| chain(&error.into()))
        })
    }
}
