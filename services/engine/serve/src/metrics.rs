//! What `GET /metrics` shows.
//!
//! Only configured names become label values, so that clients cannot fill the memory by asking for models that are not
//! there. Series of all models exist from the start, at 0: a rate over them needs no special case.

mod connections;
mod inference;
mod latency;
pub mod summary;

pub(crate) use connections::Closed;
pub use connections::ConnectionMetrics;
pub(crate) use inference::{InferenceFailure, InferenceMetrics};
use latency::Latency;
use prometheus::process_collector::ProcessCollector;
use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder};
use rankwright_config as config;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use summary::Summary;

/// Why a model did not answer itself: rankings keep their incoming order then, and another recommender takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FallbackReason {
    /// There is no version of the model, or it has learned nothing.
    Untrained,
    /// The state store does not answer.
    Store,
    /// A recommender knows none of the items, or is given none.
    Unknown,
    /// A recommender has fewer items than were asked for.
    Few,
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
    models: BTreeMap<String, Arc<ModelMetrics>>,
    inference: BTreeMap<String, Arc<InferenceMetrics>>,
    /// Events accepted by `POST /feedback`.
    pub(crate) feedback_events: IntCounter,
    refusals: IntCounterVec,
    running: IntGauge,
    connections: ConnectionMetrics,
}

/// Metrics of one model.
pub(crate) struct ModelMetrics {
    requests: IntCounter,
    latency: Arc<Summary>,
    /// By the reasons that its verb has.
    fallbacks: Vec<(FallbackReason, IntCounter)>,
    absent: IntCounter,
    /// Whether a version answers.
    pub(crate) loaded: IntGauge,
    /// Whether that version is in memory alone.
    pub(crate) lost: IntGauge,
}

impl Metrics {
    /// Metrics of these models, of language models of these names, and of the process, in a registry to which others may
    /// add theirs.
    pub fn new<'a>(
        models: &BTreeMap<String, config::Model>,
        inference: impl Iterator<Item = &'a str>,
        registry: Registry,
    ) -> Result<Self, prometheus::Error> {
        let counters = Counters::registered(&registry)?;
        let mut all = BTreeMap::new();
        let served = Served::registered(&registry)?;
        for verb in [&RANK, &RECOMMEND] {
            let of_verb = models.iter().filter(|(_, model)| model.recommends() == verb.recommends);
            let answers = Answers::registered(verb, &registry)?;
            let models: BTreeMap<_, _> = of_verb.map(|(name, _)| (name.clone(), answers.of(name, &served))).collect();
            let latencies = models.iter().map(|(name, model)| (name.clone(), model.latency.clone())).collect();
            registry.register(Box::new(Latency::new(verb.name, latencies)?))?;
            all.extend(models);
        }
        let models = all;
        let inference = InferenceMetrics::registered(inference, &registry)?;
        registry.register(Box::new(ProcessCollector::for_self()))?;
        let connections = ConnectionMetrics::new()?;
        connections.register(&registry)?;
        let Counters { feedback_events, refusals, running } = counters;
        Ok(Self { registry, models, inference, feedback_events, refusals, running, connections })
    }

    /// The text format of Prometheus.
    pub fn render(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    /// Metrics of one model, where it is configured.
    pub(crate) fn model(&self, name: &str) -> Option<Arc<ModelMetrics>> {
        self.models.get(name).cloned()
    }

    /// Metrics of one language model, where it is served.
    pub(crate) fn inference(&self, name: &str) -> Option<Arc<InferenceMetrics>> {
        self.inference.get(name).cloned()
    }

    /// Metrics of connections.
    pub(crate) fn connections(&self) -> &ConnectionMetrics {
        &self.connections
    }

    /// Requests that are worked on.
    pub(crate) fn running(&self) -> &IntGauge {
        &self.running
    }

    /// Counts a request that was turned away.
    pub(crate) fn refused(&self, refusal: Refusal) {
        self.refusals.with_label_values(&[refusal.label()]).inc();
    }
}

impl ModelMetrics {
    /// Counts an answered request.
    pub(crate) fn answered(&self, now: Instant, took: Duration) {
        self.requests.inc();
        self.latency.observe(now, took);
    }

    /// Counts texts whose values were missing in a ranking, as no model computed them in time.
    pub(crate) fn lacked(&self, texts: usize) {
        self.absent.inc_by(texts as u64);
    }

    /// Counts an answer in the incoming order.
    pub(crate) fn fell_back(&self, reason: FallbackReason) {
        self.fallbacks.iter().filter(|(of, _)| *of == reason).for_each(|(_, count)| count.inc());
    }
}

impl FallbackReason {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Untrained => "untrained",
            Self::Store => "store",
            Self::Unknown => "unknown",
            Self::Few => "few",
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

/// What models do, as metrics name it.
struct Verb {
    recommends: bool,
    name: &'static str,
    fallback: &'static str,
    reasons: &'static [FallbackReason],
}

const RANK: Verb = Verb {
    recommends: false,
    name: "rank",
    fallback: "Rank requests answered in their incoming order, by reason.",
    reasons: &[FallbackReason::Untrained, FallbackReason::Store],
};
const RECOMMEND: Verb = Verb {
    recommends: true,
    name: "recommend",
    fallback: "Recommend requests answered without the model, with fewer items than wanted, or without what the state knows, by reason.",
    reasons: &[FallbackReason::Untrained, FallbackReason::Unknown, FallbackReason::Few, FallbackReason::Store],
};

/// How often models of a verb answered.
struct Answers {
    requests: IntCounterVec,
    fallbacks: IntCounterVec,
    reasons: &'static [FallbackReason],
    absent: IntCounterVec,
}

impl Answers {
    fn registered(verb: &Verb, registry: &Registry) -> Result<Self, prometheus::Error> {
        let (name, mut title) = (verb.name, verb.name.to_owned());
        title[..1].make_ascii_uppercase();
        let requests = format!("service_{name}_requests_total");
        let fallbacks = format!("service_{name}_fallbacks_total");
        Ok(Self {
            requests: vector(registry, &requests, &format!("{title} requests answered."), &["model"])?,
            absent: absent(verb, registry)?,
            fallbacks: vector(registry, &fallbacks, verb.fallback, &["model", "reason"])?,
            reasons: verb.reasons,
        })
    }

    fn of(&self, model: &str, served: &Served) -> Arc<ModelMetrics> {
        let counter = |&reason: &FallbackReason| (reason, self.fallbacks.with_label_values(&[model, reason.label()]));
        Arc::new(ModelMetrics {
            requests: self.requests.with_label_values(&[model]),
            latency: Arc::new(Summary::new(Instant::now())),
            fallbacks: self.reasons.iter().map(counter).collect(),
            absent: self.absent.with_label_values(&[model]),
            loaded: served.loaded.with_label_values(&[model]),
            lost: served.lost.with_label_values(&[model]),
        })
    }
}

/// Whether models have a version that answers.
struct Served {
    loaded: IntGaugeVec,
    lost: IntGaugeVec,
}

impl Served {
    fn registered(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name: &str, help: &str| {
            let gauge = IntGaugeVec::new(Opts::new(name, help), &["model"])?;
            registry.register(Box::new(gauge.clone())).map(|()| gauge)
        };
        Ok(Self {
            loaded: gauge("service_model_loaded", "1 where a version of the model answers, 0 else.")?,
            lost: gauge(
                "service_model_lost",
                "1 where a version answers and the store of versions has none left, 0 else.",
            )?,
        })
    }
}

/// Texts that were not computed in time; recommenders have none.
fn absent(verb: &Verb, registry: &Registry) -> Result<IntCounterVec, prometheus::Error> {
    let (name, labels) = ("service_rank_missing_texts_total", &["model"]);
    let help = "Texts, and pairs of texts, that no model of texts computed in time for a rank request.";
    if verb.recommends {
        IntCounterVec::new(Opts::new(name, help), labels)
    } else {
        vector(registry, name, help, labels)
    }
}

fn vector(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, prometheus::Error> {
    let counter = IntCounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(counter.clone())).map(|()| counter)
}

struct Counters {
    refusals: IntCounterVec,
    feedback_events: IntCounter,
    running: IntGauge,
}

impl Counters {
    fn registered(registry: &Registry) -> Result<Self, prometheus::Error> {
        let feedback_events = IntCounter::new("service_feedback_events_total", "Events accepted by POST /feedback.")?;
        registry.register(Box::new(feedback_events.clone()))?;
        let refusals =
            vector(registry, "service_refused_requests_total", "Requests turned away, by reason.", &["reason"])?;
        for refusal in [Refusal::Overload, Refusal::Size, Refusal::Time, Refusal::Fault] {
            refusals.with_label_values(&[refusal.label()]);
        }
        let help = "Requests that are worked on: api.limits.maxConcurrentRequests at most.";
        let running = IntGauge::new("service_running_requests", help)?;
        registry.register(Box::new(running.clone()))?;
        Ok(Self { refusals, feedback_events, running })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shop() -> BTreeMap<String, config::Model> {
        let text = "models: {shop: {type: noop}, similar: {type: als, interactions: [click]}}";
        config::Config::parse(text, "test").expect("a configuration").0.models
    }

    #[test]
    fn latencies_are_shown_as_summaries_with_six_quantiles() {
        let metrics = Metrics::new(&shop(), std::iter::empty(), Registry::new()).expect("metrics");
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
        assert!(text.contains("service_recommend_requests_total{model=\"similar\"} 0"), "{text}");
        assert!(!text.contains("service_rank_requests_total{model=\"similar\"}"), "{text}");
    }

    #[test]
    fn metrics_are_listed_for_alerts_and_dashboards() {
        let registry = Registry::new();
        Metrics::new(&shop(), ["words"].into_iter(), registry.clone()).expect("metrics");
        crate::listed::assert_listed("serve/metrics", &registry);
    }

    #[test]
    fn the_process_is_described_too() {
        let text = Metrics::new(&BTreeMap::new(), std::iter::empty(), Registry::new())
            .and_then(|metrics| metrics.render())
            .expect("text");
        assert!(text.contains("process_resident_memory_bytes"), "{text}");
        assert!(text.contains("service_feedback_events_total 0"), "{text}");
    }
}
