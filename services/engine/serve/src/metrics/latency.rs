//! Latencies as the metrics page shows them.

use super::summary::{QUANTILES, Summary};
use prometheus::core::{Collector, Desc};
use prometheus::proto::{LabelPair, Metric, MetricFamily, MetricType, Quantile};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

/// Shows the latencies of all models that do the same as one family of summaries.
pub(super) struct Latency {
    desc: Desc,
    models: BTreeMap<String, Arc<Summary>>,
}

impl Latency {
    pub(super) fn new(verb: &str, models: BTreeMap<String, Arc<Summary>>) -> Result<Self, prometheus::Error> {
        let help = format!("Time from the arrival of a request's head to its answer, {verb} requests.");
        let name = format!("service_{verb}_latency_seconds");
        let desc = Desc::new(name, help, vec!["model".into()], HashMap::new())?;
        Ok(Self { desc, models })
    }

    fn metric(name: &str, summary: &Summary) -> Metric {
        let shown = summary.show(Instant::now());
        let quantiles = QUANTILES.iter().zip(shown.quantiles).map(|(quantile, value)| {
            let mut entry = Quantile::default();
            entry.set_quantile(*quantile);
            entry.set_value(value);
            entry
        });
        let mut summary = prometheus::proto::Summary::default();
        summary.set_quantile(quantiles.collect());
        summary.set_sample_count(shown.count);
        summary.set_sample_sum(shown.sum);
        let mut label = LabelPair::default();
        label.set_name("model".into());
        label.set_value(name.into());
        let mut metric = Metric::default();
        metric.set_label(vec![label]);
        metric.set_summary(summary);
        metric
    }
}

impl Collector for Latency {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.desc]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut family = MetricFamily::default();
        family.set_name(self.desc.fq_name.clone());
        family.set_help(self.desc.help.clone());
        family.set_field_type(MetricType::SUMMARY);
        family.set_metric(self.models.iter().map(|(name, latency)| Self::metric(name, latency)).collect());
        vec![family]
    }
}
