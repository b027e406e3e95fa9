//! Events that come in requests.
//!
//! Clients repeat requests that they got no answer for: ids of events are remembered for a while, and an event that
//! comes again has no second effect. A durable state keeps the ids with the effects, so that this holds through a crash.
//!
//! While nothing comes in, event time goes on as fast as the wall clock, so that rankings close; it does not jump to the
//! wall clock, so that last year's events may come in requests too.

use crate::counters::{Applied, Counters};
use crate::error::Error;
use crate::ingest::Ingest;
use rankwright_clickthrough::{Subject, Who};
use rankwright_event::{Event, EventId, RankingId, Tenant, Timestamp};
use rankwright_state::{Key, Position, Scope, Space};
use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// Takes in the events of requests to one process.
pub struct Feedback {
    ingest: Ingest,
    seen: Seen,
    /// How many events have come again.
    known: u64,
    /// Event time and wall time when the last batch came.
    last: Option<(Timestamp, Timestamp)>,
}

/// The events of the last minutes of wall time.
struct Seen {
    window: Duration,
    ids: HashSet<Key>,
    order: VecDeque<(Timestamp, Key)>,
}

/// So many ids are remembered at most, whatever the window.
const LIMIT: usize = 1_000_000;

impl Seen {
    /// What earlier processes noted.
    fn restored(window: Duration, mut noted: Vec<(Key, Timestamp)>) -> Self {
        noted.sort_by_key(|(_, at)| *at);
        let ids = noted.iter().map(|(key, _)| key.clone()).collect();
        Self { window, ids, order: noted.into_iter().map(|(key, at)| (at, key)).collect() }
    }

    /// Notes an event; whether it is new.
    fn is_new(&mut self, event: &Event, now: Timestamp) -> bool {
        let key = identity(event);
        if !self.ids.insert(key.clone()) {
            return false;
        }
        self.order.push_back((now, key));
        true
    }

    /// Events that took no effect are new when they come again; they are the last ones that were noted.
    fn unsee(&mut self, ids: &[Key]) {
        self.order.truncate(self.order.len() - ids.len());
        for id in ids {
            self.ids.remove(id);
        }
    }

    /// Takes out an event that is no longer remembered.
    fn forget(&mut self, now: Timestamp) -> Option<Key> {
        let oldest = now.minus(self.window);
        let (at, _) = self.order.front()?;
        if *at >= oldest && self.order.len() <= LIMIT {
            return None;
        }
        let (_, key) = self.order.pop_front()?;
        self.ids.remove(&key);
        Some(key)
    }
}

/// Whether this is a note of a subject's metadata: its end names whose that is.
pub(crate) fn notes(key: &Key, subject: &Subject) -> bool {
    let Scope::Seen(noted) = &key.scope else { return false };
    let (kind, id) = match &subject.who {
        Who::Item(item) => ("item", item.as_str()),
        Who::User(user) => ("user", user.as_str()),
    };
    let noted = noted.as_str().strip_prefix(&format!("{kind} "));
    noted.is_some_and(|noted| noted.ends_with(&format!(" {id}")))
}

/// Under what an event is noted. Rankings and interactions are named by their ids; metadata has ids that nothing
/// uses, often the same for all, so it is named by whose it is and when as well; the length of the id tells where that ends.
pub(crate) fn identity(event: &Event) -> Key {
    let noted = match event {
        Event::Item(event) => of_metadata("item", &event.id, event.timestamp, event.item.as_str()),
        Event::User(event) => of_metadata("user", &event.id, event.timestamp, event.user.as_str()),
        Event::Interaction(event) => return interaction(&event.tenant, &event.id),
        Event::Ranking(event) => return ranking(&event.tenant, &event.id),
    };
    Key::new(event.tenant(), Scope::Seen(noted.into()))
}

fn of_metadata(kind: &str, id: &EventId, at: Timestamp, whose: &str) -> String {
    format!("{kind} {} {id} {} {whose}", id.as_str().len(), at.millis())
}

/// Under what an interaction is noted.
pub(crate) fn interaction(tenant: &Tenant, id: &EventId) -> Key {
    Key::new(tenant, Scope::Seen(format!("interaction {id}").into()))
}

/// Under what a ranking is noted.
pub(crate) fn ranking(tenant: &Tenant, id: &RankingId) -> Key {
    Key::new(tenant, Scope::Seen(format!("ranking {id}").into()))
}

impl Feedback {
    /// Takes in events through `ingest`; repetitions within `window` of wall time have no effect.
    ///
    /// # Errors
    /// When the state store fails.
    pub async fn open(mut ingest: Ingest, window: Duration) -> Result<Self, Error> {
        let noted = ingest.notes(Space::Seen).await?;
        if !ingest.durable() {
            noted.iter().for_each(|(key, _)| ingest.remove_note(key)); // an import of this process has left them here
        }
        Ok(Self { ingest, seen: Seen::restored(window, noted), known: 0, last: None })
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        Counters { known: self.known, ..self.ingest.counters() }
    }

    /// The engine behind it.
    pub fn ingest(&self) -> &Ingest {
        &self.ingest
    }

    /// Takes in a batch; its effects are committed when this returns. Repetitions count as accepted.
    ///
    /// # Errors
    /// As [`Ingest::apply`].
    pub async fn feed(&mut self, mut events: Vec<Event>, now: Timestamp) -> Result<Applied, Error> {
        let accepted = events.len() as u64;
        self.begin(now);
        self.forget(now);
        events.retain(|event| self.seen.is_new(event, now));
        let to = Position((count(self.ingest.position()) + 1).to_string());
        let ids: Vec<_> = events.iter().map(identity).collect();
        let notes = if self.ingest.durable() { ids.as_slice() } else { &[] };
        let applied = self.ingest.apply_at(events, notes, to, now).await.inspect_err(|_| self.seen.unsee(&ids))?;
        self.known += accepted - applied.accepted;
        self.last = Some((self.ingest.watermark(), now));
        Ok(Applied { accepted, ..applied })
    }

    /// A ranking that was ahead of the clock when it was taken in puts no clock forward.
    fn begin(&mut self, now: Timestamp) {
        if self.last.is_none() {
            self.ingest.not_beyond(now);
        }
    }

    fn forget(&mut self, now: Timestamp) {
        while let Some(key) = self.seen.forget(now) {
            if self.ingest.durable() {
                self.ingest.remove_note(&key);
            }
        }
    }

    /// Lets time pass: what is due closes, and becomes durable when its store finds it due.
    ///
    /// # Errors
    /// As [`Ingest::apply`].
    pub async fn tick(&mut self, now: Timestamp) -> Result<(), Error> {
        self.begin(now);
        self.forget(now);
        let (event, wall) = *self.last.get_or_insert((self.ingest.watermark(), now));
        if event == Timestamp::MIN {
            return Ok(());
        }
        let idle = Duration::from_millis(u64::try_from(now.millis_since(wall)).unwrap_or(0));
        self.ingest.pass(event.plus(idle)).await
    }
}

fn count(position: &Position) -> u64 {
    position.0.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_event::json;

    fn noted(event: &str) -> Key {
        identity(&json::decode(event.as_bytes()).expect("a valid event"))
    }

    #[test]
    fn an_event_that_took_no_effect_is_remembered_from_when_it_did() {
        let click = br#"{"event":"interaction","id":"c","timestamp":"1000","type":"click","item":"a"}"#;
        let event = json::decode(click).expect("a valid event");
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let mut seen = Seen::restored(Duration::from_secs(300), Vec::new());
        assert!(seen.is_new(&event, at(0)));
        seen.unsee(&[identity(&event)]);
        assert!(seen.is_new(&event, at(240)), "it comes again");
        assert_eq!(seen.forget(at(310)), None);
        assert!(!seen.is_new(&event, at(310)), "it was taken in 70 seconds ago");
        assert_eq!(seen.forget(at(541)), Some(identity(&event)));
    }

    #[test]
    fn ids_with_spaces_and_numbers_are_told_apart() {
        let item = |id: &str, at: &str, item: &str| {
            noted(&format!(r#"{{"event":"item","id":"{id}","timestamp":"{at}","item":"{item}","fields":[]}}"#))
        };
        assert_ne!(item("a", "1", "2 c"), item("a 1", "2", "c"));
    }

    #[test]
    fn metadata_of_others_under_the_same_id_is_another_event() {
        let user = |user: &str, at: &str| {
            noted(&format!(r#"{{"event":"user","id":"same","timestamp":"{at}","user":"{user}","fields":[]}}"#))
        };
        assert_eq!(user("u", "1000"), user("u", "1000"));
        assert_ne!(user("u", "1000"), user("v", "1000"));
        assert_ne!(user("u", "1000"), user("u", "2000"));
        let item = |item: &str| {
            noted(&format!(r#"{{"event":"item","id":"same","timestamp":"1000","item":"{item}","fields":[]}}"#))
        };
        assert_ne!(item("a"), item("b"));
        assert_ne!(item("u"), user("u", "1000"));
    }
}
