//! What happens again and again is said once a minute, with how often it happened.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Between two log lines that say the same.
const PAUSE: Duration = Duration::from_secs(60);

/// Counts how often something happens.
#[derive(Debug, Default)]
pub(crate) struct Seldom(Mutex<(Option<Instant>, u64)>);

impl Seldom {
    /// Counts; the sum since it was last said, where it is time to say it again.
    pub(crate) fn count(&self, times: u64, now: Instant) -> Option<u64> {
        let (said, sum) = &mut *self.0.lock();
        *sum += times;
        if said.is_some_and(|said| now.saturating_duration_since(said) < PAUSE) {
            return None;
        }
        *said = Some(now);
        Some(std::mem::take(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_is_said_at_once_and_the_others_together_after_a_minute() {
        let (seldom, start) = (Seldom::default(), Instant::now());
        let said = [(0, 1), (1, 2), (59, 3), (60, 4), (61, 5)];
        let said = said.map(|(second, times)| seldom.count(times, start + Duration::from_secs(second)));
        assert_eq!(said, [Some(1), None, None, Some(9), None]);
    }
}
