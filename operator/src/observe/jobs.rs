//! What Jobs tell where no pod does: one that makes none, and one whose pods went with it.

use super::{Observed, Trained};
use crate::cache::Known;
use crate::labels::{self, Component};
use crate::reconcile::Context;
use crate::status::{job_condition, job_ended_at};
use crate::{Error, Result};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use rankwright_crds::RankingService;
use std::sync::Arc;

/// The label by which a Job finds its pods.
const JOB: &str = "batch.kubernetes.io/job-name";

/// A Job makes its pods at once.
const PATIENCE: SignedDuration = SignedDuration::from_secs(30);

/// The Jobs of a service. Any sight of them will do, as of pods.
pub(super) async fn jobs(ctx: &Context, service: &RankingService) -> Result<Vec<Job>> {
    let spec = &service.spec;
    let going = service.metadata.deletion_timestamp.is_some();
    if spec.training.is_none() && spec.import.is_none() && !going {
        return Ok(Vec::new());
    }
    if let Some(jobs) = seen(ctx, service) {
        return Ok(jobs);
    }
    let (namespace, name) = (service.namespace().unwrap_or_default(), service.name_any());
    let selected = ListParams::default().match_any().labels(&labels::text(&labels::common(&name)));
    let api: Api<Job> = Api::namespaced(ctx.client.clone(), &namespace);
    Ok(api.list(&selected).await.map_err(Error::reading("the Jobs of the service"))?.items)
}

/// Those that the watches have shown; nothing where they do not tell.
fn seen(ctx: &Context, service: &RankingService) -> Option<Vec<Job>> {
    let (namespace, uid) = (service.namespace()?, service.uid()?);
    let mut sights = ctx.cache.owned("Job", &namespace, &uid)?;
    match ctx.cache.object("CronJob", &namespace, &Component::Training.of(&service.name_any())) {
        Known::Unsure => return None,
        Known::Absent => {}
        Known::There(schedule) => sights.extend(ctx.cache.owned("Job", &namespace, &schedule.uid)?),
    }
    let job = |content: Arc<kube::api::DynamicObject>| {
        serde_json::to_value(&*content).ok().and_then(|content| serde_json::from_value(content).ok())
    };
    Some(sights.into_iter().filter_map(|(_, sight)| job(sight.content?)).collect())
}

/// Adds what Jobs tell, and pods do not.
pub(super) fn tell(observed: &mut Observed, jobs: &[Job], pods: &[Arc<Pod>], now: Timestamp) {
    for job in jobs.iter().filter(|job| !pods.iter().any(|pod| is_pod_of(pod, job))) {
        if job_condition(job, "Complete").is_some() {
            continue;
        }
        match job_condition(job, "Failed") {
            Some(message) if labels::is_of(job, Component::Training) => {
                let ended = Trained {
                    pod: job.name_any(),
                    finished_at: job_ended_at(job),
                    report: None,
                    end: format!("its Job failed: {message}"),
                };
                let time = |training: &Trained| training.finished_at.as_ref().map(|time| time.0);
                if observed.training.as_ref().is_none_or(|newest| time(newest) < time(&ended)) {
                    observed.training = Some(ended);
                }
            }
            Some(_) => {}
            None => observed.troubles.extend(idle(job, now)),
        }
    }
}

/// That a Job makes no pod, though it should.
fn idle(job: &Job, now: Timestamp) -> Option<(Component, String)> {
    let parts = [Component::Training, Component::Import, Component::Purge];
    let part = parts.into_iter().find(|part| labels::is_of(job, *part))?;
    let began = job.status.as_ref()?.start_time.as_ref()?; // one that is suspended has not begun
    (now.duration_since(began.0) > PATIENCE).then(|| {
        let name = job.name_any();
        (part, format!("Job {name} makes no pod: `kubectl describe job {name}` shows who refuses it"))
    })
}

fn is_pod_of(pod: &Pod, job: &Job) -> bool {
    pod.labels().get(JOB).is_some_and(|name| *name == job.name_any())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::{Value, json};

    fn job(part: &str, status: Value) -> Job {
        let labels = json!({"app.kubernetes.io/component": part});
        serde_json::from_value(json!({"metadata": {"name": "shop-1", "labels": labels}, "status": status})).unwrap()
    }

    fn told(job: &Job, pods: &[Arc<Pod>], now: &str) -> Observed {
        let mut observed = Observed::default();
        tell(&mut observed, std::slice::from_ref(job), pods, now.parse().unwrap());
        observed
    }

    #[test]
    fn a_training_that_was_ended_with_its_pod_has_failed() {
        let failed = json!({"startTime": "2026-11-23T03:00:00Z", "conditions": [{
            "type": "Failed", "status": "True", "reason": "DeadlineExceeded",
            "message": "Job was active longer than specified deadline", "lastTransitionTime": "2026-11-23T09:00:00Z",
        }]});
        let training = told(&job("training", failed.clone()), &[], "2026-11-23T09:00:01Z").training.unwrap();
        assert_eq!(training.end, "its Job failed: Job was active longer than specified deadline");
        assert_eq!(training.finished_at.unwrap().0, "2026-11-23T09:00:00Z".parse().unwrap());
        assert_eq!(told(&job("import", failed), &[], "2026-11-23T09:00:01Z").training, None, "the import tells itself");
    }

    #[test]
    fn a_job_that_makes_no_pod_is_told_when_it_should_have() {
        let begun = job("training", json!({"startTime": "2026-11-23T03:00:00Z"}));
        assert!(told(&begun, &[], "2026-11-23T03:00:05Z").troubles.is_empty());
        let troubles = told(&begun, &[], "2026-11-23T03:01:00Z").troubles;
        assert_eq!(troubles[0].0, Component::Training);
        assert!(troubles[0].1.starts_with("Job shop-1 makes no pod"), "{troubles:?}");
        let waiting = job("training", json!({}));
        assert!(told(&waiting, &[], "2026-11-23T03:01:00Z").troubles.is_empty(), "a suspended one has not begun");
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p", "labels": {JOB: "shop-1"}}})).unwrap();
        assert!(told(&begun, &[Arc::new(pod)], "2026-11-23T03:01:00Z").troubles.is_empty(), "its pod tells");
    }
}
