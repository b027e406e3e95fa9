//! How many spans are on their way, and what became of the others.

use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};

/// Counts spans.
#[derive(Clone)]
pub struct Metrics {
    /// Spans that the collector took.
    pub exported: IntCounter,
    lost: IntCounterVec,
    /// Spans in the queue.
    pub(crate) waiting: IntGauge,
}

/// Why spans did not get to the collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// Too many waited.
    Full,
    /// The collector does not want them.
    Refused,
}

impl Dropped {
    fn label(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Refused => "refused",
        }
    }
}

impl Metrics {
    /// All of them at 0.
    ///
    /// # Errors
    /// Never, as their names are valid.
    pub fn new() -> Result<Self, prometheus::Error> {
        let exported = IntCounter::new("service_trace_exported_spans_total", "Spans that the collector took.")?;
        let help = "Spans that did not get to the collector: the queue was full, or the collector refused them.";
        let lost = IntCounterVec::new(Opts::new("service_trace_dropped_spans_total", help), &["reason"])?;
        for reason in [Dropped::Full, Dropped::Refused] {
            lost.with_label_values(&[reason.label()]);
        }
        let waiting = IntGauge::new("service_trace_waiting_spans", "Spans that wait to be sent to the collector.")?;
        Ok(Self { exported, lost, waiting })
    }

    /// Shows them.
    ///
    /// # Errors
    /// When the registry has others of these names.
    pub fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        registry.register(Box::new(self.exported.clone()))?;
        registry.register(Box::new(self.lost.clone()))?;
        registry.register(Box::new(self.waiting.clone()))
    }

    /// Counts spans that do not get there.
    pub fn dropped(&self, spans: u64, reason: Dropped) {
        self.lost.with_label_values(&[reason.label()]).inc_by(spans);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_listed() {
        let registry = Registry::new();
        Metrics::new().and_then(|metrics| metrics.register(&registry)).expect("their names are valid");
        crate::listed::assert_listed("trace", &registry);
    }
}
