//! A circuit breaker before the state store.
//!
//! A store that does not answer costs each request its timeout. After a few failures in a row nobody waits for it any
//! more: rankings are answered in their incoming order at once, while one probe in the background asks the store from
//! time to time and lets requests through again as soon as it answers.

use rankwright_event::Tenant;
use rankwright_state::{BoxFuture, Entity, Key, Scope, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Failures in a row after which the breaker opens.
const PATIENCE: u32 = 5;
/// Time between two probes.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// A state store whose reads fail at once while it is out of order.
pub(crate) struct Guarded {
    store: Arc<dyn Store>,
    timeout: Duration,
    state: Arc<Breaker>,
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unavailable {
    /// It failed often enough: it was not even asked.
    #[error("the state store does not answer")]
    Open,
    /// No answer in time.
    #[error("the state store did not answer within {0:?}")]
    Slow(Duration),
    /// It failed.
    #[error(transparent)]
    Failed(#[from] rankwright_state::Error),
}

#[derive(Default)]
struct Breaker {
    open: AtomicBool,
    failures: AtomicU32,
}

impl Guarded {
    /// Guards a store of which a read may take `timeout`.
    pub(crate) fn new(store: Arc<dyn Store>, timeout: Duration) -> Self {
        Self { store, timeout, state: Arc::default() }
    }

    /// The store itself.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Whether reads reach the store.
    pub(crate) fn closed(&self) -> bool {
        !self.state.open.load(Ordering::Relaxed)
    }

    /// What lies under the keys, in their order.
    pub(crate) async fn read(&self, keys: &[Key]) -> Result<Vec<Option<Arc<Entity>>>, Unavailable> {
        if !self.closed() {
            return Err(Unavailable::Open);
        }
        let outcome = in_time(self.store.read(keys), self.timeout).await;
        match &outcome {
            Ok(_) => self.state.failures.store(0, Ordering::Relaxed),
            Err(error) => self.failed(error),
        }
        outcome
    }

    fn failed(&self, error: &Unavailable) {
        let before = self.state.failures.fetch_add(1, Ordering::Relaxed);
        if before + 1 >= PATIENCE && !self.state.open.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "the state store does not answer, rankings keep their incoming order");
            tokio::spawn(probe(self.store.clone(), self.timeout, Arc::downgrade(&self.state)));
        }
    }
}

/// Asks until the store answers, or nobody is interested any more.
async fn probe(store: Arc<dyn Store>, timeout: Duration, state: std::sync::Weak<Breaker>) {
    let key = [Key::new(&Tenant::default(), Scope::Global)];
    loop {
        tokio::time::sleep(PROBE_EVERY).await;
        let Some(state) = state.upgrade() else { return };
        if in_time(store.read(&key), timeout).await.is_ok() {
            state.failures.store(0, Ordering::Relaxed);
            state.open.store(false, Ordering::Relaxed);
            tracing::info!("the state store answers again");
            return;
        }
    }
}

async fn in_time<T>(
    answer: BoxFuture<'_, Result<T, rankwright_state::Error>>,
    timeout: Duration,
) -> Result<T, Unavailable> {
    let outcome = tokio::time::timeout(timeout, answer).await;
    Ok(outcome.map_err(|_| Unavailable::Slow(timeout))??)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_event::Timestamp;
    use rankwright_state::{Commit, Error, Fingerprint, Lease, MemoryStore, Outcome, Slot, Space, Stats, Writer};
    use std::sync::atomic::AtomicUsize;

    /// Answers late while it is slow, and counts what it is asked.
    #[derive(Default)]
    struct Slow {
        store: MemoryStore,
        slow: AtomicBool,
        asked: AtomicUsize,
    }

    impl Store for Slow {
        fn read<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Option<Arc<Entity>>>, Error>> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            if self.slow.load(Ordering::Relaxed) {
                return Box::pin(std::future::pending());
            }
            self.store.read(keys)
        }

        fn slots<'a>(&'a self, wanted: &'a [Fingerprint]) -> BoxFuture<'a, Result<Vec<Slot>, Error>> {
            self.store.slots(wanted)
        }

        fn acquire<'a>(&'a self, writer: &'a Writer) -> BoxFuture<'a, Result<Lease, Error>> {
            self.store.acquire(writer)
        }

        fn commit<'a>(&'a self, lease: &'a Lease, commit: Commit) -> BoxFuture<'a, Result<Outcome, Error>> {
            self.store.commit(lease, commit)
        }

        fn scan(&self, space: Space) -> BoxFuture<'_, Result<Vec<(Key, Arc<Entity>)>, Error>> {
            self.store.scan(space)
        }

        fn expire<'a>(
            &'a self,
            now: Timestamp,
            ttl: &'a [(Slot, Duration)],
            other: Duration,
        ) -> BoxFuture<'a, Result<u64, Error>> {
            self.store.expire(now, ttl, other)
        }

        fn durable(&self) -> bool {
            false
        }

        fn stats(&self) -> Stats {
            self.store.stats()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_hangs_costs_a_few_timeouts_and_then_nothing_until_it_answers() {
        let store = Arc::new(Slow::default());
        store.slow.store(true, Ordering::Relaxed);
        let guarded = Guarded::new(store.clone(), Duration::from_secs(1));
        let began = tokio::time::Instant::now();
        for _ in 0..PATIENCE {
            assert!(matches!(guarded.read(&[]).await, Err(Unavailable::Slow(_))));
        }
        assert_eq!(began.elapsed(), Duration::from_secs(1) * PATIENCE);
        let asked = store.asked.load(Ordering::Relaxed);
        for _ in 0..1000 {
            assert!(matches!(guarded.read(&[]).await, Err(Unavailable::Open)));
        }
        assert_eq!(began.elapsed(), Duration::from_secs(1) * PATIENCE, "nobody waits");
        assert_eq!(store.asked.load(Ordering::Relaxed), asked, "nobody asks");
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert!(!guarded.closed() && store.asked.load(Ordering::Relaxed) > asked, "it is probed");
        store.slow.store(false, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(guarded.read(&[]).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_between_successes_opens_nothing() {
        let store = Arc::new(Slow::default());
        let guarded = Guarded::new(store.clone(), Duration::from_secs(1));
        for round in 0..4 * PATIENCE {
            store.slow.store(round % PATIENCE != 0, Ordering::Relaxed);
            assert_eq!(guarded.read(&[]).await.is_ok(), round % PATIENCE == 0);
        }
        assert!(guarded.closed());
    }
}
