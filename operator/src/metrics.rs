//! What the operator measures of itself.

mod services;

use crate::Error;
use crate::controller::Guarded;
use kube::runtime::reflector::Store;
use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, Opts, Registry, TextEncoder};
use services::Services;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What the operator measures of itself.
pub struct Metrics {
    registry: Registry,
    durations: Histogram,
    errors: IntCounterVec,
    unreadable: IntCounter,
    services: Services,
    /// The resources, by the namespace that is looked at.
    stores: Mutex<BTreeMap<String, Store<Guarded>>>,
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
        registry.register(Box::new(durations.clone()))?;
        registry.register(Box::new(errors.clone()))?;
        registry.register(Box::new(unreadable.clone()))?;
        let services = Services::registered(&registry)?;
        #[cfg(target_os = "linux")]
        registry.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;
        Ok(Self { registry, durations, errors, unreadable, services, stores: Mutex::default() })
    }

    /// A reconciliation has ended.
    pub fn reconciled(&self, elapsed: Duration, error: Option<&Error>) {
        self.durations.observe(elapsed.as_secs_f64());
        if let Some(error) = error {
            self.failed(error);
        }
    }

    /// Something could not be done.
    pub fn failed(&self, error: &Error) {
        self.errors.with_label_values(&[error.reason()]).inc();
    }

    /// A resource could not be read.
    pub fn unreadable(&self) {
        self.unreadable.inc();
    }

    /// Counts the resources of this store from now on, those of a namespace or of all; no longer those of its previous store.
    pub fn describe(&self, namespace: &str, store: Store<Guarded>) {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner).insert(namespace.to_owned(), store);
    }

    /// All of it in the text format of Prometheus.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn render(&self) -> prometheus::Result<String> {
        // held until all is counted: another request meanwhile would count everything twice
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        self.count(stores.values());
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    fn count<'a>(&self, stores: impl Iterator<Item = &'a Store<Guarded>>) {
        self.services.reset();
        for service in stores.flat_map(Store::state) {
            match &service.0 {
                Ok(service) => self.services.note(service),
                Err(unreadable) => self.services.note_unreadable(&unreadable.metadata),
            }
        }
    }
}

#[cfg(test)]
mod tests;
