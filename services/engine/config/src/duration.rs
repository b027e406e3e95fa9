//! Durations as people write them: `500ms`, `24h`, `1h30m`, `90d`, `60 days`.

use crate::error::Invalid;
use std::time::Duration;

const ACCEPTED: &str = "a duration such as 500ms, 30s, 1h30m, 24h, 90d or 60 days";
const SHORTER: &str = "at most 36600d";
/// Longer ones are unit errors, and sums of them stay far from overflow.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// Reads one or more numbers with units. Fractions (`1.5h`) are fine; a number without a unit is not, except 0.
pub fn parse(text: &str) -> Result<Duration, Invalid> {
    match sum(text.trim()) {
        None => Err(Invalid::new("duration", text, ACCEPTED)),
        Some(total) if total > LONGEST => Err(Invalid::new("duration that makes sense here", text, SHORTER)),
        Some(total) => Ok(total),
    }
}

/// A duration in the largest unit of which it is a whole number.
pub(crate) fn written(duration: Duration) -> String {
    let millis = duration.as_millis();
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)];
    match units.iter().find(|(_, of)| millis >= *of && millis.is_multiple_of(*of)) {
        Some((unit, of)) => format!("{}{unit}", millis / of),
        None => format!("{millis}ms"),
    }
}

/// At most the longest duration there is.
fn sum(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (mut rest, mut total) = (text, Duration::ZERO);
    loop {
        let (part, left) = part(rest)?;
        total = total.saturating_add(part);
        rest = left;
        if rest.is_empty() {
            return Some(total);
        }
    }
}

/// The first number with its unit, and what is left.
fn part(text: &str) -> Option<(Duration, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    let rest = rest.trim_start();
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(letters);
    let seconds = number.parse::<f64>().ok()? * seconds(unit)?;
    // a fraction of a millisecond is rounding noise: event time has none
    let millis = Duration::try_from_secs_f64(seconds).map_or(u128::MAX, |part| (part.as_nanos() + 500_000) / 1_000_000);
    Some((Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)), rest.trim_start()))
}

fn seconds(unit: &str) -> Option<f64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "week" | "weeks" => 604_800.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{parse, written};
    use std::time::Duration;

    #[test]
    fn a_duration_is_a_sum_of_numbers_with_units() {
        for (text, millis) in [
            ("0s", 0),
            ("0", 0),
            ("500ms", 500),
            ("1s", 1000),
            ("1.5s", 1500),
            ("1m", 60_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            (" 24 hours ", 86_400_000),
            ("90d", 7_776_000_000),
            ("60 days", 5_184_000_000),
            ("365 DAYS", 31_536_000_000),
            ("2w", 1_209_600_000),
            ("0.1s", 100),
        ] {
            assert_eq!(parse(text).ok(), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn a_duration_is_written_as_it_is_read() {
        for text in ["0ms", "1500ms", "90s", "30m", "36h", "90d"] {
            assert_eq!(parse(text).ok().map(written).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in
            ["", "10", "s", "1 fortnight", "-1s", "1h30", "1..5s", ".s", "1e3s", "1000 years", "99999999999999d", "1é"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn one_that_is_too_long_is_told_the_longest() {
        assert!(parse("36600d").is_ok());
        for text in ["1000000h", "36600d1ms", "99999999999999999999999999d", "18446744073709551615s 1s"] {
            assert!(parse(text).is_err_and(|error| error.accepted == "at most 36600d"), "{text}");
        }
        assert!(parse("5 lightyears").is_err_and(|error| error.accepted.contains("such as")));
    }
}
