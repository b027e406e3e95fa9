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
use crate::short::short;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use rankwright_clickthrough::{Subject, Who};
use rankwright_event::{Event, EventId, RankingId, Tenant, Timestamp};
use rankwright_state::{Key, Position, Scope, Space};
use std::collections::VecDeque;
use std::hash::BuildHasher;
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
    /// Most events that are remembered, whatever the window.
    most: usize,
    /// Notes and their times, in order.
    notes: VecDeque<(Timestamp, Key)>,
    /// How many notes were at the front of these before.
    gone: u64,
    /// The place of each key in the order of all notes that ever were.
    places: HashTable<u64>,
    hasher: RandomState,
    /// Whether an event has been forgotten before its time.
    crowded: bool,
}

const MOST: usize = 1_000_000;

impl Seen {
    /// What earlier processes noted.
    fn restored(window: Duration, mut noted: Vec<(Key, Timestamp)>) -> Self {
        noted.sort_by_key(|(_, at)| *at);
        let (notes, places, hasher) = Default::default();
        let mut seen = Self { window, most: MOST, notes, gone: 0, places, hasher, crowded: false };
        for (key, at) in noted {
            seen.note(key, at);
        }
        seen
    }

    /// Notes an event; whether it is new.
    fn is_new(&mut self, event: &Event, now: Timestamp) -> bool {
        self.note(identity(event), now)
    }

    /// Whether the key is new.
    fn note(&mut self, key: Key, at: Timestamp) -> bool {
        let Self { notes, gone, places, hasher, .. } = self;
        let key_at = |place: u64| &notes[(place - *gone) as usize].1;
        let hash = hasher.hash_one(&key);
        if places.find(hash, |&place| *key_at(place) == key).is_some() {
            return false;
        }
        places.insert_unique(hash, *gone + notes.len() as u64, |&place| hasher.hash_one(key_at(place)));
        notes.push_back((at, key));
        true
    }

    /// Forgets the last `count` events that were noted. They took no effect, and are new when they come again.
    fn unsee(&mut self, count: usize) {
        for _ in 0..count {
            let Some((_, key)) = self.notes.pop_back() else { return };
            self.remove(&key, self.gone + self.notes.len() as u64);
        }
    }

    /// Takes out an event that is no longer remembered.
    fn forget(&mut self, now: Timestamp) -> Option<Key> {
        let oldest = now.minus(self.window);
        let is_young = self.notes.front()?.0 >= oldest;
        if is_young && self.notes.len() <= self.most {
            return None;
        }
        if is_young && !self.crowded {
            self.crowded = true;
            tracing::warn!(
                most = self.most,
                window_seconds = self.window.as_secs(),
                "more events come within core.ingest.eventIdWindow than are remembered: an older one that is sent again \
                 counts again; this is logged once"
            );
        }
        let (_, key) = self.notes.pop_front()?;
        self.remove(&key, self.gone);
        self.gone += 1;
        Some(key)
    }

    fn remove(&mut self, key: &Key, place: u64) {
        if let Ok(entry) = self.places.find_entry(self.hasher.hash_one(key), |&other| other == place) {
            entry.remove();
        }
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
    // versions before this one noted ids of any length
    noted.is_some_and(|noted| [&*short(id), id].iter().any(|id| noted.ends_with(&format!(" {id}"))))
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
    let (id, whose) = (short(id.as_str()), short(whose));
    format!("{kind} {} {id} {} {whose}", id.len(), at.millis())
}

/// Under what an interaction is noted.
pub(crate) fn interaction(tenant: &Tenant, id: &EventId) -> Key {
    Key::new(tenant, Scope::Seen(format!("interaction {}", short(id.as_str())).into()))
}

/// Under what a ranking is noted.
pub(crate) fn ranking(tenant: &Tenant, id: &RankingId) -> Key {
    Key::new(tenant, Scope::Seen(format!("ranking {}", short(id.as_str())).into()))
}

/// The key that an event has now whose ranking or interaction an older version noted under an id of any length.
fn renamed(key: &Key) -> Option<Key> {
    let Scope::Seen(noted) = &key.scope else { return None };
    let key = match noted.as_str().split_once(' ')? {
        ("interaction", id) => interaction(&key.tenant, &id.into()),
        ("ranking", id) => ranking(&key.tenant, &id.into()),
        _ => return None, // metadata has no second effect
    };
    Some(key).filter(|key| key.scope != Scope::Seen(noted.clone()))
}

impl Feedback {
    /// Takes in events through `ingest`; repetitions within `window` of wall time have no effect.
    ///
    /// # Errors
    /// When the state store fails.
    pub async fn open(mut ingest: Ingest, window: Duration) -> Result<Self, Error> {
        let mut noted = ingest.notes(Space::Seen).await?;
        for (key, at) in &mut noted {
            if let Some(renamed) = renamed(key) {
                ingest.remove_note(key);
                ingest.note(&renamed, *at);
                *key = renamed;
            }
        }
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
        let applied = self.ingest.apply_at(events, notes, to, now).await.inspect_err(|_| self.seen.unsee(ids.len()))?;
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
        seen.unsee(1);
        assert!(seen.is_new(&event, at(240)), "it comes again");
        assert_eq!(seen.forget(at(310)), None);
        assert!(!seen.is_new(&event, at(310)), "it was taken in 70 seconds ago");
        assert_eq!(seen.forget(at(541)), Some(identity(&event)));
    }

    fn click(id: &str) -> Event {
        let text = format!(r#"{{"event":"interaction","id":"{id}","timestamp":"1000","type":"click","item":"a"}}"#);
        json::decode(text.as_bytes()).expect("a valid event")
    }

    #[test]
    fn no_more_events_are_remembered_than_there_is_room_for_and_young_ones_are_missed() {
        let at = Timestamp::from_millis(0);
        let mut seen = Seen { most: 3, ..Seen::restored(Duration::from_secs(300), Vec::new()) };
        let forgotten = |seen: &mut Seen, now| std::iter::from_fn(|| seen.forget(now)).count();
        for number in 0..100 {
            assert!(seen.is_new(&click(&number.to_string()), at));
            assert_eq!(forgotten(&mut seen, at), usize::from(number > 2));
            assert_eq!((seen.places.len(), seen.crowded), (seen.notes.len(), number > 2));
        }
        let known = [96, 97, 98, 99].map(|number| !seen.is_new(&click(&number.to_string()), at));
        assert_eq!(known, [false, true, true, true]);
        let mut seen = Seen { most: 3, ..Seen::restored(Duration::from_secs(300), Vec::new()) };
        assert!((0..4).all(|number| seen.is_new(&click(&number.to_string()), at)));
        assert_eq!(
            (forgotten(&mut seen, Timestamp::from_millis(300_001)), seen.crowded),
            (4, false),
            "their time is over"
        );
    }

    #[test]
    fn an_event_takes_little_memory_however_long_its_ids_are() {
        let long = "x".repeat(4096);
        let user = noted(&format!(r#"{{"event":"user","id":"{long}","timestamp":"1","user":"{long}","fields":[]}}"#));
        for key in [identity(&click(&long)), ranking(&Tenant::default(), &long.as_str().into()), user.clone()] {
            let Scope::Seen(noted) = &key.scope else { panic!("a note") };
            assert!(noted.as_str().len() < 100, "{noted}");
        }
        assert_ne!(identity(&click(&long)), identity(&click(&long[1..])));
        let whose = |user: &str| Subject { tenant: Tenant::default(), who: Who::User(user.into()) };
        assert!(notes(&user, &whose(&long)) && !notes(&user, &whose(&long[1..])));
    }

    #[test]
    fn what_an_older_version_noted_has_its_name_of_now() {
        let (tenant, long) = (Tenant::default(), "x".repeat(4096));
        let of = |text: String| Key::new(&tenant, Scope::Seen(text.into()));
        assert_eq!(renamed(&of(format!("interaction {long}"))), Some(identity(&click(&long))));
        assert_eq!(renamed(&of(format!("ranking {long}"))), Some(ranking(&tenant, &long.as_str().into())));
        assert_eq!(renamed(&of("interaction c".to_owned())), None);
        assert_eq!(renamed(&of(format!("item 4096 {long} 1 a"))), None);
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
