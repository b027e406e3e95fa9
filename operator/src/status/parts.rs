//! Rank servers, ingest workers and the import.

use super::{Facts, SCALER_PATIENCE};
use crate::labels::Component;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use rankwright_crds::status::{ImportPhase, ImportStatus, RankStatus, WorkloadStatus};

/// Wanted, there and ready, of a Deployment.
pub(super) fn counts(deployment: &Deployment) -> (i32, i32, i32) {
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let status = deployment.status.as_ref();
    let there = status.and_then(|status| status.replicas).unwrap_or(0);
    let ready = status.and_then(|status| status.ready_replicas).unwrap_or(0);
    (wanted, there, ready)
}

/// The rank servers. While the resource is refused, those that are there are reported.
pub(super) fn rank(facts: &Facts<'_>, before: Option<RankStatus>) -> Option<RankStatus> {
    let is_new = before.is_none();
    let former = before.as_ref().and_then(|before| before.image.clone());
    let before = match (facts.plan, before) {
        (Some(plan), _) => {
            RankStatus { selector: plan.rank_selector(), endpoint: plan.endpoint(), ..RankStatus::default() }
        }
        (None, before) => before?,
    };
    let there = counted(facts.workloads.rank.as_ref(), is_new)?;
    let rolled = facts.workloads.rank.as_ref().and_then(crate::resolve::rolled_out);
    let image = rolled.filter(|rollout| rollout.complete).map(|rollout| rollout.image).or(former);
    let WorkloadStatus { replicas, ready_replicas, ready } = there;
    Some(RankStatus { replicas, ready_replicas, ready, image, ..before })
}

pub(super) fn ingest(facts: &Facts<'_>, before: Option<WorkloadStatus>) -> Option<WorkloadStatus> {
    counted(facts.workloads.ingest.as_ref(), before.is_none())
}

/// What an autoscaler says that has no figures to decide by, and that for a while.
pub(super) fn blind(scaler: &HorizontalPodAutoscaler, now: Timestamp) -> Option<String> {
    let mut conditions = scaler.status.as_ref()?.conditions.iter().flatten();
    let inactive = conditions.find(|condition| condition.type_ == "ScalingActive" && condition.status == "False")?;
    // the workload was scaled to none by hand, which the autoscaler leaves alone
    let wanted = inactive.reason.as_deref() != Some("ScalingDisabled");
    let lasts = now.duration_since(inactive.last_transition_time.as_ref()?.0) >= SCALER_PATIENCE;
    let why = inactive.message.as_deref().unwrap_or("no reason given");
    (wanted && lasts).then(|| format!("rank.autoscaling: the number of rank servers stays as it is: {why}"))
}

/// How many there are of a part; nothing of one that is not there and that no status has reported.
fn counted(deployment: Option<&Deployment>, is_new: bool) -> Option<WorkloadStatus> {
    let (wanted, there, ready) = match deployment {
        Some(deployment) => counts(deployment),
        None if is_new => return None,
        None => (0, 0, 0),
    };
    Some(WorkloadStatus { replicas: there, ready_replicas: ready, ready: format!("{ready}/{wanted}") })
}

/// The import that the resource asks for. One that has ended stays so when its Job is cleared away.
pub(super) fn import(facts: &Facts<'_>, before: Option<&ImportStatus>) -> Option<ImportStatus> {
    facts.service.spec.import.as_ref()?;
    let wanted = facts.plan.and_then(|plan| plan.import_digest());
    // while the resource is refused, it is the one of the last status
    let digest = wanted.or_else(|| before.map(|before| before.digest.clone()))?;
    let before = before.filter(|before| before.digest == digest);
    let Some(job) = &facts.workloads.import else {
        // it was not looked at where something was refused
        let is_done = |phase| matches!(phase, ImportPhase::Complete | ImportPhase::Lost);
        let is_known = |before: &&ImportStatus| is_done(before.phase) || facts.applied.is_none();
        let done = before.filter(is_known).cloned();
        return done.or_else(|| Some(ImportStatus { digest, ..ImportStatus::default() }));
    };
    let status = job.status.clone().unwrap_or_default();
    let trouble = facts.observed.trouble(Component::Import);
    let (phase, message) = phase(job, trouble.map(|trouble| trouble.text.as_str()));
    Some(ImportStatus {
        digest,
        state: before.and_then(|before| before.state.clone()),
        phase,
        job: job.name_any(),
        started_at: status.start_time,
        finished_at: ended_at(job),
        message,
    })
}

fn phase(job: &Job, trouble: Option<&str>) -> (ImportPhase, Option<String>) {
    match (condition(job, "Complete"), condition(job, "Failed")) {
        (Some(_), _) => (ImportPhase::Complete, None),
        (None, Some(message)) => {
            let why = trouble.map_or(message.clone(), |trouble| format!("{message} ({trouble})"));
            let again = "the old state stays live; delete the Job, or raise import.attempt, to try again";
            (ImportPhase::Failed, Some(format!("{why}: {again}")))
        }
        (None, None) => (ImportPhase::Running, trouble.map(str::to_owned)),
    }
}

/// The message of a condition of a Job that holds.
pub(crate) fn condition(job: &Job, kind: &str) -> Option<String> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let holds = conditions.iter().find(|condition| condition.type_ == kind && condition.status == "True")?;
    Some(holds.message.clone().unwrap_or_else(|| kind.to_owned()))
}

/// When a Job ended.
pub(crate) fn ended_at(job: &Job) -> Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let ended = |kind: &str| conditions.iter().find(|condition| condition.type_ == kind && condition.status == "True");
    ended("Complete").or_else(|| ended("Failed"))?.last_transition_time.clone()
}
