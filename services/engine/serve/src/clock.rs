//! The wall clock, and which of its jumps count.
//!
//! When a stream is read to its end, event time follows the clock, and rankings close by event time. If the clock jumped hours
//! ahead, all open rankings would close; if it jumped back, new events would lie in the future. A clock that was set wrong is
//! usually corrected soon. So a jump counts only after it has lasted for five minutes.

use parking_lot::Mutex;
use rankwright_event::Timestamp;
use std::time::{Duration, Instant, SystemTime};

/// Corrections of the clock up to this many milliseconds count at once, without a log line.
const SLACK: u64 = 10_000;

/// How long a jump must last before it counts.
const LASTING: Duration = Duration::from_secs(300);

static CLOCK: Mutex<Option<Clock>> = Mutex::new(None);

/// The wall clock.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The time that event time follows while no event comes. After a jump of the clock by more than ten seconds, it continues from
/// the time before the jump, for five minutes.
pub fn believed() -> Timestamp {
    both().1
}

/// The later of [`now`] and [`believed`]. A process shows by it that it is alive, and decides by it which events lie in the
/// future. If it went by a clock that was set back, other processes would take it for gone, and it would take new events for
/// future ones. After the machine stood still, only [`believed`] is behind.
pub fn latest() -> Timestamp {
    let (wall, believed) = both();
    wall.max(believed)
}

/// The earlier of the two. A process decides by it which other processes are gone. By a clock that has jumped ahead, all of
/// them would be. A process that started after the clock was set back does not know the time before.
pub fn earliest() -> Timestamp {
    let (wall, believed) = both();
    wall.min(believed)
}

/// The wall clock, and the time that counts.
fn both() -> (Timestamp, Timestamp) {
    let mut clock = CLOCK.lock(); // first: those who ask at once are answered in the order of their times
    let (wall, when) = (now(), Instant::now());
    (wall, clock.get_or_insert_with(|| Clock::at(wall, when)).read(wall, when))
}

/// The time that counted last.
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
