//! What text models of this process remember, and what waits for them, as metrics.

use crate::encoders::Encoders;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};
use rankwright_encoder::{Encoder, Task};
use rankwright_serve::Status;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Asks the models each time that the metrics are read. A model that is opened twice counts as one.
struct TextModels {
    models: Vec<(String, Arc<Encoder>)>,
    metrics: Metrics,
    /// One reader at a time.
    reading: Mutex<()>,
}

struct Metrics {
    hits: IntCounterVec,
    misses: IntCounterVec,
    failures: IntCounterVec,
    waiting: IntGaugeVec,
}

/// Text models by their handles.
pub(crate) struct Opened(Vec<(String, Arc<Encoder>)>);

impl Opened {
    /// The models of features, and those that are served; `None` where there are none.
    pub(crate) fn of(all: &[&Encoders]) -> Option<Self> {
        let models: Vec<_> = all.iter().flat_map(|encoders| encoders.all()).collect();
        (!models.is_empty()).then_some(Self(models))
    }

    /// Registers their metrics.
    pub(crate) fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        let models = self.0.clone();
        registry.register(Box::new(TextModels { models, metrics: Metrics::new()?, reading: Mutex::default() }))
    }
}

impl Status for Opened {
    fn status(&self) -> Value {
        let told = |(handle, encoder): &(String, Arc<Encoder>)| {
            let told = match encoder.task() {
                Task::Embed => json!({ "type": "bi-encoder", "dim": encoder.dim() }),
                Task::Score => json!({ "type": "cross-encoder" }),
            };
            (handle.clone(), told)
        };
        Value::Object(self.0.iter().map(told).collect())
    }
}

impl Metrics {
    fn new() -> Result<Self, prometheus::Error> {
        let counter = |name: &str, help: &str| {
            IntCounterVec::new(Opts::new(format!("service_text_model_{name}"), help), &["model"])
        };
        let waiting = "Batches of texts that wait for a thread of the model.";
        Ok(Self {
            hits: counter("cache_hits_total", "Texts, and pairs of texts, whose result was in memory.")?,
            misses: counter("cache_misses_total", "Texts, and pairs of texts, that had to be computed.")?,
            failures: counter("failures_total", "Calls of the model that failed, for other reasons than time.")?,
            waiting: IntGaugeVec::new(Opts::new("service_text_model_waiting_batches", waiting), &["model"])?,
        })
    }

    fn note(&self, model: &str, (hits, misses): (u64, u64), failures: u64, waiting: usize) {
        self.hits.with_label_values(&[model]).inc_by(hits);
        self.misses.with_label_values(&[model]).inc_by(misses);
        self.failures.with_label_values(&[model]).inc_by(failures);
        self.waiting.with_label_values(&[model]).add(i64::try_from(waiting).unwrap_or(i64::MAX));
    }

    fn desc(&self) -> Vec<&Desc> {
        [self.hits.desc(), self.misses.desc(), self.failures.desc(), self.waiting.desc()].concat()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        [self.hits.collect(), self.misses.collect(), self.failures.collect(), self.waiting.collect()].concat()
    }

    fn reset(&self) {
        self.hits.reset();
        self.misses.reset();
        self.failures.reset();
        self.waiting.reset();
    }
}

impl Collector for TextModels {
    fn desc(&self) -> Vec<&Desc> {
        self.metrics.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let _alone = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        self.metrics.reset();
        for (model, encoder) in &self.models {
            self.metrics.note(model, encoder.hits_and_misses(), encoder.failures(), encoder.waiting());
        }
        self.metrics.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_is_opened_twice_counts_as_one() {
        let metrics = Metrics::new().expect("valid names");
        for _ in 0..2 {
            metrics.reset();
            metrics.note("a/b", (7, 1), 2, 0);
            metrics.note("a/b", (2, 3), 1, 4);
            let families = metrics.collect();
            let page = prometheus::TextEncoder::new().encode_to_string(&families).expect("text");
            for line in [
                "service_text_model_cache_hits_total{model=\"a/b\"} 9\n",
                "service_text_model_cache_misses_total{model=\"a/b\"} 4\n",
                "service_text_model_failures_total{model=\"a/b\"} 3\n",
                "service_text_model_waiting_batches{model=\"a/b\"} 4\n",
            ] {
                assert!(page.contains(line), "{line} in {page}");
            }
        }
    }

    #[test]
    fn metrics_are_listed_for_alerts_and_dashboards() {
        let (registry, metrics) = (Registry::new(), Metrics::new().expect("valid names"));
        registry.register(Box::new(metrics.hits.clone())).expect("new names");
        registry.register(Box::new(metrics.misses.clone())).expect("new names");
        registry.register(Box::new(metrics.failures.clone())).expect("new names");
        registry.register(Box::new(metrics.waiting.clone())).expect("new names");
        metrics.note("a/b", (1, 1), 1, 1);
        crate::listed::assert_listed("assembly/text_models", &registry);
    }
}
