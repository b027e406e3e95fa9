//! What ingest counts, as metrics.

use prometheus::{IntCounter, IntGauge, Registry};
use rankwright_ingest::Counters;

/// Metrics of the ingest behind `POST /feedback`.
pub(crate) struct Gauges {
    open: IntGauge,
    awaited: IntGauge,
    outbox: IntGauge,
    evicted: IntCounter,
    clickthroughs: IntCounter,
}

impl Gauges {
    /// Registers them.
    pub(crate) fn registered(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name, help| {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone())).map(|()| gauge)
        };
        let counter = |name, help| {
            let counter = IntCounter::new(name, help)?;
            registry.register(Box::new(counter.clone())).map(|()| counter)
        };
        Ok(Self {
            open: gauge("service_ingest_open_rankings", "Rankings that still take interactions.")?,
            awaited: gauge("service_ingest_awaited_rankings", "Rankings that interactions wait for.")?,
            outbox: gauge("service_ingest_outbox_records", "Click-throughs that are not durable yet.")?,
            evicted: counter(
                "service_ingest_evicted_rankings_total",
                "Rankings closed early because too many were open: see core.clickthrough.maxParallelSessions.",
            )?,
            clickthroughs: counter("service_ingest_clickthroughs_total", "Click-throughs written.")?,
        })
    }

    /// Takes the present counts.
    pub(crate) fn note(&self, counters: &Counters) {
        let whole = |count| i64::try_from(count).unwrap_or(i64::MAX);
        self.open.set(whole(counters.open));
        self.awaited.set(whole(counters.awaited));
        self.outbox.set(whole(counters.outbox));
        // an inlet that was opened again counts from 0
        self.evicted.inc_by(counters.evicted.saturating_sub(self.evicted.get()));
        self.clickthroughs.inc_by(counters.clickthroughs.saturating_sub(self.clickthroughs.get()));
    }
}
