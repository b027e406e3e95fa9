//! What Jobs tell where no pod does: one that makes none, and one whose pods went with it.

use super::{Observed, Trained, Trouble};
use crate::labels::{self, Component};
use crate::reconcile::Context;
use crate::status::{Reason, job_ended_at};
use crate::{Error, Result};
use k8s_openapi::api::batch::v1::{Job, JobCondition};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use rankwright_crds::RankingService;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The label by which a Job finds its pods.
const JOB: &str = "batch.kubernetes.io/job-name";

/// A Job makes its pods within this time, also after one has gone.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let cache = ctx.cache(&namespace);
    let mut sights = cache.owned("Job", &namespace, &uid)?;
    for (_, schedule) in cache.owned("CronJob", &namespace, &uid)? {
        sights.extend(cache.owned("Job", &namespace, &schedule.uid)?);
    }
    let job = |content: Arc<kube::api::DynamicObject>| {
        serde_json::to_value(&*content).ok().and_then(|content| serde_json::from_value(content).ok())
    };
    Some(sights.into_iter().filter_map(|(_, sight)| job(sight.content?)).collect())
}

/// Adds what Jobs tell, and pods do not. `podless` is what is remembered of them: since when they have had no pod.
pub(super) fn tell(observed: &mut Observed, jobs: &[Job], pods: &[Arc<Pod>], podless: &mut HashMap<String, Instant>) {
    let mut without = HashMap::new();
    for job in jobs {
        if let Some(ended) = overdue(job) {
            let time = |training: &Trained| training.finished_at.as_ref().map(|time| time.0);
            let is_newest = |known: Option<&Trained>| known.is_none_or(|known| time(known) < time(&ended));
            let key = labels::schedule_of(job);
            if is_newest(observed.trainings.get(key)) {
                observed.trainings.insert(key.to_owned(), ended.clone());
            }
            if is_newest(observed.training.as_ref()) {
                observed.training = Some(ended);
            }
        } else if let Some(part) = should_run(job).filter(|_| !pods.iter().any(|pod| is_pod_of(pod, job))) {
            let uid = job.uid().unwrap_or_default();
            let since = *podless.get(&uid).unwrap_or(&Instant::now());
            without.insert(uid, since);
            if since.elapsed() >= PATIENCE {
                let name = job.name_any();
                let text = format!("Job {name} makes no pod: `kubectl describe job {name}` shows who refuses it");
                observed.troubles.push(Trouble { part, reason: Reason::PodsRefused, text });
            }
        }
    }
    *podless = without;
}

/// A training that was ended for taking too long: its pod goes at once. Of one that has ended otherwise, its pod has reported.
fn overdue(job: &Job) -> Option<Trained> {
    let mut conditions = job.status.as_ref()?.conditions.iter().flatten();
    let late = |condition: &&JobCondition| {
        let is = (condition.type_.as_str(), condition.status.as_str(), condition.reason.as_deref());
        is == ("Failed", "True", Some("DeadlineExceeded"))
    };
    let late = conditions.find(late).filter(|_| labels::is_of(job, Component::Training))?;
    let end = format!("its Job failed: {}", late.message.as_deref().unwrap_or("DeadlineExceeded"));
    Some(Trained { pod: job.name_any(), finished_at: job_ended_at(job), report: None, end })
}

/// The part that a Job is, where it should have a pod: it has begun, and neither it nor a pod of it has ended or is ending.
fn should_run(job: &Job) -> Option<Component> {
    let parts = [Component::Training, Component::Import, Component::Purge];
    let part = parts.into_iter().find(|part| labels::is_of(job, *part))?;
    let status = job.status.as_ref()?;
    let counted = status.uncounted_terminated_pods.as_ref().is_none_or(|pods| {
        pods.failed.as_ref().is_none_or(Vec::is_empty) && pods.succeeded.as_ref().is_none_or(Vec::is_empty)
    });
    let pods = [status.active, status.terminating, status.failed, status.succeeded];
    let none = counted && pods.into_iter().all(|count| count.unwrap_or(0) == 0);
    let ends = status.conditions.iter().flatten().any(|condition| condition.status == "True");
    (status.start_time.is_some() && none && !ends && job.metadata.deletion_timestamp.is_none()).then_some(part)
}

fn is_pod_of(pod: &Pod, job: &Job) -> bool {
    pod.labels().get(JOB).is_some_and(|name| *name == job.name_any())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::job;
    use serde_json::{Value, json};

    /// What is reported of a Job that has had no pod for some seconds.
    fn told(job: &Job, pods: &[Arc<Pod>], seconds: u64) -> Observed {
        let mut observed = Observed::default();
        let since = Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let mut podless = [(String::new(), since)].into();
        tell(&mut observed, std::slice::from_ref(job), pods, &mut podless);
        observed
    }

    fn ended(reason: &str) -> Value {
        json!({"startTime": "2026-11-23T03:00:00Z", "conditions": [{
            "type": "Failed", "status": "True", "reason": reason, "message": "Job was active longer than specified deadline",
            "lastTransitionTime": "2026-11-23T09:00:00Z",
        }]})
    }

    #[test]
    fn a_training_that_was_ended_with_its_pod_has_failed() {
        let training = told(&job("training", ended("DeadlineExceeded")), &[], 60).training.unwrap();
        assert_eq!(training.end, "its Job failed: Job was active longer than specified deadline");
        assert_eq!(training.finished_at.unwrap().0, "2026-11-23T09:00:00Z".parse().unwrap());
        assert_eq!(told(&job("import", ended("DeadlineExceeded")), &[], 60).training, None, "the import tells itself");
        let of_pod = job("training", ended("PodFailurePolicy"));
        assert_eq!(told(&of_pod, &[], 60).training, None, "its pod has told, whatever became of that since");
    }

    #[test]
    fn a_job_that_makes_no_pod_is_told_when_that_has_lasted() {
        let begun = || json!({"startTime": "2026-11-23T03:00:00Z"});
        assert!(told(&job("training", begun()), &[], 5).troubles.is_empty(), "it is about to");
        let troubles = told(&job("training", begun()), &[], 60).troubles;
        assert_eq!(troubles[0].part, Component::Training);
        assert!(troubles[0].text.starts_with("Job shop-1 makes no pod"), "{troubles:?}");
        for (name, value) in [("active", 1), ("terminating", 1), ("failed", 1), ("succeeded", 1)] {
            let mut status = begun();
            status[name] = json!(value);
            assert!(told(&job("training", status), &[], 60).troubles.is_empty(), "{name}");
        }
        assert!(told(&job("training", json!({})), &[], 60).troubles.is_empty(), "a suspended one has not begun");
        assert!(told(&job("training", ended("FailureTarget")), &[], 60).troubles.is_empty(), "it ends");
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p", "labels": {JOB: "shop-1"}}})).unwrap();
        assert!(told(&job("training", begun()), &[Arc::new(pod)], 60).troubles.is_empty(), "its pod tells");
    }
}
