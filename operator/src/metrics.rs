//! What the operator measures of itself.

use crate::Error;
use crate::controller::Guarded;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::runtime::reflector::Store;
use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder};
use rankwright_crds::RankingService;
use rankwright_crds::status::RankingServiceStatus;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What the operator measures of itself.
pub struct Metrics {
    registry: Registry,
    durations: Histogram,
    errors: IntCounterVec,
    unreadable: IntCounter,
    resources: IntGaugeVec,
    ready: IntGaugeVec,
    trainings: IntGaugeVec,
    trained: IntGaugeVec,
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
        // "namespace" would be the operator's own, where Prometheus adds labels of the target
        let of_services = |name: &str, help: &str, label: Option<&str>| {
            let labels: Vec<&str> = ["rankingservice_namespace", "rankingservice"].into_iter().chain(label).collect();
            let gauge = IntGaugeVec::new(Opts::new(name, help), &labels)?;
            registry.register(Box::new(gauge.clone())).map(|()| gauge)
        };
        let ready = of_services("rankwright_operator_service_ready", "1 where the condition Ready is True, 0 else", None)?;
        let trainings = of_services(
            "rankwright_operator_service_training_timestamp_seconds",
            "When the last training ended, by its outcome",
            Some("outcome"),
        )?;
        let trained = of_services(
            "rankwright_operator_model_trained_timestamp_seconds",
            "When the version that is served was trained, of models that are trained by schedule and not pinned",
            Some("model"),
        )?;
        registry.register(Box::new(durations.clone()))?;
        registry.register(Box::new(errors.clone()))?;
        registry.register(Box::new(unreadable.clone()))?;
        registry.register(Box::new(resources.clone()))?;
        #[cfg(target_os = "linux")]
        registry.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;
        Ok(Self { registry, durations, errors, unreadable, resources, ready, trainings, trained, store: Mutex::default() })
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
        for gauge in [&self.resources, &self.ready, &self.trainings, &self.trained] {
            gauge.reset();
        }
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for service in store.iter().flat_map(Store::state) {
            let Ok(service) = &service.0 else { continue };
            self.note(service);
        }
    }

    fn note(&self, service: &RankingService) {
        let Some(status) = &service.status else { return };
        for condition in &status.conditions {
            self.resources.with_label_values(&[&condition.type_, &condition.status]).inc();
        }
        let (namespace, name) = (service.namespace().unwrap_or_default(), service.name_any());
        let ready = status.conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
        self.ready.with_label_values(&[&namespace, &name]).set(ready.into());
        if let Some((outcome, at)) = last_training(status) {
            self.trainings.with_label_values(&[&namespace, &name, outcome]).set(at.as_second());
        }
        for (model, at) in trained_by_schedule(service, status) {
            self.trained.with_label_values(&[&namespace, &name, model]).set(at.as_second());
        }
    }
}

fn last_training(status: &RankingServiceStatus) -> Option<(&str, Timestamp)> {
    let training = status.training.as_ref()?;
    Some((&training.outcome, training.finished_at.as_ref()?.0))
}

/// Models that a schedule is to keep young, with the time at which what they serve was trained.
fn trained_by_schedule<'a>(
    service: &RankingService,
    status: &'a RankingServiceStatus,
) -> impl Iterator<Item = (&'a str, Timestamp)> {
    let training = service.spec.training.as_ref().filter(|training| !training.suspend);
    let meant = move |name: &String| {
        training.is_some_and(|training| training.models.is_empty() || training.models.contains(name))
    };
    status.models.iter().filter(move |model| model.pinned.is_none() && meant(&model.name)).filter_map(|model| {
        let at = model.trained_at.as_ref()?.parse().ok()?;
        Some((model.name.as_str(), at))
    })
}

#[cfg(test)]
mod tests;
