//! Which time the events span, and where there are none: by hours, in whatever order they come.

use super::length;
use super::report::Fact;
use rankwright_event::Timestamp;
use serde_json::json;
use std::collections::HashSet;

const HOUR: i64 = 3_600_000;
/// More hours than these (114 years) are not kept, as those of random times.
const MOST: usize = 1_000_000;
/// Gaps that are reported.
const TOLD: usize = 3;

#[derive(Debug, Default)]
pub(super) struct Hours {
    span: Option<(Timestamp, Timestamp)>,
    hours: HashSet<i64>,
    last: Option<i64>,
}

impl Hours {
    pub(super) fn see(&mut self, at: Timestamp) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        let hour = at.millis().div_euclid(HOUR);
        if self.last != Some(hour) && self.hours.len() < MOST {
            self.last = Some(hour);
            self.hours.insert(hour);
        }
    }

    /// The longest times of whole hours without events, longest first: where each begins, and its hours.
    fn gaps(&self) -> Vec<(Timestamp, i64)> {
        let mut hours: Vec<i64> = self.hours.iter().copied().collect();
        hours.sort_unstable();
        let between =
            hours.windows(2).map(|pair| (Timestamp::from_millis((pair[0] + 1) * HOUR), pair[1] - pair[0] - 1));
        let mut gaps: Vec<(Timestamp, i64)> = between.filter(|(_, hours)| *hours > 0).collect();
        gaps.sort_by_key(|(begin, hours)| (-hours, *begin));
        gaps.truncate(TOLD);
        gaps
    }

    pub(super) fn fact(&self) -> Fact {
        let name = "time range";
        let Some((first, last)) = self.span else {
            return Fact { name, warning: true, message: "there are no events".to_owned(), details: json!({}) };
        };
        let gaps = self.gaps();
        let told: Vec<String> =
            gaps.iter().map(|(begin, hours)| format!("{} from {begin}", length(hours * HOUR))).collect();
        let listed: Vec<_> =
            gaps.iter().map(|(begin, hours)| json!({ "from": begin.to_string(), "hours": hours })).collect();
        let told = match told.is_empty() {
            true => "no hour without events".to_owned(),
            false => format!("longest times without events: {}", told.join(", ")),
        };
        let message = format!("{first} to {last} ({}); {told}", length(last.millis_since(first)));
        let details = json!({ "first": first.to_string(), "last": last.to_string(), "gaps": listed });
        Fact { name, warning: false, message, details }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_whole_hours_without_events_longest_first() {
        let mut hours = Hours::default();
        for hour in [50, 3, 0, 1, 10, 3, 11] {
            hours.see(Timestamp::from_millis(hour * HOUR + 5));
        }
        let gap = |from: i64, hours| (Timestamp::from_millis(from * HOUR), hours);
        assert_eq!(hours.gaps(), [gap(12, 38), gap(4, 6), gap(2, 1)]);
        assert!(hours.fact().message.ends_with("longest times without events: 1 d 14 h from 1970-01-01T12:00:00Z, 6 h from 1970-01-01T04:00:00Z, 1 h from 1970-01-01T02:00:00Z"));
        assert!(Hours::default().fact().warning);
    }
}
