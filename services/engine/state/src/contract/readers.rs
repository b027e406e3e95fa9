//! Promises to readers while other processes write.

use super::{HOUR, get, item, put, stored};
use crate::{Cell, Entity, Slot, Store};
use rankwright_event::Timestamp;
use std::pin::pin;
use std::sync::Arc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

const READERS: usize = 2;
const COMMITS: u64 = 200;

/// Each commit counts in two slots and replaces a third value: no reader sees one count without the other, a count
/// that falls, or the replaced entity missing.
pub(super) async fn readers_see_whole_entities(store: &dyn Store) {
    put(store, vec![(item("replaced"), both(1))]).await;
    let (start, done) = (Barrier::new(READERS + 1), AtomicBool::new(false));
    thread::scope(|scope| {
        let reader = || {
            start.wait();
            read_until(store, &done);
        };
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(reader)).collect();
        start.wait();
        // On a thread of its own as well: a runtime's thread that waits for itself would never be let go on.
        let written = scope.spawn(|| block_on(write(store))).join();
        done.store(true, Ordering::Release);
        let read: Vec<_> = readers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        assert!(written.is_ok(), "the writer failed");
        assert!(read.iter().all(Result::is_ok), "a reader saw half a commit");
    });
    assert_eq!(counts(&get(store, &item("counted")).await.expect("was written")), [Some(COMMITS); 2]);
}

fn both(count: u64) -> Option<Entity> {
    let mut entity = Entity::one(Slot(0), stored(1, Cell::Counter(count)));
    entity.absorb_value(Slot(1), &stored(1, Cell::Counter(count)));
    Some(entity)
}

fn counts(entity: &Entity) -> [Option<u64>; 2] {
    [0, 1].map(|slot| entity.counter(Slot(slot), Timestamp::from_millis(0), HOUR))
}

async fn write(store: &dyn Store) {
    for count in 1..=COMMITS {
        let replaced = item("replaced");
        put(store, vec![(item("counted"), both(1)), (replaced.clone(), None), (replaced, both(count))]).await;
        let seen = get(store, &item("counted")).await.expect("was written");
        assert_eq!(counts(&seen), [Some(count); 2], "a commit is seen once it has answered");
    }
}

fn read_until(store: &dyn Store, done: &AtomicBool) {
    let mut last = [None; 2];
    while !done.load(Ordering::Acquire) {
        let [counted, replaced] = ["counted", "replaced"].map(|id| block_on(get(store, &item(id))));
        if let Some(counted) = counted {
            let seen = counts(&counted);
            assert_eq!(seen[0], seen[1], "both counts change together");
            assert!(seen >= last, "a count never falls: {seen:?} after {last:?}");
            last = seen;
        }
        let replaced = counts(&replaced.expect("a replaced entity is never missing"));
        assert_eq!(replaced[0], replaced[1], "a replaced entity is whole");
    }
}

/// Runs a future on this thread; what it waits for has to run elsewhere (a store over a network needs a runtime of
/// several threads).
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}
