//! What the operator measures of itself.

use crate::Error;
use crate::controller::Guarded;
use kube::runtime::reflector::Store;
use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What the operator measures of itself.
pub struct Metrics {
    registry: Registry,
    durations: Histogram,
    errors: IntCounterVec,
    unreadable: IntCounter,
    resources: IntGaugeVec,
    store: Mutex<Option<Store<Guarded>>>,
}

impl Metrics {
    /// With everything at nought.
    ///
    /// # Errors
    /// When a name is given twice.
    pub fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let durations = Histogram::with_opts(HistogramOpts::new(
            "rankwright_operator_reconcile_duration_seconds",
            "Time that reconciling one RankingService took",
        ))?;
        let errors = IntCounterVec::new(
            Opts::new("rankwright_operator_reconcile_errors_total", "Reconciliations that did not succeed, by reason"),
            &["reason"],
        )?;
        let unreadable = IntCounter::new(
            "rankwright_operator_unreadable_resources_total",
            "How often a RankingService was seen that does not fit the operator's version",
        )?;
        let resources = IntGaugeVec::new(
            Opts::new("rankwright_operator_resources", "RankingServices by condition and its status"),
            &["condition", "status"],
        )?;
        registry.register(Box::new(durations.clone()))?;
        registry.register(Box::new(errors.clone()))?;
        registry.register(Box::new(unreadable.clone()))?;
        registry.register(Box::new(resources.clone()))?;
        #[cfg(target_os = "linux")]
        registry.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;
        Ok(Self { registry, durations, errors, unreadable, resources, store: Mutex::default() })
    }

    /// A reconciliation has ended.
    pub fn reconciled(&self, elapsed: Duration, error: Option<&Error>) {
        self.durations.observe(elapsed.as_secs_f64());
        if let Some(error) = error {
            self.errors.with_label_values(&[error.reason()]).inc();
        }
    }

    /// A resource could not be read.
    pub fn unreadable(&self) {
        self.unreadable.inc();
    }

    /// Counts the resources of this store from now on.
    pub fn describe(&self, store: Store<Guarded>) {
        *self.store.lock().unwrap_or_else(PoisonError::into_inner) = Some(store);
    }

    /// All of it in the text format of Prometheus.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn render(&self) -> prometheus::Result<String> {
        self.count();
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    fn count(&self) {
        self.resources.reset();
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for service in store.iter().flat_map(Store::state) {
            let Ok(service) = &service.0 else { continue };
            for condition in service.status.iter().flat_map(|status| &status.conditions) {
                self.resources.with_label_values(&[&condition.type_, &condition.status]).inc();
            }
        }
    }
}
