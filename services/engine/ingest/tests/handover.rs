//! What becomes of click-throughs on their way when another process closes rankings.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

mod common;

use common::{Service, click, item, shown};
use parking_lot::Mutex;
use rankwright_clickthrough::{
    Clickthrough, ClickthroughStore, Error, Forgotten, Mark, MemoryStore as Clickthroughs, Records, Status, Subject,
};
use rankwright_event::{Event, Timestamp};
use rankwright_ingest::shared::{Closer, Intake, Origin, Taken};
use rankwright_state::{MemoryStore, Position, Space};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const WALL: Timestamp = Timestamp::from_millis(1_000_000_000);

/// A store that holds what it takes back until it is told to keep it.
struct Holding {
    inner: Clickthroughs,
    taken: AtomicUsize,
    kept: Mutex<Mark>,
}

impl ClickthroughStore for Holding {
    fn append(&self, records: &[Clickthrough]) -> Result<Mark, Error> {
        self.taken.fetch_add(records.len(), Ordering::Relaxed);
        self.inner.append(records)
    }

    fn flush(&self) -> Result<Mark, Error> {
        let mark = self.inner.flush()?;
        *self.kept.lock() = mark;
        Ok(mark)
    }

    fn flush_due(&self) -> Result<Mark, Error> {
        Ok(self.durable())
    }

    fn durable(&self) -> Mark {
        *self.kept.lock()
    }

    fn read(&self) -> Result<Records, Error> {
        self.inner.read()
    }

    fn forget(&self, subject: &Subject) -> Result<Forgotten, Error> {
        self.inner.forget(subject)
    }

    fn status(&self) -> Status {
        self.inner.status()
    }
}

/// A service with five rankings that are over, and its store.
async fn service() -> (Service, Arc<Holding>) {
    let mut kept = None;
    let store = |header| {
        let inner = Clickthroughs::new(header).expect("memory");
        let store = Arc::new(Holding { kept: Mutex::new(inner.durable()), inner, taken: AtomicUsize::new(0) });
        kept = Some(store.clone());
        store as Arc<dyn ClickthroughStore>
    };
    let service = Service::over(Arc::new(MemoryStore::default()), store).await;
    let visits =
        ["a", "b", "c", "d", "e"].into_iter().flat_map(|id| [shown(id, &["x", "y"], 10), click(id, id, "y", 11)]);
    let events: Vec<_> = visits.chain([item("x", 5000)]).collect();
    take(&service, "1", events).await;
    (service, kept.expect("was opened"))
}

async fn take(service: &Service, to: &str, events: Vec<Event>) {
    let (plan, state) = (service.plan.clone(), service.state.clone());
    let mut intake = Intake::open("1", Origin::Partition, plan, state, service.settings, WALL).await.expect("opens");
    intake.apply(&events, &[], Position(to.into()), WALL).await.expect("takes them");
}

async fn closer(service: &Service, name: &str, taken: Taken) -> Closer {
    let (plan, state, parts) = (service.plan.clone(), service.state.clone(), service.clickthroughs.clone());
    Closer::open(name, &mut { taken }, plan, state, parts, service.settings).await.expect("opens")
}

async fn owed(service: &Service) -> usize {
    service.state.scan(Space::Outbox).await.expect("lists").len()
}

#[tokio::test]
async fn the_next_closer_of_a_process_brings_nothing_to_the_store_that_it_has() {
    let (service, store) = service().await;
    let mut first = closer(&service, "one", Taken::default()).await;
    first.tick(WALL).await.expect("works");
    let taken = first.hand_over();
    assert_eq!((store.taken.load(Ordering::Relaxed), owed(&service).await), (5, 5), "held, and not durable");
    let mut second = closer(&service, "one", taken).await;
    assert_eq!(second.counters().outbox, 5);
    second.tick(WALL).await.expect("works");
    assert_eq!((store.taken.load(Ordering::Relaxed), owed(&service).await), (5, 5), "nothing twice, nothing forgotten");
    store.flush().expect("memory");
    second.tick(WALL).await.expect("works");
    assert_eq!((store.taken.load(Ordering::Relaxed), owed(&service).await), (5, 0), "they are durable now");
}

#[tokio::test]
async fn what_is_owed_is_brought_again_where_another_process_has_closed_since() {
    let (service, store) = service().await;
    let mut first = closer(&service, "one", Taken::default()).await;
    first.tick(WALL).await.expect("works");
    let taken = first.hand_over();
    take(&service, "2", vec![shown("f", &["x", "y"], 6000), click("f", "f", "y", 6001), item("y", 9000)]).await;
    let mut other = closer(&service, "two", Taken::default()).await;
    other.tick(WALL).await.expect("works");
    assert_eq!(store.taken.load(Ordering::Relaxed), 5 + 6, "it knows nothing of what the first one had brought");
    drop(other);
    closer(&service, "one", taken).await.tick(WALL).await.expect("works");
    assert_eq!(store.taken.load(Ordering::Relaxed), 5 + 6 + 6, "who knows what the other one has left");
}
