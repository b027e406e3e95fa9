//! How many readers there are, so that each takes its share of the shards.
//!
//! Each reader holds a seat. A reader sees that another seat is taken when it cannot take that seat itself, so counting needs
//! nothing but tasks of the store. A count that is wrong for a moment only moves shards between readers.

use crate::Leases;
use std::time::Duration;

/// Most readers that are counted; more count as this number.
const SEATS: usize = 256;
/// After this many free seats the rest are free as well, mostly: readers take the first one that is free.
const GAP: usize = 3;
/// Long enough to see that a seat is free, short enough not to block other readers.
const GLANCE: Duration = Duration::from_millis(1);

/// A reader's seat.
#[derive(Debug, Clone)]
pub(super) struct Members {
    stream: String,
    seat: Option<usize>,
}

impl Members {
    pub(super) fn new(stream: &str) -> Self {
        Self { stream: stream.to_owned(), seat: None }
    }

    /// Keeps the seat, or takes one, and counts those who have one.
    pub(super) async fn count(&mut self, leases: &dyn Leases, time: Duration) -> Result<usize, String> {
        self.sit(leases, time).await?;
        let own = self.seat.unwrap_or(SEATS);
        let (mut taken, mut free) = (1, 0);
        for seat in (0..SEATS).filter(|seat| *seat != own) {
            if leases.hold(&self.name(seat), GLANCE).await? {
                free += 1;
            } else {
                (taken, free) = (taken + 1, 0);
            }
            if seat > own && free >= GAP {
                break;
            }
        }
        Ok(taken)
    }

    /// Leaves the seat to others.
    pub(super) async fn leave(&mut self, leases: &dyn Leases) {
        if let Some(seat) = self.seat.take() {
            // it becomes free by itself, a little later
            leases.hold(&self.name(seat), Duration::ZERO).await.unwrap_or_default();
        }
    }

    async fn sit(&mut self, leases: &dyn Leases, time: Duration) -> Result<(), String> {
        if let Some(seat) = self.seat {
            if leases.hold(&self.name(seat), time).await? {
                return Ok(());
            }
            self.seat = None;
        }
        for seat in 0..SEATS {
            if leases.hold(&self.name(seat), time).await? {
                self.seat = Some(seat);
                return Ok(());
            }
        }
        Ok(())
    }

    fn name(&self, seat: usize) -> String {
        format!("kinesis:{}#{seat}", self.stream)
    }
}
