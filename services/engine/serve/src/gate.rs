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
}
