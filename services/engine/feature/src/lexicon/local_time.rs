//! Local dates and times: what the visitor's clock showed.
//!
//! A text such as `2022-01-07T11:32:15+02:00[Europe/Paris]` carries the local fields and the distance to UTC; both are
//! taken as written, so that no time zone database is asked and each machine finds the same. A time without a zone,
//! or with the name of one alone, is none.

use jiff::SignedDuration;
use jiff::civil::{DateTime, datetime};
use jiff::fmt::temporal::{DateTimeParser, PiecesOffset};
use jiff::tz::Offset;
use rankwright_config::feature::TimePart;
use rankwright_event::Timestamp;

const EPOCH: DateTime = datetime(1970, 1, 1, 0, 0, 0, 0);

/// Part of a local date and time, in the zone that the text names; `None` where the text is no ISO 8601 date and time
/// with a zone.
pub(crate) fn part(text: &str, part: TimePart) -> Option<f64> {
    parse(text).map(|(local, offset)| field(local, offset, part))
}

/// Part of a point in time, in UTC; a time beyond the calendar (years -9999 to 9999) becomes the nearest one that it covers.
pub(crate) fn of_timestamp(time: Timestamp, part: TimePart) -> f64 {
    let edge = if time.millis() > 0 { DateTime::MAX } else { DateTime::MIN };
    field(EPOCH.checked_add(SignedDuration::from_millis(time.millis())).unwrap_or(edge), Offset::UTC, part)
}

/// Seconds since 1970, with fraction, of a date and time with a zone, or of a text that holds such a number.
pub(crate) fn epoch_seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return text.parse().ok().filter(|seconds: &f64| seconds.is_finite());
    }
    let (local, offset) = parse(text)?;
    Some(since_epoch(local, offset).as_secs_f64())
}

fn parse(text: &str) -> Option<(DateTime, Offset)> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    let pieces = PARSER.parse_pieces(text).ok()?;
    let offset = match pieces.offset()? {
        PiecesOffset::Zulu => Offset::UTC,
        PiecesOffset::Numeric(numeric) => numeric.offset(),
        _ => return None,
    };
    let is_real = offset.seconds().abs() <= Timestamp::LARGEST_OFFSET;
    Some((pieces.date().to_datetime(pieces.time()?), offset)).filter(|_| is_real)
}

fn field(local: DateTime, offset: Offset, part: TimePart) -> f64 {
    match part {
        TimePart::DayOfWeek => f64::from(local.weekday().to_monday_one_offset()),
        TimePart::TimeOfDay => hours(local),
        TimePart::DayOfMonth => f64::from(local.day()),
        TimePart::MonthOfYear => f64::from(local.month()),
        TimePart::Year => f64::from(local.year()),
        TimePart::Second => whole_seconds(local, offset),
    }
}

/// Hours since midnight, with fraction.
fn hours(local: DateTime) -> f64 {
    let seconds = i32::from(local.hour()) * 3600 + i32::from(local.minute()) * 60 + i32::from(local.second());
    let hours = (f64::from(seconds) + f64::from(local.subsec_nanosecond()) / 1e9) / 3600.0;
    hours.min(f64::from(24_f32.next_down())) // as a feature, it must not round to the next day
}

/// Whole seconds since 1970 in UTC.
fn whole_seconds(local: DateTime, offset: Offset) -> f64 {
    since_epoch(local, offset).as_secs_f64().floor()
}

/// Also in the hours before the end of the year 9999, which are no instants of the calendar's library.
fn since_epoch(local: DateTime, offset: Offset) -> SignedDuration {
    local.duration_since(EPOCH) - SignedDuration::from_secs(offset.seconds().into())
}

#[cfg(test)]
mod tests;
