//! The wall clock, and how far it is believed.
//!
//! A stream that is read to its end has come as far in time as the clock, and rankings close by that. A clock that jumps hours
//! ahead would close all that is open, and by one that jumps back events would lie in the future. A clock that was set wrong
//! is soon set right again, so a jump is believed after it has lasted.

use parking_lot::Mutex;
use rankwright_event::Timestamp;
use std::time::{Duration, Instant, SystemTime};

/// What clocks are corrected by, in milliseconds, without a word.
const SLACK: u64 = 10_000;

/// So long a jump is not believed.
const LASTING: Duration = Duration::from_secs(300);

static CLOCK: Mutex<Option<Clock>> = Mutex::new(None);

/// The wall clock.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// How far event time has come where nothing happens. Where the clock has jumped by more than ten seconds, time goes on from
/// before for five minutes.
pub fn believed() -> Timestamp {
    both().1
}

/// The later of [`now`] and [`believed`], by which a process shows that it is there, and tells what lies in the future: by a
/// clock that was set back others would take it for gone, and what happens now would not have happened yet. A machine that
/// stood still is behind in what it believes alone.
pub fn latest() -> Timestamp {
    let (wall, believed) = both();
    wall.max(believed)
}

/// The earlier of the two, by which a process tells who is gone: by a clock that has jumped ahead all others would be, and who
/// has started since a clock was set back does not know of the time before.
pub fn earliest() -> Timestamp {
    let (wall, believed) = both();
    wall.min(believed)
}

/// The wall clock, and what is believed of it.
fn both() -> (Timestamp, Timestamp) {
    let mut clock = CLOCK.lock(); // first: those who ask at once are answered in the order of their times
    let (wall, when) = (now(), Instant::now());
    (wall, clock.get_or_insert_with(|| Clock::at(wall, when)).read(wall, when))
}

/// What was believed last.
#[derive(Debug, Clone, Copy)]
struct Clock {
    time: Timestamp,
    when: Instant,
    doubted: Option<Doubt>,
}

/// A jump, in milliseconds, and when it was seen first.
#[derive(Debug, Clone, Copy)]
struct Doubt {
    jump: i64,
    since: Instant,
}

impl Clock {
    fn at(time: Timestamp, when: Instant) -> Self {
        Self { time, when, doubted: None }
    }

    fn read(&mut self, wall: Timestamp, when: Instant) -> Timestamp {
        let expected = self.time.plus(when.saturating_duration_since(self.when));
        let jump = wall.millis_since(expected);
        if jump.unsigned_abs() <= SLACK {
            *self = Self::at(wall, when);
            return wall;
        }
        // of a clock that has gone on jumping the same way, so much has lasted
        let lasts = |doubt: &Doubt| match doubt.jump > 0 {
            true => jump >= doubt.jump.saturating_sub_unsigned(SLACK),
            false => jump <= doubt.jump.saturating_add_unsigned(SLACK),
        };
        let doubt = self.doubted.filter(lasts).unwrap_or_else(|| {
            let seconds = jump / 1000;
            tracing::warn!(seconds, "the clock has jumped: if it stays there, its time counts in five minutes");
            Doubt { jump, since: when }
        });
        self.doubted = Some(doubt);
        if when.saturating_duration_since(doubt.since) < LASTING {
            return expected;
        }
        let seconds = doubt.jump / 1000;
        tracing::warn!(seconds, "the clock has stayed where it jumped to, and its time counts now");
        *self = Self::at(Timestamp::from_millis(expected.millis().saturating_add(doubt.jump)), when);
        self.read(wall, when) // what it has jumped since then is doubted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_clock_that_is_corrected_a_little_is_followed() {
        let begun = Instant::now();
        let mut clock = Clock::at(at(0), begun);
        assert_eq!(clock.read(at(1_500), begun + seconds(1)), at(1_500));
        assert_eq!(clock.read(at(9_000), begun + seconds(2)), at(9_000));
        assert_eq!(clock.read(at(1_000), begun + seconds(3)), at(1_000), "back as well");
    }

    #[test]
    fn a_jump_is_believed_when_it_has_lasted() {
        for jump in [HOUR, -HOUR] {
            let begun = Instant::now();
            let mut clock = Clock::at(at(2 * HOUR), begun);
            let mut read =
                |second: u64| clock.read(at(2 * HOUR + jump + second as i64 * 1000), begun + seconds(second));
            assert_eq!(read(1), at(2 * HOUR + 1_000), "time goes on from before");
            assert_eq!(read(300), at(2 * HOUR + 300_000));
            assert_eq!(read(301), at(2 * HOUR + jump + 301_000));
            assert_eq!(read(302), at(2 * HOUR + jump + 302_000));
        }
    }

    /// As that of a machine that stands still again and again.
    #[test]
    fn what_has_lasted_of_jumps_the_same_way_is_believed() {
        for way in [HOUR, -HOUR] {
            let begun = Instant::now();
            let mut clock = Clock::at(at(10 * HOUR), begun);
            let mut read = |second: u64, hours: i64| {
                clock.read(at(10 * HOUR + hours * way + second as i64 * 1000), begun + seconds(second))
            };
            assert_eq!(read(1, 1), at(10 * HOUR + 1_000));
            assert_eq!(read(200, 2), at(10 * HOUR + 200_000));
            assert_eq!(read(301, 3), at(10 * HOUR + way + 301_000));
            assert_eq!(read(600, 3), at(10 * HOUR + way + 600_000), "the rest was seen at 301 first");
            assert_eq!(read(601, 3), at(10 * HOUR + 3 * way + 601_000));
        }
    }

    #[test]
    fn a_jump_from_there_is_another_one() {
        let begun = Instant::now();
        let mut clock = Clock::at(at(10 * HOUR), begun);
        assert_eq!(clock.read(at(11 * HOUR), begun + seconds(1)), at(10 * HOUR + 1_000));
        assert_eq!(clock.read(at(5 * HOUR), begun + seconds(299)), at(10 * HOUR + 299_000));
        assert_eq!(clock.read(at(5 * HOUR + 3_000), begun + seconds(302)), at(10 * HOUR + 302_000), "it is new");
        assert_eq!(clock.read(at(5 * HOUR + 300_000), begun + seconds(599)), at(5 * HOUR + 300_000));
    }

    #[test]
    fn a_jump_and_back_was_none() {
        let begun = Instant::now();
        let mut clock = Clock::at(at(0), begun);
        assert_eq!(clock.read(at(HOUR), begun + seconds(1)), at(1_000));
        assert_eq!(clock.read(at(200_000), begun + seconds(200)), at(200_000));
        assert_eq!(clock.read(at(HOUR + 400_000), begun + seconds(400)), at(400_000), "the next one is doubted anew");
    }
}
