//! The simulated time: when visits begin, and how moods of the market come and go.

use rankwright_event::Timestamp;

/// Monday, 3 March 2025, 00:00 UTC.
pub(crate) const START: i64 = 1_740_960_000_000;
/// Milliseconds.
pub(crate) const SECOND: i64 = 1000;
/// Milliseconds.
pub(crate) const HOUR: i64 = 3600 * SECOND;
/// Milliseconds.
pub(crate) const DAY: i64 = 24 * HOUR;

/// Visits begin this often in each hour of a day (UTC), compared with each other.
const TRAFFIC: [f64; 24] = [
    0.4, 0.3, 0.2, 0.2, 0.2, 0.3, 0.5, 0.8, 1.0, 1.1, 1.2, 1.3, 1.4, 1.3, 1.2, 1.2, 1.3, 1.5, 1.8, 2.1, 2.2, 1.9, 1.3,
    0.8,
];

/// The time at which this part of all visits (0 to 1) over `days` days has begun. Grows with `part`.
pub(crate) fn time_of(part: f64, days: u32) -> i64 {
    let days_gone = part * f64::from(days);
    let mut left = days_gone.fract() * TRAFFIC.iter().sum::<f64>();
    let mut hour = 0;
    while hour < TRAFFIC.len() - 1 && left >= TRAFFIC[hour] {
        left -= TRAFFIC[hour];
        hour += 1;
    }
    let hours = hour as f64 + left / TRAFFIC[hour];
    START + days_gone.trunc() as i64 * DAY + (hours * HOUR as f64) as i64
}

/// A longer history begins that much earlier, and has events on a tenth of its days.
const YEAR: u32 = 365;

/// How many days of a history of `days` days have events.
pub(crate) fn busy(days: u32) -> u32 {
    if days > YEAR { (days - 6) / 10 + 1 } else { days }
}

/// When an event of a history of `days` days has happened, by its time on the busy days, which follow each other there. It stays the
/// same day of the week, and none lies in the future.
pub(crate) fn told(time: i64, days: u32) -> i64 {
    if days <= YEAR {
        return time;
    }
    let day = (time - START).div_euclid(DAY);
    let between = 9 * day + (5 * day).rem_euclid(7); // whole weeks: 10 * day and up to 6 more days
    let earlier = i64::from((days - YEAR).div_ceil(7)) * 7;
    time + (between - earlier) * DAY
}

/// Whether it is Saturday or Sunday on a clock `offset` hours from UTC.
pub(crate) fn is_weekend(time: i64, offset: i64) -> bool {
    (time - START + offset * HOUR).div_euclid(DAY).rem_euclid(7) >= 5
}

/// What a clock `offset` hours from UTC shows, in ISO 8601.
pub(crate) fn local(time: i64, offset: i64) -> String {
    let shown = Timestamp::from_millis((time + offset * HOUR).div_euclid(SECOND) * SECOND).to_string();
    let sign = if offset < 0 { '-' } else { '+' };
    format!("{}{sign}{:02}:00", shown.trim_end_matches('Z'), offset.abs())
}

/// Something that rises and falls: a triangle between -`height` and `height`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wave {
    /// How far it goes.
    pub(crate) height: f64,
    /// Milliseconds from one peak to the next.
    pub(crate) period: f64,
    /// Where it starts, 0 to 1.
    pub(crate) phase: f64,
}

impl Wave {
    /// Where it stands.
    pub(crate) fn at(&self, time: i64) -> f64 {
        let turn = ((time - START) as f64 / self.period + self.phase).rem_euclid(1.0);
        self.height * (1.0 - 4.0 * (turn - 0.5).abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_grows_with_the_part_from_the_first_to_the_last_day() {
        let times: Vec<i64> = (0..=1000).map(|part| time_of(f64::from(part) / 1000.0, 7)).collect();
        assert!(times.is_sorted());
        assert_eq!((times[0], times[1000]), (START, START + 7 * DAY));
        let evening = times.iter().filter(|&&time| (time - START) % DAY / HOUR == 20).count();
        let night = times.iter().filter(|&&time| (time - START) % DAY / HOUR == 3).count();
        assert!(evening > 5 * night, "{evening} {night}");
    }

    #[test]
    fn busy_days_of_a_long_history_keep_their_weekday_and_their_order() {
        for days in [366, 371, 8030, 18_250] {
            let told: Vec<i64> = (0..busy(days)).map(|day| told(START + i64::from(day) * DAY, days)).collect();
            assert!(told.is_sorted() && told[told.len() - 1] < START + i64::from(YEAR) * DAY, "{days}");
            assert!((0..).zip(&told).all(|(day, told)| (told - START - day * DAY) % (7 * DAY) == 0), "{days}");
            let over = (told[told.len() - 1] - told[0]) / DAY;
            assert!((i64::from(days) - 16..i64::from(days)).contains(&over), "{days}: {over}");
        }
        assert_eq!(told(START + 1234, 365), START + 1234);
    }

    #[test]
    fn local_clocks_show_their_own_hour_and_day() {
        assert_eq!(local(START + 1234, -5), "2025-03-02T19:00:01-05:00");
        assert_eq!(local(START, 9), "2025-03-03T09:00:00+09:00");
        assert!(!is_weekend(START, 0) && is_weekend(START, -5), "a Monday in London, a Sunday in New York");
        assert!(is_weekend(START + 5 * DAY, 0));
    }

    #[test]
    fn a_wave_stays_within_its_height() {
        let wave = Wave { height: 2.0, period: 1000.0, phase: 0.0 };
        assert_eq!([0, 250, 500, 750].map(|after| wave.at(START + after)), [-2.0, 0.0, 2.0, 0.0]);
    }
}
