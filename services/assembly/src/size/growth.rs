//! How the state grows, as a process that has watched it leaves word for those who look once.

use super::forecast::Forecast;
use rankwright_event::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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
    use std::time::Duration;

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
        assert_eq!(Growth::read(&growth.word()), Some(growth.clone()));
        let expected = json!({"at": "2023-11-14T22:13:20Z", "bytesPerDay": 1_440_000, "overSeconds": 3600, "fullInDays": 2.0, "reason": null});
        assert_eq!(growth.json(), expected);
        assert_eq!(Growth::read("{\"in\": \"words of later\"}"), None);
    }
}
