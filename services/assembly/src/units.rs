//! Whether timestamps look like seconds where milliseconds are expected.
//!
//! Seconds of our days, taken for milliseconds, lie in January 1970: windows, sessions and times to live are then a
//! thousand times too short, and nothing fails.

use rankwright_event::{Event, Timestamp};

/// March 1970, in milliseconds: as seconds, this is July 2131.
const MARCH_1970: i64 = 59 * 86_400_000;

/// Looks for a time that cannot be one of seconds.
#[derive(Debug, Default)]
pub struct Units {
    events: u64,
    example: Option<Timestamp>,
    /// Whether there was a time that is none of seconds, or nothing is to be said any more.
    settled: bool,
}

impl Units {
    /// Looks at the time of the next event.
    pub fn see(&mut self, at: Timestamp) {
        self.events += 1;
        self.settled |= at.millis() >= MARCH_1970;
        self.example = self.example.or(Some(at));
    }

    /// What to say of all events so far; nothing where one of them has a later time.
    pub fn complaint(&self) -> Option<String> {
        let at = self.example.filter(|_| !self.settled)?;
        Some(format!(
            "all {} events so far are from before March 1970, such as one of {} ({at}): are the timestamps seconds instead of milliseconds? \
             they have to be milliseconds since 1970, or ISO 8601 with a zone",
            self.events,
            at.millis()
        ))
    }

    /// The same for events that go on to come: what to say of a batch, once.
    pub fn news<'a>(&mut self, events: impl IntoIterator<Item = &'a Event>) -> Option<String> {
        if self.settled {
            return None;
        }
        events.into_iter().for_each(|event| self.see(event.timestamp()));
        let complaint = self.complaint();
        self.settled |= complaint.is_some();
        complaint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_event::json;

    fn events(times: &[i64]) -> Vec<Event> {
        let event = |at: &i64| {
            let text = format!(r#"{{"event":"item","id":"e","timestamp":"{at}","item":"a","fields":[]}}"#);
            json::decode(text.as_bytes()).expect("a valid event")
        };
        times.iter().map(event).collect()
    }

    fn told(times: &[i64]) -> Option<String> {
        let mut units = Units::default();
        events(times).iter().for_each(|event| units.see(event.timestamp()));
        units.complaint()
    }

    #[test]
    fn seconds_are_told_with_how_many_and_an_example() {
        let told = told(&[1_636_907_100, 1_636_907_101]).unwrap_or_default();
        assert!(
            told.starts_with("all 2 events so far are from before March 1970, such as one of 1636907100 (1970-01-19T"),
            "{told}"
        );
        assert!(told.contains("seconds instead of milliseconds?"), "{told}");
    }

    #[test]
    fn one_later_time_is_enough_and_nothing_is_said_of_no_events() {
        assert_eq!(told(&[1_636_907_100, 1_636_907_101_000]), None);
        assert_eq!(told(&[MARCH_1970]), None);
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn of_events_that_go_on_to_come_it_is_said_once() {
        let mut units = Units::default();
        assert_eq!(units.news(&[]), None);
        assert!(units.news(&events(&[1_636_907_100])).is_some_and(|told| told.starts_with("all 1 events")));
        assert_eq!(units.news(&events(&[1_636_907_102])), None);
        let mut units = Units::default();
        assert_eq!(units.news(&events(&[5, 1_636_907_100_000])), None);
        assert_eq!(units.news(&events(&[6])), None, "it is known that they are milliseconds");
    }
}
