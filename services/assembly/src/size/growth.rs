//! How the state grows: a process that watches it stores a note for programs that look once.

use super::forecast::Forecast;
use rankwright_event::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// A process that watches a state repeats its note every five minutes: an older note is of a process that no longer does,
const TOLD_ANEW: Duration = Duration::from_secs(11 * 60);
/// and after this time says nothing of the present.
const RECENT: Duration = Duration::from_secs(3600);

/// What a process expected of a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Growth {
    /// When it was told, in milliseconds since 1970.
    at: i64,
    /// Bytes a day, of all servers; below 0 where it shrinks.
    pub bytes_per_day: f64,
    /// For how many seconds it was looked at.
    pub over_seconds: u64,
    /// Until the first server is full, in days.
    pub full_in_days: Option<f64>,
    /// Why that is not told.
    pub reason: Option<String>,
}

impl Growth {
    /// What is known of a rate, if anything.
    pub(super) fn of(at: Timestamp, forecast: &Forecast) -> Option<Self> {
        Some(Self {
            at: at.millis(),
            bytes_per_day: forecast.bytes_per_day?,
            over_seconds: forecast.over.as_secs(),
            full_in_days: forecast.full_in_days,
            reason: forecast.why.clone(),
        })
    }

    /// When it was told.
    pub fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.at)
    }

    /// As it is left.
    pub(super) fn word(&self) -> String {
        json!(self).to_string()
    }

    /// What was left; `None` where another version says it in a way that is not understood.
    pub(crate) fn read(word: &str) -> Option<Self> {
        serde_json::from_str(word).ok()
    }

    /// Whether its process still watches, and has watched for longer than another one.
    pub(super) fn says_more_than(&self, other: &Self) -> bool {
        self.over_seconds > other.over_seconds && self.is_within(TOLD_ANEW, other.at)
    }

    /// Whether it says something of a time.
    pub(crate) fn is_recent(&self, now: Timestamp) -> bool {
        self.is_within(RECENT, now.millis())
    }

    /// Clocks of machines differ, to either side.
    fn is_within(&self, span: Duration, at: i64) -> bool {
        u128::from(self.at.abs_diff(at)) <= span.as_millis()
    }

    /// For `rankwright status --json`: as `GET /status` has it, with the time.
    pub(crate) fn json(&self) -> Value {
        json!({
            "at": self.at().to_string(),
            "bytesPerDay": self.bytes_per_day.round() as i64,
            "overSeconds": self.over_seconds,
            "fullInDays": self.full_in_days.map(|days| (days * 10.0).round() / 10.0),
            "reason": self.reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_read_as_it_was_and_nothing_is_left_without_a_rate() {
        let at = Timestamp::from_millis(1_700_000_000_000);
        assert_eq!(Growth::of(at, &Forecast::default()), None);
        let forecast = Forecast {
            bytes_per_day: Some(1_440_000.4),
            over: Duration::from_secs(3600),
            full_in_days: Some(2.04),
            why: None,
        };
        let growth = Growth::of(at, &forecast).expect("a rate is known");
        let kept = r#"{"at":1700000000000,"bytesPerDay":1440000.4,"overSeconds":3600,"fullInDays":2.04,"reason":null}"#;
        assert_eq!(Growth::read(kept), Some(growth.clone()), "as version 0.1 has left it");
        assert_eq!(Growth::read(&growth.word()), Some(growth.clone()));
        let expected = json!({"at": "2023-11-14T22:13:20Z", "bytesPerDay": 1_440_000, "overSeconds": 3600, "fullInDays": 2.0, "reason": null});
        assert_eq!(growth.json(), expected);
        assert_eq!(Growth::read("{\"in\": \"words of later\"}"), None);
    }

    #[test]
    fn whoever_has_watched_a_state_for_longest_tells_of_it_as_long_as_they_do() {
        let told = |minute: i64, hours: u64| Growth {
            at: 1_700_000_000_000 + minute * 60_000,
            bytes_per_day: 1.0,
            over_seconds: hours * 3600,
            full_in_days: None,
            reason: None,
        };
        assert!(told(0, 24).says_more_than(&told(5, 1)) && told(10, 24).says_more_than(&told(5, 1)));
        assert!(!told(0, 24).says_more_than(&told(5, 24)) && !told(0, 1).says_more_than(&told(5, 24)));
        assert!(!told(0, 24).says_more_than(&told(12, 1)), "it has ended");
        assert!(!told(12, 24).says_more_than(&told(0, 1)), "its clock has jumped, or ours");
        let now = Timestamp::from_millis(1_700_000_000_000);
        assert!(told(-60, 1).is_recent(now) && told(60, 1).is_recent(now));
        assert!(!told(-61, 1).is_recent(now) && !told(61, 1).is_recent(now));
    }
}
