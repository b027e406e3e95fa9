//! What happens when the click-through store does not take records.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

mod common;

use common::{Service, apply, click, shown};
use parking_lot::Mutex;
use rankwright_clickthrough::{
    Clickthrough, ClickthroughStore, Column, Error, Forgotten, Header, Mark, MemoryStore as Clickthroughs, Records,
    Status, Subject,
};
use rankwright_event::{Event, Timestamp};
use rankwright_state::MemoryStore;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A store that refuses a number of times.
struct Refusing {
    times: AtomicUsize,
    inner: Clickthroughs,
}

impl ClickthroughStore for Refusing {
    fn append(&self, records: &[Clickthrough]) -> Result<Mark, Error> {
        let left = self.times.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |times| times.checked_sub(1));
        match left {
            Ok(_) => Err(Error::Newer { place: "full".into(), found: 2, newest: 1 }),
            Err(_) => self.inner.append(records),
        }
    }

    fn flush(&self) -> Result<Mark, Error> {
        self.inner.flush()
    }

    fn durable(&self) -> Mark {
        self.inner.durable()
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

async fn refusing(times: usize) -> Service {
    let times = AtomicUsize::new(times);
    let store = |header| Arc::new(Refusing { times, inner: Clickthroughs::new(header).expect("memory") });
    Service::over(Arc::new(MemoryStore::default()), |header| store(header)).await
}

/// A ranking that closes the one before it.
fn visit(number: i64) -> Vec<Event> {
    let name: &'static str = Box::leak(number.to_string().into_boxed_str());
    vec![shown(name, &["a", "b"], number * 100), click(&format!("click {number}"), name, "b", number * 100 + 1)]
}

#[tokio::test]
async fn records_that_were_refused_come_later_in_their_order() {
    let service = refusing(3).await;
    let mut ingest = service.ingest().await;
    for number in 0..8 {
        apply(&mut ingest, visit(number)).await;
    }
    ingest.finish().await.expect("the store takes records again");
    let names: Vec<String> = service.records().iter().map(|record| record.ranking.to_string()).collect();
    assert_eq!(names, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(ingest.counters().outbox, 0);
}

#[tokio::test]
async fn events_are_taken_while_the_store_refuses_and_the_end_says_so() {
    let service = refusing(usize::MAX).await;
    let mut ingest = service.ingest().await;
    for number in 0..8 {
        apply(&mut ingest, visit(number)).await;
    }
    assert_eq!(service.rows(&["b"], 800).await[0], 8.0, "clicks have their effect, once");
    assert_eq!(ingest.counters().outbox, 7);
    let error = ingest.finish().await.expect_err("records are left").to_string();
    assert_eq!(error, "failed to keep click-throughs");
    assert_eq!(ingest.counters().outbox, 8);
}

#[tokio::test]
async fn a_record_that_no_part_could_hold_is_in_nobody_s_way() {
    let service = refusing(0).await;
    let header = |columns: usize| {
        let column = |place: usize| Column { name: place.to_string(), fingerprint: 1 };
        Header { service: "test".into(), columns: (0..columns).map(column).collect() }
    };
    // its columns are not those of the rows, but of none
    let clickthroughs: Arc<dyn ClickthroughStore> = Arc::new(Clickthroughs::new(header(7)).expect("memory"));
    let service = Service { clickthroughs, ..service };
    let mut ingest = service.ingest().await;
    apply(&mut ingest, visit(0)).await;
    apply(&mut ingest, vec![click("alone", None, "b", 50)]).await;
    ingest.finish().await.expect("goes on");
    let names: Vec<String> = service.records().iter().map(|record| record.ranking.to_string()).collect();
    assert_eq!((names, ingest.counters().outbox), (vec!["alone".to_owned()], 0));
}

/// A store that takes nothing until it is told to; then it takes everything.
struct Standing {
    told: Mutex<Receiver<()>>,
    inner: Clickthroughs,
}

impl ClickthroughStore for Standing {
    fn append(&self, records: &[Clickthrough]) -> Result<Mark, Error> {
        let _ = self.told.lock().recv(); // an error means that the sender is gone: it has sent before
        self.inner.append(records)
    }

    fn flush(&self) -> Result<Mark, Error> {
        self.inner.flush()
    }

    fn durable(&self) -> Mark {
        self.inner.durable()
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

async fn standing() -> (Service, Sender<()>) {
    let (tell, told) = channel();
    let store =
        |header| Arc::new(Standing { told: Mutex::new(told), inner: Clickthroughs::new(header).expect("memory") });
    (Service::over(Arc::new(MemoryStore::default()), |header| store(header)).await, tell)
}

#[tokio::test]
async fn events_are_taken_while_the_store_stands_still() {
    let (service, tell) = standing().await;
    let mut ingest = service.ingest().await;
    for number in 0..3 {
        apply(&mut ingest, visit(number)).await;
    }
    ingest.pass(Timestamp::from_millis(1_000_000)).await.expect("does not wait for it");
    assert_eq!(ingest.counters().outbox, 3);
    drop(tell);
    ingest.finish().await.expect("takes all");
    assert_eq!((service.records().len(), ingest.counters().outbox), (3, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_other_tasks_of_a_runtime_go_on_while_the_store_stands_still() {
    let (service, tell) = standing().await;
    let work = async move {
        let mut ingest = service.ingest().await;
        apply(&mut ingest, visit(0)).await;
        tokio::spawn(async move { drop(tell) }); // on the thread that waits
        ingest.finish().await.expect("takes all");
        service.records().len()
    };
    assert_eq!(tokio::spawn(work).await.expect("ends"), 1);
}
