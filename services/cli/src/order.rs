//! Whether events come in the order of time, which closing rankings and expiring values go by.

use rankwright_event::Timestamp;
use std::time::Duration;

/// Looks for events that come long after later ones.
pub(crate) struct Order {
    /// How much earlier than one before it an event may be.
    patience: Duration,
    newest: Timestamp,
    late: u64,
    /// The event that was late by most, and the newest one before it.
    worst: Option<(Timestamp, Timestamp)>,
}

impl Order {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, newest: Timestamp::MIN, late: 0, worst: None }
    }

    /// Looks at the next event.
    pub(crate) fn see(&mut self, at: Timestamp) {
        if at >= self.newest {
            self.newest = at;
        } else if at.plus(self.patience) < self.newest {
            self.late += 1;
            let by = |(late, newest): (Timestamp, Timestamp)| newest.millis().saturating_sub(late.millis());
            if self.worst.is_none_or(|worst| by((at, self.newest)) > by(worst)) {
                self.worst = Some((at, self.newest));
            }
        }
    }

    /// What there is to say of it.
    pub(crate) fn complaint(&self) -> Option<String> {
        let ((late, newest), count) = (self.worst?, self.late);
        Some(format!(
            "{count} events came more than a session late, such as one of {late} after one of {newest}. The latest event so far \
             decides when rankings close and values expire. Sort the events by time, or remove those with a wrong timestamp, \
             and import again into an empty state"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(times: &[i64]) -> Option<String> {
        let mut order = Order::new(Duration::from_millis(10));
        times.iter().for_each(|&millis| order.see(Timestamp::from_millis(millis)));
        order.complaint()
    }

    #[test]
    fn events_in_order_or_a_session_late_are_well() {
        assert_eq!(order(&[]), None);
        assert_eq!(order(&[5]), None);
        assert_eq!(order(&[0, 100, 90, 95, 101]), None);
    }

    #[test]
    fn late_events_are_counted_and_the_worst_one_is_told() {
        let told = order(&[1000, 2000, 1989, 3000, 1000, 2500]).unwrap_or_default();
        assert!(told.starts_with("3 events came more than a session late"), "{told}");
        assert!(told.contains("one of 1970-01-01T00:00:01Z after one of 1970-01-01T00:00:03Z"), "{told}");
    }
}
