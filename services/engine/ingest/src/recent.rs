//! The last minutes of an import, by event time: which events they were, so that they are known when they come again.
//!
//! An import and what is sent live overlap as a rule. What an import has read last is noted as the events of requests
//! are, once, when it ends; until then little more than ids is kept of each event.

use crate::feedback::LIMIT;
use rankwright_event::{Event, EventId, ItemId, RankingId, Tenant, Timestamp, UserId};
use rankwright_state::{Key, Scope};
use std::collections::VecDeque;
use std::time::Duration;

/// Events whose time is within so much of the newest one's.
pub struct Recent {
    window: Duration,
    newest: Timestamp,
    events: VecDeque<Noted>,
}

/// What an event is known by.
pub(crate) struct Noted {
    at: Timestamp,
    tenant: Tenant,
    name: Name,
}

/// Rankings and interactions are named by their ids; metadata has ids that nothing uses, often the same for all, so it is
/// named by whose it is and when as well.
enum Name {
    Item(EventId, ItemId),
    User(EventId, UserId),
    Interaction(EventId),
    Ranking(RankingId),
}

impl Recent {
    /// Nothing yet.
    pub fn new(window: Duration) -> Self {
        Self { window, newest: Timestamp::MIN, events: VecDeque::new() }
    }

    /// Looks at the next event.
    pub fn see(&mut self, event: &Event) {
        let at = event.timestamp();
        self.newest = self.newest.max(at);
        if at < self.oldest() {
            return;
        }
        self.events.push_back(Noted::of(event));
        while self.events.front().is_some_and(|first| first.at < self.oldest()) || self.events.len() > LIMIT {
            self.events.pop_front();
        }
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
    pub(crate) fn of(event: &Event) -> Self {
        let name = match event {
            Event::Item(event) => Name::Item(event.id.clone(), event.item.clone()),
            Event::User(event) => Name::User(event.id.clone(), event.user.clone()),
            Event::Interaction(event) => Name::Interaction(event.id.clone()),
            Event::Ranking(event) => Name::Ranking(event.id.clone()),
        };
        Self { at: event.timestamp(), tenant: event.tenant().clone(), name }
    }

    /// Under what it is noted. The length of an id of metadata tells where that ends.
    pub(crate) fn key(&self) -> Key {
        let of_metadata = |kind: &str, id: &EventId, whose: &str| {
            format!("{kind} {} {id} {} {whose}", id.as_str().len(), self.at.millis())
        };
        let noted = match &self.name {
            Name::Item(id, item) => of_metadata("item", id, item.as_str()),
            Name::User(id, user) => of_metadata("user", id, user.as_str()),
            Name::Interaction(id) => format!("interaction {id}"),
            Name::Ranking(id) => format!("ranking {id}"),
        };
        Key::new(&self.tenant, Scope::Seen(noted.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::identity;
    use rankwright_event::json;

    fn click(id: &str, seconds: i64) -> Event {
        let text = format!(
            r#"{{"event":"interaction","id":"{id}","timestamp":"{}","type":"click","item":"a"}}"#,
            seconds * 1000
        );
        json::decode(text.as_bytes()).expect("a valid event")
    }

    #[test]
    fn the_events_of_the_last_minutes_of_event_time_are_known_in_whatever_order_they_came() {
        let mut recent = Recent::new(Duration::from_secs(300));
        let events = [("a", 0), ("b", 250), ("late", 10), ("c", 500), ("d", 490), ("too late", 199), ("e", 550)];
        let events = events.map(|(id, at)| click(id, at));
        events.iter().for_each(|event| recent.see(event));
        assert_eq!(recent.ids(), [1, 3, 4, 6].map(|place: usize| identity(&events[place])));
    }

    #[test]
    fn no_more_events_are_known_than_there_is_room_for() {
        let mut recent = Recent::new(Duration::from_secs(300));
        (0..LIMIT + 3).for_each(|number| recent.see(&click(&number.to_string(), 0)));
        assert_eq!((recent.events.len(), recent.ids().first()), (LIMIT, Some(&identity(&click("3", 0)))));
    }
}
