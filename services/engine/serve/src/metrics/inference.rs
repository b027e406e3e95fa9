//! What language models do by themselves.

use super::latency::Latency;
use super::summary::Summary;
use super::vector;
use prometheus::{IntCounter, Registry};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Metrics of one language model.
pub(crate) struct InferenceMetrics {
    requests: IntCounter,
    texts: IntCounter,
    latency: Arc<Summary>,
    failures: [IntCounter; InferenceFailure::ALL.len()],
}

/// Why a request was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InferenceFailure {
    /// Too much waited already.
    Busy,
    /// The request's time was over.
    Time,
    /// The model failed.
    Fault,
}

impl InferenceFailure {
    const ALL: [Self; 3] = [Self::Busy, Self::Time, Self::Fault];

    fn label(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Time => "time",
            Self::Fault => "fault",
        }
    }
}

impl InferenceMetrics {
    /// Those of models of these names.
    pub(super) fn registered<'a>(
        names: impl Iterator<Item = &'a str>,
        registry: &Registry,
    ) -> Result<BTreeMap<String, Arc<Self>>, prometheus::Error> {
        let counter =
            |name: &str, help, labels| vector(registry, &format!("service_inference_{name}_total"), help, labels);
        let requests = counter("requests", "Inference requests answered.", &["model"][..])?;
        let texts = counter("texts", "Texts, or pairs of texts, that inference was asked for.", &["model"])?;
        let failures =
            counter("failures", "Inference requests that the model did not answer, by reason.", &["model", "reason"])?;
        let of = |name: &str| Self {
            requests: requests.with_label_values(&[name]),
            texts: texts.with_label_values(&[name]),
            latency: Arc::new(Summary::new(Instant::now())),
            failures: InferenceFailure::ALL.map(|failure| failures.with_label_values(&[name, failure.label()])),
        };
        let models: BTreeMap<_, _> = names.map(|name| (name.to_owned(), Arc::new(of(name)))).collect();
        let latencies = models.iter().map(|(name, model)| (name.clone(), model.latency.clone())).collect();
        registry.register(Box::new(Latency::new("inference", latencies)?))?;
        Ok(models)
    }

    /// Counts texts that are to be computed.
    pub(crate) fn asked(&self, texts: usize) {
        self.texts.inc_by(texts as u64);
    }

    /// Counts an answered request.
    pub(crate) fn answered(&self, now: Instant, took: Duration) {
        self.requests.inc();
        self.latency.observe(now, took);
    }

    /// Counts a request that the model did not answer.
    pub(crate) fn failed(&self, failure: InferenceFailure) {
        self.failures[failure as usize].inc();
    }
}
