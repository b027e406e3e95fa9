//! What the values of features will take in Redis: the writes that an import would make, to a sample of all keys.

use super::report::Fact;
use rankwright_config::Config;
use rankwright_event::{Event, Ranking};
use rankwright_feature::{ClosedInteraction, Plan, Zeros};
use rankwright_state::{Fingerprint, Foreseen, MemoryStore, Slot, Store, Usage};
use serde_json::json;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

const NAME: &str = "memory in Redis";

/// Batches of events that wait for the forecast.
const WAITING: usize = 4;

/// The forecast in the making, on a thread of its own: it takes as long as all checks.
pub(super) struct Forecast {
    events: SyncSender<Arc<Vec<Event>>>,
    thread: JoinHandle<Memory>,
}

impl Forecast {
    pub(super) fn begin(mut memory: Memory) -> Self {
        let (events, received) = sync_channel::<Arc<Vec<Event>>>(WAITING);
        let thread = thread::spawn(move || {
            received.iter().for_each(|events| events.iter().for_each(|event| memory.see(event)));
            memory
        });
        Self { events, thread }
    }

    pub(super) fn see(&self, events: Arc<Vec<Event>>) {
        let _ = self.events.send(events); // the end tells of a thread that has gone
    }

    /// What it came to; `None` where its thread has panicked.
    pub(super) fn end(self) -> Option<Memory> {
        drop(self.events);
        self.thread.join().ok()
    }
}

/// The fact where there is no forecast.
pub(super) fn none() -> Fact {
    Fact { name: NAME, warning: true, message: "cannot be estimated".to_owned(), details: json!({}) }
}

/// What was seen so far.
pub(super) struct Memory {
    /// `None` where the features cannot be compiled, with the reason.
    plan: Result<Plan, String>,
    slots: Vec<(Fingerprint, Slot)>,
    foreseen: Foreseen,
}

impl Memory {
    pub(super) async fn of(config: &Config) -> Self {
        let store = MemoryStore::default();
        let plan = Plan::of(config, &store, &Zeros::of(config)).await.map_err(|error| reasons(&error));
        let slots = store.known_slots().await.unwrap_or_default();
        Self { plan, slots, foreseen: Foreseen::default() }
    }

    pub(super) fn see(&mut self, event: &Event) {
        let Ok(plan) = &self.plan else { return };
        plan.event(event, &mut self.foreseen);
        match event {
            // every item may be looked at: what an import stores is that or less
            Event::Ranking(ranking) => {
                if let Some(seen) = seen_to_its_end(ranking) {
                    plan.closed(ranking, &[], &[seen], &mut self.foreseen);
                }
            }
            Event::Interaction(interaction) => plan.unranked(interaction, &[], &mut self.foreseen),
            Event::Item(_) | Event::User(_) => {}
        }
    }

    /// What they take, by slots, and which slots there are.
    pub(super) fn usage(&self) -> Option<(Usage, Vec<(Fingerprint, Slot)>)> {
        self.plan.is_ok().then(|| Some((self.foreseen.usage().ok()?, self.slots.clone())))?
    }

    pub(super) fn fact(&self) -> Fact {
        if let Err(reason) = &self.plan {
            return Fact { message: format!("cannot be estimated: {reason}"), ..none() };
        }
        let Some((usage, _)) = self.usage() else { return none() };
        let message = format!("about {} for values of features, in {} keys", size(usage.bytes()), usage.keys);
        let details = json!({ "bytes": usage.bytes(), "keys": usage.keys, "sampledKeys": usage.sampled });
        Fact { name: NAME, warning: false, message, details }
    }
}

/// An interaction of no type with the last item.
fn seen_to_its_end(ranking: &Ranking) -> Option<ClosedInteraction> {
    let item = ranking.items.last()?.id.clone();
    Some(ClosedInteraction { timestamp: ranking.timestamp, event: 0, kind: "".into(), item })
}

fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(because) = cause {
        text += &format!(": {because}");
        cause = because.source();
    }
    text
}

/// `12.3 MiB`
fn size(bytes: u64) -> String {
    match bytes as f64 / f64::from(1 << 20) {
        mib if mib >= 1024.0 => format!("{:.1} GiB", mib / 1024.0),
        mib => format!("{mib:.1} MiB"),
    }
}
