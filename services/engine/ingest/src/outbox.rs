//! Closed click-throughs on their way to the click-through store.
//!
//! With a durable state, a record stays there until the part that holds it is durable as well.

use rankwright_clickthrough::{Clickthrough, ClickthroughStore, Error, Mark};
use rankwright_state::Key;
use std::collections::VecDeque;
use std::sync::Arc;

/// Records that are not durable yet.
pub(crate) struct Outbox {
    store: Arc<dyn ClickthroughStore>,
    /// Not taken by the store yet.
    unsent: Vec<Clickthrough>,
    /// Keys under which the state holds them.
    unsent_keys: Vec<Key>,
    /// Taken, and durable from a mark on.
    sent: VecDeque<(Mark, Vec<Key>)>,
}

/// So many records may wait for a store that does not take them; ingest pauses then.
const LIMIT: usize = 100_000;

impl Outbox {
    pub(crate) fn new(store: Arc<dyn ClickthroughStore>) -> Self {
        Self { store, unsent: Vec::new(), unsent_keys: Vec::new(), sent: VecDeque::new() }
    }

    pub(crate) fn push(&mut self, key: Option<Key>, record: Clickthrough) {
        self.unsent.push(record);
        self.unsent_keys.extend(key);
    }

    /// Number of records that are not durable.
    pub(crate) fn len(&self) -> usize {
        self.unsent.len() + self.sent.iter().map(|(_, keys)| keys.len()).sum::<usize>()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() > LIMIT
    }

    /// Hands all records to the store; on an error they stay here.
    pub(crate) fn send(&mut self) -> Result<(), Error> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let mark = self.store.append(&self.unsent)?;
        self.unsent.clear();
        let keys = std::mem::take(&mut self.unsent_keys);
        if !keys.is_empty() {
            self.sent.push_back((mark, keys));
        }
        Ok(())
    }

    /// Makes what was sent durable.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.send()?;
        self.store.flush().map(|_| ())
    }

    /// Keys of records that have become durable, and may be forgotten.
    pub(crate) fn settled(&mut self) -> Vec<Key> {
        let durable = self.store.durable();
        let mut settled = Vec::new();
        while self.sent.front().is_some_and(|(mark, _)| *mark <= durable) {
            settled.extend(self.sent.pop_front().map(|(_, keys)| keys).unwrap_or_default());
        }
        settled
    }
}
