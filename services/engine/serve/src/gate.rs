//! How many requests are worked on at once.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets a limited number of requests in, and keeps nobody waiting.
pub(crate) struct Gate {
    places: Arc<Semaphore>,
}

/// A place inside; given back when dropped.
pub(crate) type Place = OwnedSemaphorePermit;

impl Gate {
    /// A gate with so many places.
    pub(crate) fn new(places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))) }
    }

    /// A place, where one is free.
    pub(crate) fn enter(&self) -> Option<Place> {
        self.places.clone().try_acquire_owned().ok()
    }

    /// Whether no place is free this moment.
    pub(crate) fn is_full(&self) -> bool {
        self.places.available_permits() == 0
    }
}

/// Where bodies are waited for: outside of the gate, so that clients who are slow keep nobody from being worked on.
pub(crate) struct Arrivals {
    small: Gate,
    large: Gate,
}

/// A body is small up to so many bytes; one of a length that nobody knows is not.
const SMALL: u64 = 64 << 10;
/// For each request that may be worked on at once, so many small bodies may be on their way.
const SMALL_EACH: usize = 16;

impl Arrivals {
    /// For a gate with so many places.
    pub(crate) fn before(places: usize) -> Self {
        Self { small: Gate::new(places.saturating_mul(SMALL_EACH)), large: Gate::new(places) }
    }

    /// A place to wait for a body of so many bytes, where one is free.
    pub(crate) fn enter(&self, bytes: Option<u64>) -> Option<Place> {
        let gate = if bytes.is_some_and(|bytes| bytes <= SMALL) { &self.small } else { &self.large };
        gate.enter()
    }
}
