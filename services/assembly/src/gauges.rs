//! What ingest counts, as metrics.

use prometheus::{IntCounter, IntGauge, Registry};
use rankwright_event::{Event, Timestamp};
use rankwright_ingest::Counters;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Metrics of the ingest behind `POST /feedback`.
pub struct Gauges {
    open: IntGauge,
    open_bytes: IntGauge,
    awaited: IntGauge,
    outbox: IntGauge,
    evicted: Growing,
    evicted_interactions: Growing,
    clickthroughs: Growing,
    unranked: Growing,
    unknown: Growing,
    repeated: Growing,
    known: Growing,
    late: IntCounter,
    /// Newest event time of requests, in milliseconds.
    newest: AtomicI64,
}

/// Events of a request that are late, and the newest time with it, in milliseconds.
pub(crate) struct Late {
    events: u64,
    newest: i64,
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
        let counted = |name, help| {
            let counter = IntCounter::new(name, help)?;
            registry.register(Box::new(counter.clone())).map(|()| counter)
        };
        let counter = |name, help| counted(name, help).map(|metric| Growing { metric, last: AtomicU64::new(0) });
        Ok(Self {
            open: gauge("service_ingest_open_rankings", "Rankings that still take interactions.")?,
            open_bytes: gauge(
                "service_ingest_open_bytes",
                "About how much memory open rankings and waiting interactions take; 0 where another store has them.",
            )?,
            awaited: gauge("service_ingest_awaited_rankings", "Rankings that interactions wait for.")?,
            outbox: gauge("service_ingest_outbox_records", "Click-throughs that are not durable yet.")?,
            evicted: counter(
                "service_ingest_evicted_rankings_total",
                "Rankings closed early because too many were open: see maxParallelSessions and maxOpenBytes of core.clickthrough.",
            )?,
            evicted_interactions: counter(
                "service_ingest_evicted_interactions_total",
                "Interactions that stopped waiting for their ranking early because too many waited.",
            )?,
            clickthroughs: counter("service_ingest_clickthroughs_total", "Click-throughs written.")?,
            unranked: counter(
                "service_ingest_unranked_interactions_total",
                "Interactions that name no ranking, or one that did not come: they count in features alone.",
            )?,
            unknown: counter(
                "service_ingest_unknown_ranking_interactions_total",
                "Interactions that name a ranking which did not come while they waited for it, or had closed.",
            )?,
            repeated: counter(
                "service_ingest_repeated_rankings_total",
                "Rankings of POST /feedback that were sent again while open, and left alone.",
            )?,
            known: counter(
                "service_ingest_repeated_events_total",
                "Events of POST /feedback that were taken in before, and left alone.",
            )?,
            late: counted(
                "service_ingest_late_events_total",
                "Events of POST /feedback older than maxSessionLength before the newest of them.",
            )?,
            newest: AtomicI64::new(i64::MIN),
        })
    }

    /// The events of a request that are late. One that is ahead of the `wall` clock does not outdate the others.
    pub(crate) fn late(&self, events: &[Event], session: Duration, wall: Timestamp) -> Late {
        let mut late = Late { events: 0, newest: self.newest.load(Ordering::Relaxed) };
        for at in events.iter().map(Event::timestamp) {
            late.events += u64::from(at.plus(session).millis() < late.newest);
            late.newest = late.newest.max(at.min(wall).millis());
        }
        late
    }

    /// Counts them, when the request was taken in.
    pub(crate) fn took(&self, late: Late) {
        self.newest.fetch_max(late.newest, Ordering::Relaxed);
        self.late.inc_by(late.events);
    }

    /// Takes the present counts. Every field is named: one that is new is measured, or stands with those that are not.
    pub fn note(&self, counters: &Counters) {
        let Counters {
            items: _, // these are counted where events come from
            users: _,
            rankings: _,
            interactions: _,
            updated: _,
            outbox_bytes: _, // `/status` tells it
            clickthroughs,
            unranked,
            unknown,
            repeated,
            known,
            evicted,
            evicted_interactions,
            open,
            open_bytes,
            awaited,
            outbox,
        } = *counters;
        let whole = |count| i64::try_from(count).unwrap_or(i64::MAX);
        let gauges = [(&self.open, open), (&self.awaited, awaited), (&self.outbox, outbox)];
        gauges.into_iter().for_each(|(gauge, count)| gauge.set(whole(count)));
        self.open_bytes.set(whole(open_bytes.unwrap_or(0)));
        for (metric, count) in [
            (&self.evicted, evicted),
            (&self.evicted_interactions, evicted_interactions),
            (&self.clickthroughs, clickthroughs),
            (&self.unranked, unranked),
            (&self.unknown, unknown),
            (&self.repeated, repeated),
            (&self.known, known),
        ] {
            metric.note(count);
        }
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
    fn every_count_has_a_metric() {
        let registry = Registry::new();
        let gauges = Gauges::registered(&registry).expect("new names");
        let (unranked, unknown, repeated, known, evicted, evicted_interactions) = (1, 2, 3, 4, 5, 6);
        let (open, open_bytes, awaited, outbox, clickthroughs) = (7, Some(8), 9, 10, 11);
        let joined =
            Counters { unranked, unknown, repeated, known, evicted, evicted_interactions, ..Default::default() };
        gauges.note(&Counters { open, open_bytes, awaited, outbox, clickthroughs, ..joined });
        let value = |family: &prometheus::proto::MetricFamily| {
            let metric = &family.get_metric()[0];
            (metric.get_gauge().get_value() + metric.get_counter().get_value()) as u64
        };
        let mut values: Vec<u64> = registry.gather().iter().map(value).collect();
        values.sort_unstable();
        assert_eq!(values, (0..=11).collect::<Vec<_>>(), "late events are counted as they come");
    }

    #[test]
    fn events_of_requests_are_late_behind_the_newest_of_them() {
        let gauges = Gauges::registered(&Registry::new()).expect("new names");
        let events = |seconds: &[i64]| -> Vec<Event> {
            let event = |second: &i64| {
                let text = format!(r#"{{"event":"item","id":"e","timestamp":"{second}000","item":"a","fields":[]}}"#);
                rankwright_event::json::decode(text.as_bytes()).expect("a valid event")
            };
            seconds.iter().map(event).collect()
        };
        let take = |seconds: &[i64]| {
            gauges.took(gauges.late(&events(seconds), Duration::from_secs(10), Timestamp::from_millis(101_000)));
            gauges.late.get()
        };
        assert_eq!([take(&[100, 95, 90, 89]), take(&[80, 101]), take(&[500, 91]), take(&[90])], [1, 2, 2, 3]);
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
