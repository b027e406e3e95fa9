//! The events of the last minutes of an import, by event time: they are recognised when they come again.
//!
//! Live events usually overlap with an import. At its end, an import notes the ids of its last events, like the ids of events
//! in requests; until then it keeps little more than an id of each. It does not note metadata, which has no second effect.

use crate::feedback;
use crate::short::short;
use rankwright_event::{Event, EventId, RankingId, Tenant, Timestamp};
use rankwright_state::Key;
use std::collections::VecDeque;
use std::time::Duration;

/// Most events that are noted, whatever the window: they are committed at the end, beside everything else.
const LIMIT: usize = 100_000;

/// Rankings and interactions whose time is within so much of the newest event's.
pub struct Recent {
    window: Duration,
    /// The wall clock when it began: an event ahead of it does not outdate the others.
    now: Timestamp,
    newest: Timestamp,
    events: VecDeque<Noted>,
    /// Time of the newest event that found no room.
    cut: Timestamp,
}

/// What an event is known by.
struct Noted {
    at: Timestamp,
    tenant: Tenant,
    id: Id,
}

enum Id {
    Interaction(EventId),
    Ranking(RankingId),
}

impl Recent {
    /// Nothing yet, at this time of the wall clock.
    pub fn new(window: Duration, now: Timestamp) -> Self {
        Self { window, now, newest: Timestamp::MIN, events: VecDeque::new(), cut: Timestamp::MIN }
    }

    /// Looks at the next event.
    pub fn see(&mut self, event: &Event) {
        let at = event.timestamp();
        self.newest = self.newest.max(at.min(self.now));
        let id = match event {
            Event::Interaction(event) => Id::Interaction(short(event.id.as_str()).into()),
            Event::Ranking(event) => Id::Ranking(short(event.id.as_str()).into()),
            Event::Item(_) | Event::User(_) => return,
        };
        if at >= self.oldest() {
            self.events.push_back(Noted { at, tenant: event.tenant().clone(), id });
        }
        while let Some(first) = self.events.front() {
            if first.at >= self.oldest() {
                if self.events.len() <= LIMIT {
                    break;
                }
                self.cut = self.cut.max(first.at);
            }
            self.events.pop_front();
        }
    }

    /// What to say where events within the window are not remembered, for want of room.
    pub fn complaint(&self) -> Option<String> {
        (self.cut >= self.oldest() && self.cut != Timestamp::MIN).then(|| {
            format!(
                "the import ends with more than {LIMIT} rankings and interactions within core.ingest.eventIdWindow, and the last {LIMIT} \
                 are remembered: an earlier one that is sent to /feedback again counts twice; send live events from where the import ends"
            )
        })
    }

    /// What is remembered of them.
    pub fn ids(&self) -> Vec<Key> {
        let oldest = self.oldest();
        self.events.iter().filter(|noted| noted.at >= oldest).map(Noted::key).collect()
    }

    fn oldest(&self) -> Timestamp {
        self.newest.minus(self.window)
    }
}

impl Noted {
    fn key(&self) -> Key {
        match &self.id {
            Id::Interaction(id) => feedback::interaction(&self.tenant, id),
            Id::Ranking(id) => feedback::ranking(&self.tenant, id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::identity;
    use rankwright_event::json;

    fn click(id: &str, seconds: i64) -> Event {
        let time = seconds * 1000;
        let text = format!(r#"{{"event":"interaction","id":"{id}","timestamp":"{time}","type":"click","item":"a"}}"#);
        json::decode(text.as_bytes()).expect("a valid event")
    }

    #[test]
    fn the_events_of_the_last_minutes_of_event_time_are_known_in_whatever_order_they_came() {
        let mut recent = Recent::new(Duration::from_secs(300), Timestamp::MAX);
        let events = [("a", 0), ("b", 250), ("late", 10), ("c", 500), ("d", 490), ("too late", 199), ("e", 550)];
        let events = events.map(|(id, at)| click(id, at));
        events.iter().for_each(|event| recent.see(event));
        assert_eq!(recent.ids(), [1, 3, 4, 6].map(|place: usize| identity(&events[place])));
        assert_eq!(recent.complaint(), None);
    }

    #[test]
    fn rankings_are_known_and_metadata_moves_time_alone() {
        let mut recent = Recent::new(Duration::from_secs(300), Timestamp::MAX);
        let shown = br#"{"event":"ranking","id":"r","timestamp":"1000","user":"u","session":"s","items":[{"id":"a"}]}"#;
        let shown = json::decode(shown).expect("a valid event");
        recent.see(&shown);
        let item = |time| format!(r#"{{"event":"item","id":"i","timestamp":"{time}","item":"a","fields":[]}}"#);
        recent.see(&json::decode(item(2000).as_bytes()).expect("a valid event"));
        assert_eq!(recent.ids(), [identity(&shown)]);
        recent.see(&json::decode(item(302_000).as_bytes()).expect("a valid event"));
        assert_eq!(recent.ids(), []);
    }

    #[test]
    fn an_event_ahead_of_the_clock_does_not_outdate_the_others() {
        let mut recent = Recent::new(Duration::from_secs(300), Timestamp::from_millis(600_000));
        let events = [click("a", 550), click("ahead", 4000), click("b", 600)];
        events.iter().for_each(|event| recent.see(event));
        assert_eq!(recent.ids(), [0, 1, 2].map(|place: usize| identity(&events[place])));
    }

    #[test]
    fn an_event_takes_little_memory_however_long_its_id_is() {
        let mut recent = Recent::new(Duration::from_secs(300), Timestamp::MAX);
        let event = click(&"x".repeat(4096), 0);
        recent.see(&event);
        assert!(matches!(&recent.events[0].id, Id::Interaction(id) if id.as_str().len() < 100));
        assert_eq!(recent.ids(), [identity(&event)]);
    }

    #[test]
    fn no_more_events_are_known_than_there_is_room_for() {
        let mut recent = Recent::new(Duration::from_secs(300), Timestamp::MAX);
        (0..LIMIT + 3).for_each(|number| recent.see(&click(&number.to_string(), 0)));
        assert_eq!((recent.events.len(), recent.ids().first()), (LIMIT, Some(&identity(&click("3", 0)))));
        assert!(recent.complaint().is_some_and(|said| said.contains("more than 100000 rankings and interactions")));
        recent.see(&click("much later", 301));
        assert_eq!(recent.complaint(), None, "what found no room is outdated by now");
    }
}
