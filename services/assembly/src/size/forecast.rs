//! How fast the state grows, and when its servers are full at that rate.
//!
//! A line is laid through what was seen within a day. It is believed when that was for long enough, and when the line
//! rises more than what lies beside it would make likely by chance.

use rankwright_state::Usage;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Nothing is said before it was looked at for this time.
const NEEDED: Duration = Duration::from_secs(30 * 60);
/// What is older says little of the present.
const KEPT: Duration = Duration::from_secs(24 * 3600);
const DAY: f64 = 86_400.0;
/// A rise is believed from this many times what it may be by chance.
const BELIEVED: f64 = 2.0;
/// What a state takes itself, where its servers do not tell what they hold.
const STATE: &str = "";

/// What was seen of a state's size.
#[derive(Default)]
pub(super) struct History {
    /// Seconds and bytes, of each server.
    series: BTreeMap<String, VecDeque<(f64, f64)>>,
    /// What the servers held last, and may hold.
    last: Vec<(String, u64, Option<u64>)>,
}

/// What is expected.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Forecast {
    /// Bytes a day, of all servers.
    pub(super) bytes_per_day: Option<f64>,
    /// For how long it was looked at.
    pub(super) over: Duration,
    /// Until the first server is full.
    pub(super) full_in_days: Option<f64>,
    /// Why there is no figure.
    pub(super) why: Option<String>,
}

/// A line through points: how much it rises each second, and how much of it may be chance.
struct Line {
    rise: f64,
    chance: f64,
}

impl History {
    /// Notes what was seen at a time since the start.
    pub(super) fn note(&mut self, at: Duration, usage: &Usage) {
        self.last = usage.servers.iter().map(|server| (server.server.clone(), server.used, server.limit)).collect();
        if self.last.is_empty() {
            self.last.push((STATE.to_owned(), usage.bytes(), None));
        }
        let last = &self.last;
        // a server that was started again begins at zero
        self.series.retain(|name, _| last.iter().any(|(known, ..)| known == name));
        for (name, used, _) in &self.last {
            let points = self.series.entry(name.clone()).or_default();
            if points.back().is_some_and(|(_, before)| (*used as f64) < before / 2.0) {
                points.clear(); // so does one that was emptied
            }
            points.push_back((at.as_secs_f64(), *used as f64));
            while points.front().is_some_and(|(first, _)| at.as_secs_f64() - first > KEPT.as_secs_f64()) {
                points.pop_front();
            }
        }
    }

    pub(super) fn forecast(&self) -> Forecast {
        let spans = self.last.iter().filter_map(|(name, ..)| self.series.get(name)).map(span);
        let over = spans.min_by(f64::total_cmp).map_or(Duration::ZERO, Duration::from_secs_f64);
        let none = |why: String| Forecast { over, why: Some(why), ..Forecast::default() };
        let lines: Option<Vec<Line>> = self.last.iter().map(|(name, ..)| line(self.series.get(name)?)).collect();
        let Some(lines) = lines.filter(|lines| over >= NEEDED && !lines.is_empty()) else {
            let (seen, needed) = (over.as_secs() / 60, NEEDED.as_secs() / 60);
            return none(format!("not known yet: seen for {seen} minutes, {needed} are needed"));
        };
        let per_day: f64 = lines.iter().map(|line| line.rise * DAY).sum();
        let full = self.last.iter().zip(&lines).filter_map(|((_, used, limit), line)| {
            let left = limit.as_ref()?.saturating_sub(*used) as f64;
            (left == 0.0 || line.rises()).then(|| left / (line.rise.max(0.0) * DAY).max(f64::MIN_POSITIVE))
        });
        let full_in_days = full.min_by(f64::total_cmp).filter(|days| days.is_finite());
        let why = full_in_days.is_none().then(|| self.why(&lines));
        Forecast { bytes_per_day: Some(per_day), over, full_in_days, why }
    }

    fn why(&self, lines: &[Line]) -> String {
        let unlimited = self.last.iter().all(|(_, _, limit)| limit.is_none());
        let told = self.last.iter().all(|(name, ..)| name != STATE);
        match (lines.iter().any(Line::rises), told, unlimited) {
            (false, ..) if lines.iter().any(|line| line.rise > 0.0) => "it grows no more than by chance",
            (false, ..) => "it does not grow",
            (true, false, _) => "the size of the room is unknown",
            (true, true, true) => "maxmemory is not set: nothing but the machine's memory is the limit",
            (true, true, false) => "what has a limit does not grow",
        }
        .to_owned()
    }
}

impl Forecast {
    /// For `GET /status`.
    pub(super) fn json(&self) -> Value {
        json!({
            "bytesPerDay": self.bytes_per_day.map(|bytes| bytes.round() as i64),
            "overSeconds": self.over.as_secs(),
            "fullInDays": self.full_in_days.map(|days| (days * 10.0).round() / 10.0),
            "reason": self.why,
        })
    }
}

impl Line {
    fn rises(&self) -> bool {
        self.rise > 0.0 && self.rise > BELIEVED * self.chance
    }
}

fn span(points: &VecDeque<(f64, f64)>) -> f64 {
    points.back().zip(points.front()).map_or(0.0, |(last, first)| last.0 - first.0)
}

/// Least squares.
fn line(points: &VecDeque<(f64, f64)>) -> Option<Line> {
    let count = points.len() as f64;
    if count < 3.0 {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (time, bytes) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - time).powi(2)).sum();
    if spread == 0.0 {
        return None;
    }
    let rise = points.iter().map(|point| (point.0 - time) * (point.1 - bytes)).sum::<f64>() / spread;
    let beside: f64 = points.iter().map(|point| (point.1 - bytes - rise * (point.0 - time)).powi(2)).sum();
    Some(Line { rise, chance: (beside / (count - 2.0) / spread).sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_state::Memory;

    const MINUTE: u64 = 60;

    fn seen(minutes: u64, used: impl Fn(u64) -> u64, limit: Option<u64>) -> Forecast {
        let mut history = History::default();
        for minute in (0..=minutes).step_by(5) {
            note(&mut history, minute, &[("one", used(minute), limit)]);
        }
        history.forecast()
    }

    fn note(history: &mut History, minute: u64, servers: &[(&str, u64, Option<u64>)]) {
        let servers =
            servers.iter().map(|(name, used, limit)| Memory { server: (*name).to_owned(), used: *used, limit: *limit });
        let usage = Usage { servers: servers.collect(), ..Usage::default() };
        history.note(Duration::from_secs(minute * MINUTE), &usage);
    }

    #[test]
    fn nothing_is_said_of_what_was_seen_for_a_short_time() {
        let forecast = seen(25, |minute| minute * 1_000, Some(1_000_000));
        assert_eq!((forecast.bytes_per_day, forecast.full_in_days), (None, None));
        assert_eq!(forecast.why.as_deref(), Some("not known yet: seen for 25 minutes, 30 are needed"));
        assert_eq!(History::default().forecast().bytes_per_day, None);
    }

    #[test]
    fn a_server_that_grows_is_full_when_its_limit_is_reached() {
        // 1,000 bytes a minute are 1.44 million a day
        let forecast = seen(60, |minute| 940_000 + minute * 1_000, Some(1_000_000 + 2 * 1_440_000));
        assert_eq!(forecast.bytes_per_day.map(f64::round), Some(1_440_000.0));
        assert_eq!(forecast.json()["fullInDays"], 2.0);
        assert_eq!(forecast.json()["reason"], Value::Null);
        assert_eq!(seen(60, |minute| minute, Some(60)).full_in_days, Some(0.0));
    }

    #[test]
    fn what_goes_up_and_down_does_not_grow() {
        let forecast = seen(120, |minute| 1_000_000 + minute * 7_919 % 1_000, Some(2_000_000));
        assert_eq!(forecast.full_in_days, None);
        assert!(forecast.why.is_some_and(|why| why.starts_with("it ")), "it is not full at a rate that is none");
        assert_eq!(seen(60, |_| 1_000_000, Some(2_000_000)).why.as_deref(), Some("it does not grow"));
        let by_chance = seen(60, |minute| if minute == 45 { 1_500_000 } else { 1_000_000 }, Some(2_000_000));
        assert!(by_chance.bytes_per_day.is_some_and(|bytes| bytes > 0.0));
        assert_eq!(by_chance.why.as_deref(), Some("it grows no more than by chance"));
        let shrinks = seen(60, |minute| 1_000_000 - minute * 1_000, Some(2_000_000));
        assert!(shrinks.bytes_per_day.is_some_and(|bytes| bytes < 0.0) && shrinks.full_in_days.is_none());
    }

    #[test]
    fn without_a_limit_nothing_is_full() {
        let forecast = seen(60, |minute| minute * 1_000, None);
        assert!(forecast.bytes_per_day.is_some() && forecast.full_in_days.is_none());
        assert!(forecast.why.is_some_and(|why| why.starts_with("maxmemory is not set")));
    }

    #[test]
    fn the_server_that_is_full_first_counts_and_one_that_was_started_again_begins_anew() {
        let mut history = History::default();
        let servers = |minute: u64, other| {
            let limit = Some(10_000_000);
            [("one", minute * 1_000, limit), (other, 5_000_000 + minute * 2_000, limit)]
        };
        (0..=60).step_by(5).for_each(|minute| note(&mut history, minute, &servers(minute, "two")));
        let forecast = history.forecast();
        assert_eq!(forecast.bytes_per_day.map(f64::round), Some(3.0 * 1_440_000.0));
        assert_eq!(forecast.json()["fullInDays"], 1.7);
        note(&mut history, 65, &servers(65, "another"));
        assert_eq!(history.forecast().bytes_per_day, None);
    }

    /// A line through both would tell of neither for a day.
    #[test]
    fn a_server_that_was_emptied_begins_anew() {
        let used = |minute: u64| if minute < 60 { 1_000_000_000 + minute } else { minute * 1_000 };
        let emptied = |minutes| seen(minutes, used, Some(1 << 40));
        assert!(emptied(55).bytes_per_day.is_some());
        assert_eq!((emptied(60).bytes_per_day, emptied(60).over), (None, Duration::ZERO));
        assert_eq!(emptied(95).bytes_per_day.map(f64::round), Some(1_440_000.0));
    }

    #[test]
    fn what_is_older_than_a_day_is_forgotten() {
        let used = |minute: u64| if minute < 1_440 { minute * 100_000 } else { 144_000_000 };
        let forecast = seen(2 * 1_440 + 5, used, Some(1 << 40));
        assert_eq!(forecast.over, KEPT);
        assert_eq!(forecast.why.as_deref(), Some("it does not grow"));
    }
}
