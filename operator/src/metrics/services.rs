//! How the RankingServices are that the operator looks after.

use crate::schedules;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::ObjectMeta;
use prometheus::{IntGaugeVec, Opts, Registry};
use rankwright_crds::RankingService;
use rankwright_crds::status::RankingServiceStatus;

/// Gauges that are set again for each request for metrics.
pub(super) struct Services {
    resources: IntGaugeVec,
    ready: IntGaugeVec,
    available: IntGaugeVec,
    stuck: IntGaugeVec,
    pub(super) lost: IntGaugeVec,
    pub(super) unpinned: IntGaugeVec,
    trainings: IntGaugeVec,
    trained: IntGaugeVec,
}

impl Services {
    pub(super) fn registered(registry: &Registry) -> prometheus::Result<Self> {
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            let gauge = IntGaugeVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(gauge.clone())).map(|()| gauge)
        };
        // "namespace" would be taken for the operator's own, which Prometheus adds
        let (namespace, name) = ("rankingservice_namespace", "rankingservice");
        Ok(Self {
            resources: gauge(
                "rankwright_operator_resources",
                "RankingServices by condition and its status",
                &["condition", "status"],
            )?,
            ready: gauge(
                "rankwright_operator_service_ready",
                "1 where the condition Ready is True, 0 else",
                &[namespace, name],
            )?,
            available: gauge(
                "rankwright_operator_service_available",
                "1 where the condition Available is True, 0 else",
                &[namespace, name],
            )?,
            stuck: gauge(
                "rankwright_operator_service_rollout_stuck",
                "1 where a rollout of rank servers or ingest workers has exceeded its progress deadline, 0 else",
                &[namespace, name],
            )?,
            lost: gauge(
                "rankwright_operator_service_state_lost",
                "1 where the condition StateIntact is False, 0 else",
                &[namespace, name],
            )?,
            unpinned: gauge(
                "rankwright_operator_service_pin_not_served",
                "1 where a version is pinned that rank servers do not serve, 0 else",
                &[namespace, name],
            )?,
            trainings: gauge(
                "rankwright_operator_service_training_timestamp_seconds",
                "When the last training ended, by its outcome",
                &[namespace, name, "outcome"],
            )?,
            trained: gauge(
                "rankwright_operator_model_trained_timestamp_seconds",
                "When the version that is served was trained, of models that are trained by schedule and not pinned",
                &[namespace, name, "model"],
            )?,
        })
    }

    pub(super) fn reset(&self) {
        let of_conditions = [&self.resources, &self.ready, &self.available, &self.stuck, &self.lost, &self.unpinned];
        for gauge in of_conditions.into_iter().chain([&self.trainings, &self.trained]) {
            gauge.reset();
        }
    }

    /// One that cannot be read: its condition is unknown.
    pub(super) fn note_unreadable(&self, resource: &ObjectMeta) {
        self.resources.with_label_values(&["Ready", "Unknown"]).inc();
        let (namespace, name) = (resource.namespace.as_deref(), resource.name.as_deref());
        self.ready.with_label_values(&[namespace.unwrap_or_default(), name.unwrap_or_default()]).set(0);
    }

    pub(super) fn note(&self, service: &RankingService) {
        let Some(status) = &service.status else { return };
        for condition in &status.conditions {
            self.resources.with_label_values(&[&condition.type_, &condition.status]).inc();
        }
        let (namespace, name) = (service.namespace().unwrap_or_default(), service.name_any());
        let says = |kind: &str, wanted: &str| {
            status.conditions.iter().any(|condition| condition.type_ == kind && condition.status == wanted)
        };
        let because = |reason: &str| status.conditions.iter().any(|condition| condition.reason == reason);
        let told = [
            (&self.ready, says("Ready", "True")),
            (&self.available, says("Available", "True")),
            (&self.stuck, because("RolloutStuck")),
            (&self.lost, says("StateIntact", "False")),
            (&self.unpinned, because("PinNotServed") || because("NoSuchVersion")),
        ];
        for (gauge, holds) in told {
            gauge.with_label_values(&[&namespace, &name]).set(holds.into());
        }
        if let Some((outcome, at)) = last_training(status).filter(|_| service.spec.training.is_some()) {
            self.trainings.with_label_values(&[namespace.as_str(), &name, outcome]).set(at.as_second());
        }
        for (model, at) in trained_by_schedule(service, status) {
            self.trained.with_label_values(&[namespace.as_str(), &name, model]).set(at.as_second());
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
    let training = service.spec.training.as_ref();
    let meant = move |name: &String| training.is_some_and(|training| schedules::trains(training, name));
    status.models.iter().filter(move |model| model.pinned.is_none() && meant(&model.name)).filter_map(|model| {
        let at = model.trained_at.as_ref()?.parse().ok()?;
        Some((model.name.as_str(), at))
    })
}
