//! How useful the cache of a state was, as metrics.

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, Registry};
use rankwright_state::{CacheUse, Store};
use std::sync::{Arc, Mutex, PoisonError};

/// Reads the counts of a cache each time that metrics are collected.
struct Counters {
    store: Arc<dyn Store>,
    hits: IntCounter,
    misses: IntCounter,
    last: Mutex<CacheUse>,
}

/// Registers the metrics of a state that has a cache.
pub(crate) fn register(store: &Arc<dyn Store>, registry: &Registry) -> Result<(), prometheus::Error> {
    if store.cache_use().is_none() {
        return Ok(());
    }
    registry.register(Box::new(Counters::of(store.clone())?))
}

impl Counters {
    fn of(store: Arc<dyn Store>) -> Result<Self, prometheus::Error> {
        let hits = IntCounter::new("service_state_cache_hits_total", "Keys of the state that were in the cache.")?;
        let misses = IntCounter::new("service_state_cache_misses_total", "Keys of the state that had to be read.")?;
        Ok(Self { store, hits, misses, last: Mutex::default() })
    }
}

impl Collector for Counters {
    fn desc(&self) -> Vec<&Desc> {
        [self.hits.desc(), self.misses.desc()].concat()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.store.cache_use().unwrap_or(*last);
        self.hits.inc_by(now.hits.saturating_sub(last.hits));
        self.misses.inc_by(now.misses.saturating_sub(last.misses));
        *last = now;
        [self.hits.collect(), self.misses.collect()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_state::MemoryStore;

    #[test]
    fn metrics_are_listed_for_alerts_and_dashboards() {
        let registry = Registry::new();
        let counters = Counters::of(Arc::new(MemoryStore::default())).expect("names");
        registry.register(Box::new(counters)).expect("new names");
        crate::listed::assert_listed("assembly/cached", &registry);
    }
}
