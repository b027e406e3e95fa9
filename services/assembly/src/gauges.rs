//! What ingest counts, as metrics.

use prometheus::{IntCounter, IntGauge, Registry};
use rankwright_ingest::Counters;
use std::sync::atomic::{AtomicU64, Ordering};

/// Metrics of the ingest behind `POST /feedback`.
pub struct Gauges {
    open: IntGauge,
    awaited: IntGauge,
    outbox: IntGauge,
    evicted: Growing,
    clickthroughs: Growing,
}

/// A count that begins again from 0 when the inlet was opened again, as one that only grows.
struct Growing {
    metric: IntCounter,
    last: AtomicU64,
}

impl Growing {
    fn note(&self, count: u64) {
        let last = self.last.swap(count, Ordering::Relaxed);
        self.metric.inc_by(count.checked_sub(last).unwrap_or(count));
    }
}

impl Gauges {
    /// Registers them.
    pub fn registered(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name, help| {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone())).map(|()| gauge)
        };
        let counter = |name, help| {
            let counter = IntCounter::new(name, help)?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, prometheus::Error>(Growing { metric: counter, last: AtomicU64::new(0) })
        };
        Ok(Self {
            open: gauge("service_ingest_open_rankings", "Rankings that still take interactions.")?,
            awaited: gauge("service_ingest_awaited_rankings", "Rankings that interactions wait for.")?,
            outbox: gauge("service_ingest_outbox_records", "Click-throughs that are not durable yet.")?,
            evicted: counter(
                "service_ingest_evicted_rankings_total",
                "Rankings closed early because too many were open: see maxParallelSessions and maxOpenBytes of core.clickthrough.",
            )?,
            clickthroughs: counter("service_ingest_clickthroughs_total", "Click-throughs written.")?,
        })
    }

    /// Takes the present counts.
    pub fn note(&self, counters: &Counters) {
        let whole = |count| i64::try_from(count).unwrap_or(i64::MAX);
        self.open.set(whole(counters.open));
        self.awaited.set(whole(counters.awaited));
        self.outbox.set(whole(counters.outbox));
        self.evicted.note(counters.evicted);
        self.clickthroughs.note(counters.clickthroughs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_listed_for_alerts_and_dashboards() {
        let registry = Registry::new();
        Gauges::registered(&registry).expect("new names");
        crate::listed::assert_listed("assembly/gauges", &registry);
    }

    #[test]
    fn a_count_that_begins_again_goes_on_growing() {
        let gauges = Gauges::registered(&Registry::new()).expect("new names");
        for evicted in [2, 5, 1, 1, 4] {
            gauges.note(&Counters { evicted, ..Counters::default() });
        }
        assert_eq!(gauges.evicted.metric.get(), 5 + 4);
    }
}
