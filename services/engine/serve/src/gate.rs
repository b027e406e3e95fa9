//! Bounds on requests that run at the same time, and on bodies that are received.

use prometheus::IntGauge;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets a limited number of requests run, and refuses the others at once.
pub(crate) struct Gate {
    places: Arc<Semaphore>,
    /// Shows how many are inside.
    inside: Option<IntGauge>,
}

/// A place inside, and the room that what was brought along takes; given back when dropped.
pub(crate) struct Place {
    _entered: OwnedSemaphorePermit,
    _inside: Option<Inside>,
    _room: Option<Reserved>,
}

/// Counts as one that is inside.
struct Inside(IntGauge);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Place {
    /// The same place, with room that is kept as long.
    pub(crate) fn with(self, room: Reserved) -> Self {
        Self { _room: Some(room), ..self }
    }
}

impl Gate {
    /// A gate with this many places.
    pub(crate) fn new(places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))), inside: None }
    }

    /// The same, which shows how many are inside.
    pub(crate) fn shown_by(self, gauge: &IntGauge) -> Self {
        Self { inside: Some(gauge.clone()), ..self }
    }

    /// A place, where one is free.
    pub(crate) fn enter(&self) -> Option<Place> {
        let entered = self.places.clone().try_acquire_owned().ok()?;
        let inside = self.inside.clone().map(|gauge| {
            gauge.inc();
            Inside(gauge)
        });
        Some(Place { _entered: entered, _inside: inside, _room: None })
    }

    /// Whether no place is free this moment.
    pub(crate) fn is_full(&self) -> bool {
        self.places.available_permits() == 0
    }
}

/// Bounds the memory of bodies that are received, or of what they unpack to: room for a few bodies of the largest size.
pub(crate) struct Room {
    kibibytes: Arc<Semaphore>,
    /// Of the largest body.
    largest: u32,
}

/// Room that is taken; given back when dropped.
pub(crate) struct Reserved(OwnedSemaphorePermit);

/// How many bodies of the largest size have room.
const LARGE_BODIES: usize = 4;
/// Received bodies have at least the room of four bodies of this size, because more than four small ones arrive at a time.
const USUAL_LIMIT: usize = 32 << 20;

impl Room {
    /// Room for bodies of up to `largest` bytes.
    pub(crate) fn new(largest: usize) -> Self {
        Self::with_room(0, largest)
    }

    /// Room for bodies of up to `largest` bytes that arrive, and until they are worked on.
    pub(crate) fn for_arrivals(largest: usize) -> Self {
        Self::with_room(USUAL_LIMIT, largest)
    }

    fn with_room(least: usize, largest: usize) -> Self {
        let most = (Semaphore::MAX_PERMITS / LARGE_BODIES).min(u32::MAX as usize);
        let (least, largest) = (kibibytes(least).min(most), kibibytes(largest).min(most));
        Self { kibibytes: Arc::new(Semaphore::new(LARGE_BODIES * least.max(largest))), largest: largest as u32 }
    }

    /// Waits for room for a body of this many bytes, or for the largest one if it is larger, and takes it.
    pub(crate) async fn reserve_for(&self, bytes: usize) -> Reserved {
        let wanted = kibibytes(bytes).min(self.largest as usize);
        let taken = self.kibibytes.clone().acquire_many_owned(wanted as u32).await;
        Reserved(taken.expect("the semaphore is never closed"))
    }

    /// Waits for room for a body of the largest size, and takes it.
    pub(crate) async fn reserve(&self) -> Reserved {
        self.reserve_for(usize::MAX).await
    }
}

impl Reserved {
    /// Gives back what is more than this many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.0.num_permits().saturating_sub(kibibytes(bytes));
        drop(self.0.split(surplus));
    }
}

fn kibibytes(bytes: usize) -> usize {
    bytes.div_ceil(1 << 10)
}

/// Where requests wait for their bodies: before the gate, so that slow clients do not take places of requests that can run.
pub(crate) struct Arrivals {
    small: Gate,
    large: Gate,
}

/// A body is small up to this many bytes. A body of unknown length is not small.
pub(crate) const SMALL: u64 = 64 << 10;
/// How many small bodies may be received for each request that may run.
pub(crate) const SMALL_EACH: usize = 4;

impl Arrivals {
    /// For a gate with this many places.
    pub(crate) fn before(places: usize) -> Self {
        Self { small: Gate::new(places.saturating_mul(SMALL_EACH)), large: Gate::new(places) }
    }

    /// A place to wait for a body of this many bytes, if one is free.
    pub(crate) fn enter(&self, bytes: Option<u64>) -> Option<Place> {
        let gate = if bytes.is_some_and(|bytes| bytes <= SMALL) { &self.small } else { &self.large };
        gate.enter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn those_inside_are_shown_until_they_leave() {
        let gauge = IntGauge::new("inside", "requests").expect("a name");
        let gate = Gate::new(2).shown_by(&gauge);
        let first = gate.enter().expect("a place");
        let second = gate.enter().expect("a place").with(room_for_one());
        assert!(gate.enter().is_none() && gauge.get() == 2);
        drop(first);
        assert_eq!(gauge.get(), 1);
        drop(second);
        assert_eq!(gauge.get(), 0);
    }

    fn room_for_one() -> Reserved {
        Room::new(1).reserve().now_or_never().expect("there is room")
    }

    #[test]
    fn bodies_that_turn_out_small_make_room_for_others() {
        let room = Room::new(32 << 20);
        let mut large: Vec<_> =
            (0..LARGE_BODIES).map(|_| room.reserve().now_or_never().expect("there is room")).collect();
        assert!(room.reserve().now_or_never().is_none(), "four large bodies fill it");
        large[0].shrink_to(100);
        assert!(room.reserve().now_or_never().is_none(), "a KiB is missing");
        large[1].shrink_to(100);
        let other = room.reserve().now_or_never();
        assert!(other.is_some() && room.reserve().now_or_never().is_none());
        drop((large, other));
        assert_eq!(room.kibibytes.available_permits(), LARGE_BODIES << 15);
    }

    #[test]
    fn bodies_that_arrive_have_room_for_more_than_four_where_none_is_large() {
        let room = Room::for_arrivals(1 << 20);
        let reserved: Vec<_> = (0..129).map_while(|_| room.reserve_for(2 << 20).now_or_never()).collect();
        assert_eq!(reserved.len(), 128, "a body is no larger than the largest");
        assert_eq!(Room::for_arrivals(64 << 20).kibibytes.available_permits(), LARGE_BODIES << 16);
    }
}
