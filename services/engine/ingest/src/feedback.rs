//! Events that come in requests.
//!
//! Clients repeat requests that they got no answer for: ids of events are remembered for a while, and an event that
//! comes again has no second effect. While nothing comes in, event time goes on as fast as the wall clock, so that
//! rankings close; it does not jump to the wall clock, so that last year's events may come in requests too.

use crate::ingest::{Applied, Error, Ingest};
use rankwright_event::{Event, EventId, Tenant, Timestamp};
use rankwright_state::Position;
use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// Takes in the events of requests to one process.
pub struct Feedback {
    ingest: Ingest,
    seen: Seen,
    /// Event time and wall time when the last batch came.
    last: Option<(Timestamp, Timestamp)>,
}

type Identity = (Tenant, EventId, &'static str);

/// Ids of the events of the last minutes.
struct Seen {
    window: Duration,
    ids: HashSet<Identity>,
    order: VecDeque<(Timestamp, Identity)>,
}

/// So many ids are remembered at most, whatever the window.
const LIMIT: usize = 1_000_000;

impl Seen {
    /// Notes an event; whether it is new.
    fn is_new(&mut self, event: &Event, now: Timestamp) -> bool {
        let id = identity(event);
        if !self.ids.insert(id.clone()) {
            return false;
        }
        self.order.push_back((now, id));
        true
    }

    /// Events that took no effect are new when they come again.
    fn unsee(&mut self, ids: &[Identity]) {
        for id in ids {
            self.ids.remove(id);
        }
    }

    fn forget(&mut self, now: Timestamp) {
        let oldest = now.minus(self.window);
        while self.order.front().is_some_and(|(at, _)| *at < oldest) || self.order.len() > LIMIT {
            if let Some((_, id)) = self.order.pop_front() {
                self.ids.remove(&id);
            }
        }
    }
}

fn identity(event: &Event) -> Identity {
    let id = match event {
        Event::Item(event) => event.id.clone(),
        Event::User(event) => event.id.clone(),
        Event::Interaction(event) => event.id.clone(),
        Event::Ranking(event) => event.id.as_str().into(),
    };
    (event.tenant().clone(), id, event.kind())
}

impl Feedback {
    /// Takes in events through `ingest`; repetitions within `window` of wall time have no effect.
    pub fn new(ingest: Ingest, window: Duration) -> Self {
        Self { ingest, seen: Seen { window, ids: HashSet::new(), order: VecDeque::new() }, last: None }
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
        self.seen.forget(now);
        events.retain(|event| self.seen.is_new(event, now));
        let to = Position((count(self.ingest.position()) + 1).to_string());
        let ids: Vec<_> = events.iter().map(identity).collect();
        let applied = self.ingest.apply(events, to).await.inspect_err(|_| self.seen.unsee(&ids))?;
        self.last = Some((self.ingest.watermark(), now));
        Ok(Applied { accepted, ..applied })
    }

    /// Lets time pass: what is due closes, and becomes durable.
    ///
    /// # Errors
    /// As [`Ingest::apply`].
    pub async fn tick(&mut self, now: Timestamp) -> Result<(), Error> {
        self.seen.forget(now);
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
