//! A circuit breaker before the state store.
//!
//! A store that does not answer costs each request its timeout. After a few failures in a row requests no longer wait for
//! it: rankings are answered in their incoming order at once, while one probe in the background asks the store from
//! time to time and lets requests through again as soon as it answers.

use rankwright_event::Tenant;
use rankwright_state::{BoxFuture, Entity, Key, Scope, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Failures in a row after which the breaker opens.
const PATIENCE: u32 = 5;
/// A store has time limits of its own; where they fail, the probe asks again after this time.
const LONGEST_PROBE: Duration = Duration::from_secs(60);
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
    /// It failed too often: it was not asked.
    #[error("the state store does not answer")]
    Open,
    /// No answer in time.
    #[error("the state store did not answer within {0:?}")]
    Slow(Duration),
    /// It failed.
    #[error("{}", chain(.0))]
    Failed(#[from] rankwright_state::Error),
}

/// An error with its causes: it is told in one line, and what is to be done is in the last of them.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
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

    /// Whether the store answers within this time. It is asked what no cache knows: without requests, its absence may not have
    /// been noticed yet.
    pub(crate) async fn answers(&self, within: Duration) -> bool {
        self.closed() && in_time(self.store.holder("status"), within).await.is_ok()
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
            tokio::spawn(probe(self.store.clone(), Arc::downgrade(&self.state)));
        }
    }
}

/// Asks until the store answers, or the breaker is dropped. No request waits for the probe, so it leaves the store time to find
/// the server that replaces one that is gone.
async fn probe(store: Arc<dyn Store>, state: std::sync::Weak<Breaker>) {
    let key = [Key::new(&Tenant::default(), Scope::Global)];
    loop {
        tokio::time::sleep(PROBE_EVERY).await;
        if state.strong_count() == 0 {
            return;
        }
        let answer = tokio::time::timeout(LONGEST_PROBE, store.read(&key)).await;
        let Some(state) = state.upgrade() else { return };
        if matches!(answer, Ok(Ok(_))) {
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
mod tests;
