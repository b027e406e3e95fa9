//! The end of a service: with `deletionPolicy: Delete` its programs stop, its data are removed by a Job, and only then the
//! resource goes. Its objects follow it by themselves.

use crate::apply::{self, Applied};
use crate::build;
use crate::labels::{self, Component, FINALIZER};
use crate::reconcile::Context;
use crate::status::Reason;
use crate::validate::Plan;
use crate::{Error, Result};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams};
use rankwright_crds::RankingService;
use rankwright_crds::ranking_service::DeletionPolicy;
use serde_json::json;

/// How far the end of a service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cleaning {
    /// Pods of its programs run yet, or may be made.
    Stopping {
        /// How many run.
        pods: usize,
        /// A Job that makes some until it has ended.
        job: Option<String>,
    },
    /// The Job that removes its data runs.
    Purging,
    /// That Job has failed.
    PurgeFailed(String),
    /// Nothing is left to do.
    Done,
}

impl Cleaning {
    /// As the condition `Ready` tells it.
    pub fn told(&self) -> (Reason, String) {
        match self {
            Self::Stopping { pods: 0, job: None } => {
                (Reason::Deleting, "what makes pods goes before data are removed".to_owned())
            }
            Self::Stopping { pods: 0, job: Some(job) } => {
                (Reason::Deleting, format!("waiting for Job {job} to end before data are removed"))
            }
            Self::Stopping { pods, .. } => {
                (Reason::Deleting, format!("waiting for {pods} pods to end before data are removed"))
            }
            Self::Purging => (Reason::Purging, "the data in Redis and S3 are being removed".to_owned()),
            Self::PurgeFailed(message) => {
                let help =
                    "see the Job's pods, delete the Job to try again, or set deletionPolicy to Retain to keep the data";
                (Reason::PurgeFailed, format!("the data were not removed: {message}: {help}"))
            }
            Self::Done => (Reason::Deleting, "the resource goes".to_owned()),
        }
    }
}

/// Whether the resource has to wait for its data when it is deleted.
pub fn wants_finalizer(service: &RankingService) -> bool {
    service.spec.deletion_policy == DeletionPolicy::Delete
}

/// Whether it does.
pub fn has_finalizer(service: &RankingService) -> bool {
    service.finalizers().iter().any(|name| name == FINALIZER)
}

/// Adds or removes the finalizer as the resource's policy says; what others have put there stays.
///
/// # Errors
/// When the API server refuses it, as when another client has changed the resource at the same time.
pub async fn settle_finalizer(ctx: &Context, service: &RankingService, wanted: bool) -> Result<()> {
    if has_finalizer(service) == wanted {
        return Ok(());
    }
    let mut finalizers: Vec<&str> =
        service.finalizers().iter().map(String::as_str).filter(|name| *name != FINALIZER).collect();
    if wanted {
        finalizers.push(FINALIZER);
    }
    let version = service.metadata.resource_version.clone();
    let change = json!({ "metadata": { "finalizers": finalizers, "resourceVersion": version } });
    let api: Api<RankingService> = Api::namespaced(ctx.client.clone(), &service.namespace().unwrap_or_default());
    match api.patch(&service.name_any(), &PatchParams::default(), &Patch::Merge(&change)).await {
        Err(kube::Error::Api(answer)) if answer.code == 404 => Ok(()),
        answer => answer.map(drop).map_err(|source| Error::Finalizer(Box::new(source))),
    }
}

/// The next step of removing a service with its data.
///
/// # Errors
/// When the API server refuses something, or does not answer.
pub async fn clean_up(ctx: &Context, service: &RankingService, plan: &Plan, applied: &mut Applied) -> Result<Cleaning> {
    let mut kept = build::kept_for_purge(plan);
    let (pods, job) = (running(ctx, service).await?, unfinished(ctx, service).await?);
    let purge = build::purge(plan);
    let wanted: Vec<_> = kept.iter().cloned().chain([purge.clone()]).collect();
    // what is still there may make pods yet
    let ended = pods == 0 && job.is_none();
    let stopped = ended && apply::unwanted(ctx, service, &wanted, &plan.apis).await?.objects.is_empty();
    if stopped {
        kept.push(purge);
    } else {
        kept.push(purge.kept());
    }
    apply::all(ctx, service, &kept, &plan.apis, applied).await?;
    if !stopped {
        return Ok(Cleaning::Stopping { pods, job });
    }
    let name = Component::Purge.of(&service.name_any());
    let api: Api<Job> = Api::namespaced(ctx.client.clone(), &plan.namespace);
    let job = api.get_opt(&name).await.map_err(Error::reading(format!("Job {name}")))?;
    let job = job.filter(|job| labels::owns(service, job));
    let cleaning = match job {
        None => {
            Cleaning::PurgeFailed(applied.conflicts.first().cloned().unwrap_or_else(|| "its Job is gone".to_owned()))
        }
        Some(job) if crate::status::job_condition(&job, "Complete").is_some() => Cleaning::Done,
        Some(job) => crate::status::job_condition(&job, "Failed").map_or(Cleaning::Purging, Cleaning::PurgeFailed),
    };
    Ok(cleaning)
}

/// Pods of the service's programs that have not ended.
async fn running(ctx: &Context, service: &RankingService) -> Result<usize> {
    let api: Api<Pod> = Api::namespaced(ctx.client.clone(), &service.namespace().unwrap_or_default());
    let selected = ListParams::default().labels(&labels::text(&labels::common(&service.name_any())));
    let pods = api.list(&selected).await.map_err(Error::reading("the pods of the service"))?;
    let ended = |pod: &Pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        matches!(phase, Some("Succeeded" | "Failed"))
    };
    Ok(pods.iter().filter(|pod| !labels::is_of(*pod, Component::Purge) && !ended(pod)).count())
}

/// A Job of the service's programs that has not ended: between two attempts it has no pod, and makes another one.
async fn unfinished(ctx: &Context, service: &RankingService) -> Result<Option<String>> {
    let api: Api<Job> = Api::namespaced(ctx.client.clone(), &service.namespace().unwrap_or_default());
    let selected = ListParams::default().labels(&labels::text(&labels::common(&service.name_any())));
    let jobs = api.list(&selected).await.map_err(Error::reading("the Jobs of the service"))?;
    Ok(jobs.iter().find(|job| makes_pods(job)).map(ResourceExt::name_any))
}

/// Whether a Job may make pods that write what is about to be removed.
fn makes_pods(job: &Job) -> bool {
    let ended = ["Complete", "Failed"].iter().any(|kind| crate::status::job_condition(job, kind).is_some());
    !ended && job.metadata.deletion_timestamp.is_none() && !labels::is_of(job, Component::Purge)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::job;

    #[test]
    fn a_job_makes_pods_until_it_has_ended_or_goes() {
        let ended = |kind: &str| json!({"conditions": [{"type": kind, "status": "True"}]});
        for part in ["training", "import"] {
            assert!(makes_pods(&job(part, json!({"failed": 1}))), "it is tried again");
            assert!(makes_pods(&job(part, ended("Suspended"))), "somebody may let it go on");
            assert!(!makes_pods(&job(part, ended("Complete"))) && !makes_pods(&job(part, ended("Failed"))));
        }
        let mut going = job("training", json!({}));
        going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-11-25T03:00:00Z")).unwrap();
        assert!(!makes_pods(&going));
        assert!(!makes_pods(&job("purge", json!({}))), "that is what waits");
    }
}
