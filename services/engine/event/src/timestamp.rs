//! Points in event time.

use jiff::civil;
use jiff::fmt::temporal::Pieces;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// Milliseconds since 1970-01-01T00:00:00 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

/// A text or number that is no point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTimestamp {
    /// It is none at all.
    #[error(
        "invalid timestamp {found}: expected milliseconds since 1970 (\"1636907100000\") or ISO 8601 with a zone (\"2021-11-14T16:25:00Z\")"
    )]
    Form {
        /// What was found.
        found: String,
    },
    /// It is one, and too far away: most often microseconds in place of milliseconds.
    #[error(
        "invalid timestamp {found}: expected a time from -253402300799999 to 253402300799999 milliseconds since 1970, which is the end of the year 9999"
    )]
    Range {
        /// What was found.
        found: String,
    },
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A point in time, at most 253402300799999 milliseconds from 1970, which is the end of the year 9999.",
            "anyOf": [
                {"type": "string", "pattern": "^-?[0-9]{1,14}$", "description": "Milliseconds since 1970."},
                {"type": "string", "format": "date-time", "description": "ISO 8601 with a zone."},
                {"type": "number", "minimum": -Self::LATEST, "maximum": Self::LATEST, "description": "Milliseconds since 1970."},
            ],
        })
    }
}

impl Timestamp {
    /// The earliest time there is.
    pub const MIN: Self = Self(i64::MIN);
    /// The latest time there is.
    pub const MAX: Self = Self(i64::MAX);
    /// Times beyond the year 9999 are refused as input: they are unit errors, and would stop every clock.
    const LATEST: i64 = 253_402_300_799_999;
    /// The largest offset of a zone, in seconds: 18 hours, as in `java.time`. The calendar's library takes up to 26.
    pub const LARGEST_OFFSET: i32 = 18 * 3600;

    /// From milliseconds since 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Seconds since 1970, with fraction.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// Milliseconds from `earlier` to this; negative where `earlier` is later.
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This time, `by` later.
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(millis(by)))
    }

    /// This time, `by` earlier.
    pub fn minus(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(millis(by)))
    }

    /// Milliseconds as a string, or an ISO 8601 date and time with a zone.
    pub fn parse(text: &str) -> Result<Self, InvalidTimestamp> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let form = || InvalidTimestamp::Form { found: format!("{text:?}") };
        let range = || InvalidTimestamp::Range { found: format!("{text:?}") };
        let time = if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse().ok()
        } else {
            // a zone name in brackets may follow the offset, as Java's ZonedDateTime writes it
            let instant = text.split('[').next().unwrap_or(text);
            if !has_real_offset(instant) {
                return Err(form());
            }
            match instant.parse::<jiff::Timestamp>() {
                Ok(instant) => Some(instant.as_millisecond()),
                Err(_) if has_long_year(instant) => None,
                Err(_) => Some(last_hours(instant).ok_or_else(form)?),
            }
        };
        time.and_then(Self::checked).ok_or_else(range)
    }

    /// A JSON number of milliseconds; a fraction of a millisecond is cut off.
    pub fn from_number(number: f64) -> Result<Self, InvalidTimestamp> {
        let millis = (number.abs() <= Self::LATEST as f64).then_some(number as i64);
        millis.ok_or_else(|| InvalidTimestamp::Range { found: number.to_string() }).map(Self)
    }

    fn checked(millis: i64) -> Option<Self> {
        (-Self::LATEST..=Self::LATEST).contains(&millis).then_some(Self(millis))
    }
}

/// Whether the offset that a date and time ends with, if any, is one of a zone.
fn has_real_offset(text: &str) -> bool {
    let offset =
        Pieces::parse(text).ok().filter(|_| !text.ends_with(['Z', 'z'])).and_then(|parts| parts.to_numeric_offset());
    offset.is_none_or(|offset| offset.seconds().abs() <= Timestamp::LARGEST_OFFSET)
}

/// Whether a date has a year of five digits or more.
fn has_long_year(text: &str) -> bool {
    let digits = |part: Option<&str>| part.is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = unsigned.splitn(3, '-');
    let year = parts.next().map(|year| year.trim_start_matches('0'));
    year.is_some_and(|year| year.len() > 4) && digits(year) && digits(parts.next()) && parts.next().is_some()
}

/// A date and time with an offset in the hours before the end of the year 9999, which are no instant of the calendar's
/// library: it keeps them free for the zones.
fn last_hours(text: &str) -> Option<i64> {
    let pieces = Pieces::parse(text).ok()?;
    let (time, offset) = (pieces.date().to_datetime(pieces.time()?), pieces.to_numeric_offset()?);
    let since = time.duration_since(civil::date(1970, 1, 1).at(0, 0, 0, 0));
    i64::try_from(since.as_millis()).ok()?.checked_sub(i64::from(offset.seconds()) * 1000)
}

/// Whole milliseconds, at most the largest number there is; features ask for it for every value.
fn millis(duration: Duration) -> i64 {
    let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    seconds.saturating_mul(1000).saturating_add(i64::from(duration.subsec_millis()))
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => instant.fmt(f),
            Err(_) => self.0.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_and_dates_name_the_same_instant() {
        let millis = Timestamp::from_millis(1_636_907_100_000);
        for text in [
            "1636907100000",
            "2021-11-14T16:25:00Z",
            "2021-11-14T17:25:00+01:00",
            "2021-11-14T17:25:00+01:00[Europe/Paris]",
            "2021-11-15T10:25:00+18:00",
        ] {
            assert_eq!(Timestamp::parse(text), Ok(millis), "{text}");
        }
        assert_eq!(Timestamp::from_number(1_636_907_100_000.0), Ok(millis));
    }

    #[test]
    fn the_year_9999_lasts_to_its_end() {
        let end = Timestamp::from_millis(253_402_300_799_999);
        for text in ["9999-12-31T23:59:59.999Z", "9999-12-31T22:59:59.999-01:00", "253402300799999"] {
            assert_eq!(Timestamp::parse(text), Ok(end), "{text}");
        }
        let hours = Timestamp::from_millis(253_402_207_200_001);
        assert_eq!(Timestamp::parse("9999-12-30T22:00:00.001+00:00[UTC]"), Ok(hours));
        assert_eq!(Timestamp::parse("9999-12-30T23:00:00.001+01:00[Europe/Paris]"), Ok(hours));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "-",
            "yesterday",
            "2021-11-14",
            "2021-11-14T16:25:00",
            "2021-02-30T00:00:00Z",
            "+253402300799999",
            "9999-12-31T23:59:59",
            "2021-11-14T16:25:00+25:00",
            "2021-11-14T16:25:00-18:01",
            "9999-12-31T23:59:59+25:00",
        ] {
            assert!(matches!(Timestamp::parse(text), Err(InvalidTimestamp::Form { .. })), "{text}");
        }
        assert!(Timestamp::from_number(f64::NAN).is_err());
    }

    #[test]
    fn a_time_that_is_too_far_away_is_told_how_far_it_may_be() {
        for text in ["99999999999999999999", "1636907100000000", "-999999999999999999"] {
            let error = Timestamp::parse(text).expect_err(text).to_string();
            assert!(error.contains(text) && error.contains("253402300799999 milliseconds"), "{error}");
        }
        for text in
            ["+010000-01-01T00:00:00Z", "12021-11-14T16:25:00Z", "9999-12-31T23:59:59-01:00", "-020000-01-01T00:00:00Z"]
        {
            assert!(matches!(Timestamp::parse(text), Err(InvalidTimestamp::Range { .. })), "{text}");
        }
        assert!(matches!(Timestamp::from_number(1e300), Err(InvalidTimestamp::Range { .. })));
    }
}
