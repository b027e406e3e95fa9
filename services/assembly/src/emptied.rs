//! Whether the state that a program works on was emptied under it, as a metric.

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntGauge, Registry};
use rankwright_state::Store;
use std::sync::Arc;

/// Asks the state each time.
struct Emptied {
    store: Arc<dyn Store>,
    gauge: IntGauge,
}

/// Registers the metric of a state that others may empty.
pub(crate) fn register(store: &Arc<dyn Store>, registry: &Registry) -> Result<(), prometheus::Error> {
    if !store.shared() {
        return Ok(());
    }
    registry.register(Box::new(Emptied::of(store.clone())?))
}

impl Emptied {
    fn of(store: Arc<dyn Store>) -> Result<Self, prometheus::Error> {
        let help = "1 where the state was emptied since this program began, and neither restored nor filled by an import since, 0 else.";
        Ok(Self { store, gauge: IntGauge::new("service_state_emptied", help)? })
    }
}

impl Collector for Emptied {
    fn desc(&self) -> Vec<&Desc> {
        self.gauge.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.gauge.set(self.store.emptied().into());
        self.gauge.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_state::MemoryStore;

    #[test]
    fn metrics_are_listed_for_alerts_and_dashboards() {
        let registry = Registry::new();
        let emptied = Emptied::of(Arc::new(MemoryStore::default())).expect("a name");
        registry.register(Box::new(emptied)).expect("a new name");
        crate::listed::assert_listed("assembly/emptied", &registry);
    }
}
