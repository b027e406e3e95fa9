//! What happens again and again is said once a minute, with how often it happened.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Between two log lines that say the same.
pub(crate) const PAUSE: Duration = Duration::from_secs(60);

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

    /// The sum since it was last said, where there is one and it is time to say it, or there is no later.
    pub(crate) fn rest(&self, now: Instant, is_last: bool) -> Option<u64> {
        if is_last {
            self.0.lock().0 = None;
        }
        if self.0.lock().1 == 0 { None } else { self.count(0, now) }
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

    #[test]
    fn what_is_left_is_said_when_the_minute_is_over_or_at_the_end() {
        let (seldom, start) = (Seldom::default(), Instant::now());
        let at = |second| start + Duration::from_secs(second);
        assert_eq!(seldom.rest(at(0), false), None);
        assert_eq!((seldom.count(1, at(0)), seldom.count(5, at(0))), (Some(1), None));
        assert_eq!([30, 60, 120].map(|second| seldom.rest(at(second), false)), [None, Some(5), None]);
        assert_eq!((seldom.count(1, at(120)), seldom.count(2, at(121))), (Some(1), None));
        assert_eq!([122, 123].map(|second| seldom.rest(at(second), true)), [Some(2), None]);
    }
}
