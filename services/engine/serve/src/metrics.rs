//! What `GET /metrics` shows.
//!
//! Only configured names become label values, so that nobody can fill the memory by asking for models that are not
//! there. Series of all models exist from the start, at 0: a rate over them needs no special case.

mod connections;
mod latency;
pub mod summary;

pub(crate) use connections::Closed;
pub use connections::ConnectionMetrics;
use latency::Latency;
use prometheus::process_collector::ProcessCollector;
use prometheus::{IntCounter, IntCounterVec, Opts, Registry, TextEncoder};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use summary::Summary;

/// Why a ranking was answered in its incoming order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FallbackReason {
    /// There is no version of the model, or it has learned nothing.
    Untrained,
    /// The state store does not answer.
    Store,
}

/// Why a request was not worked on, or not to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Too many at once.
    Overload,
    /// Too large.
    Size,
    /// Too slow.
    Time,
    /// Given up because of a fault of ours.
    Fault,
}

/// All metrics of this process.
pub struct Metrics {
    registry: Registry,
    models: BTreeMap<String, Arc<RankMetrics>>,
    /// Events accepted by `POST /feedback`.
    pub(crate) feedback_events: IntCounter,
    refusals: IntCounterVec,
    connections: ConnectionMetrics,
}

/// Metrics of one model.
pub(crate) struct RankMetrics {
    requests: IntCounter,
    latency: Summary,
    untrained: IntCounter,
    store: IntCounter,
}

impl Metrics {
    /// Metrics of the named ranking models, and of the process, in a registry to which others may add theirs.
    pub fn new<'a>(models: impl IntoIterator<Item = &'a str>, registry: Registry) -> Result<Self, prometheus::Error> {
        let counters = Counters::registered(&registry)?;
        let models: BTreeMap<_, _> = models.into_iter().map(|name| (name.to_owned(), counters.of(name))).collect();
        registry.register(Box::new(Latency::new(models.clone())?))?;
        registry.register(Box::new(ProcessCollector::for_self()))?;
        let connections = ConnectionMetrics::new()?;
        connections.register(&registry)?;
        let Counters { feedback_events, refusals, .. } = counters;
        Ok(Self { registry, models, feedback_events, refusals, connections })
    }

    /// The text format of Prometheus.
    pub fn render(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    /// Metrics of one model, where it is configured.
    pub(crate) fn model(&self, name: &str) -> Option<Arc<RankMetrics>> {
        self.models.get(name).cloned()
    }

    /// Metrics of connections.
    pub(crate) fn connections(&self) -> &ConnectionMetrics {
        &self.connections
    }

    /// Counts a request that was turned away.
    pub(crate) fn refused(&self, refusal: Refusal) {
        self.refusals.with_label_values(&[refusal.label()]).inc();
    }
}

impl RankMetrics {
    /// Counts an answered request.
    pub(crate) fn answered(&self, now: Instant, took: Duration) {
        self.requests.inc();
        self.latency.observe(now, took);
    }

    /// Counts an answer in the incoming order.
    pub(crate) fn fell_back(&self, reason: FallbackReason) {
        match reason {
            FallbackReason::Untrained => self.untrained.inc(),
            FallbackReason::Store => self.store.inc(),
        }
    }
}

impl Refusal {
    fn label(self) -> &'static str {
        match self {
            Self::Overload => "overload",
            Self::Size => "size",
            Self::Time => "time",
            Self::Fault => "fault",
        }
    }
}

struct Counters {
    requests: IntCounterVec,
    fallbacks: IntCounterVec,
    refusals: IntCounterVec,
    feedback_events: IntCounter,
}

impl Counters {
    fn registered(registry: &Registry) -> Result<Self, prometheus::Error> {
        let vector = |name: &str, help: &str, labels: &[&str]| {
            let counter = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(counter.clone())).map(|()| counter)
        };
        let feedback_events = IntCounter::new("service_feedback_events_total", "Events accepted by POST /feedback.")?;
        registry.register(Box::new(feedback_events.clone()))?;
        let refusals = vector("service_refused_requests_total", "Requests turned away, by reason.", &["reason"])?;
        for refusal in [Refusal::Overload, Refusal::Size, Refusal::Time, Refusal::Fault] {
            refusals.with_label_values(&[refusal.label()]);
        }
        Ok(Self {
            requests: vector("service_rank_requests_total", "Rank requests answered.", &["model"])?,
            fallbacks: vector(
                "service_rank_fallbacks_total",
                "Rank requests answered in their incoming order, by reason.",
                &["model", "reason"],
            )?,
            refusals,
            feedback_events,
        })
    }

    fn of(&self, model: &str) -> Arc<RankMetrics> {
        Arc::new(RankMetrics {
            requests: self.requests.with_label_values(&[model]),
            latency: Summary::new(Instant::now()),
            untrained: self.fallbacks.with_label_values(&[model, "untrained"]),
            store: self.fallbacks.with_label_values(&[model, "store"]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_shown_as_summaries_with_six_quantiles() {
        let metrics = Metrics::new(["shop"], Registry::new()).expect("metrics");
        let shop = metrics.model("shop").expect("a configured model");
        shop.answered(Instant::now(), Duration::from_millis(2));
        let text = metrics.render().expect("text");
        assert!(text.contains("# TYPE service_rank_latency_seconds summary"), "{text}");
        for quantile in ["0.5", "0.8", "0.9", "0.95", "0.98", "0.99"] {
            let line = format!("service_rank_latency_seconds{{model=\"shop\",quantile=\"{quantile}\"}} 0.002");
            assert!(text.contains(&line), "{line} in {text}");
        }
        assert!(text.contains("service_rank_latency_seconds_count{model=\"shop\"} 1"), "{text}");
        assert!(text.contains("service_rank_latency_seconds_sum{model=\"shop\"} 0.002"), "{text}");
        assert!(text.contains("service_rank_requests_total{model=\"shop\"} 1"), "{text}");
    }

    #[test]
    fn metrics_are_listed_for_alerts_and_dashboards() {
        let registry = Registry::new();
        Metrics::new(["shop"], registry.clone()).expect("metrics");
        crate::listed::assert_listed("serve/metrics", &registry);
    }

    #[test]
    fn the_process_is_described_too() {
        let text = Metrics::new([], Registry::new()).and_then(|metrics| metrics.render()).expect("text");
        assert!(text.contains("process_resident_memory_bytes"), "{text}");
        assert!(text.contains("service_feedback_events_total 0"), "{text}");
    }
}
