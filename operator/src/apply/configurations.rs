//! Configurations of before, which pods may yet begin with.
//!
//! A pod that begins again, one that a ReplicaSet makes while a rollout is stopped, and a retry of a Job read the ConfigMap that
//! they were made with, whatever the newest one is.

use super::children::Found;
use crate::build::pod::config_map_of;
use crate::labels::{self, Component};
use crate::reconcile::Context;
use crate::status::job_condition;
use crate::{Error, Result, resolve};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::api::{Api, ListParams};
use kube::core::NamespaceResourceScope;
use kube::{Resource, ResourceExt};
use rankwright_crds::RankingService;
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::fmt::Debug;

/// Leaves out of these objects the ConfigMaps that something refers to which makes pods.
pub(super) async fn without_read(ctx: &Context, service: &RankingService, found: Vec<Found>) -> Result<Vec<Found>> {
    let (maps, mut others): (Vec<Found>, Vec<Found>) = found.into_iter().partition(Found::is_config_map);
    let unread = |maps: Vec<Found>, read: &HashSet<String>| {
        maps.into_iter().filter(|map| !read.contains(map.object())).collect::<Vec<_>>()
    };
    if maps.is_empty() {
        return Ok(others);
    }
    // mostly these tell all, and the watches show them
    let mut maps = unread(maps, &of_deployments(ctx, service).await?);
    if !maps.is_empty() {
        maps = unread(maps, &of_others(ctx, service).await?);
    }
    others.extend(maps);
    Ok(others)
}

async fn of_deployments(ctx: &Context, service: &RankingService) -> Result<HashSet<String>> {
    let mut read = HashSet::new();
    for component in [Component::Rank, Component::Ingest] {
        let deployment = resolve::deployment(ctx, service, component).await?;
        let spec = deployment.and_then(|deployment| deployment.spec);
        read.extend(spec.and_then(|spec| config_map(&spec.template)));
    }
    Ok(read)
}

async fn of_others(ctx: &Context, service: &RankingService) -> Result<HashSet<String>> {
    let sets = listed::<ReplicaSet>(ctx, service).await?.into_iter().filter(makes_pods);
    let sets = sets.filter_map(|set| config_map(&set.spec?.template?));
    let schedules = listed::<CronJob>(ctx, service).await?.into_iter();
    let schedules = schedules.filter_map(|schedule| config_map(&schedule.spec.job_template.spec?.template));
    let jobs = listed::<Job>(ctx, service).await?.into_iter().filter(|job| !has_ended(job));
    let jobs = jobs.filter_map(|job| config_map(&job.spec?.template));
    Ok(sets.chain(schedules).chain(jobs).collect())
}

fn config_map(template: &PodTemplateSpec) -> Option<String> {
    config_map_of(template.spec.as_ref()?).map(str::to_owned)
}

/// Whether a revision of a Deployment has pods, or is to have some.
fn makes_pods(set: &ReplicaSet) -> bool {
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    wanted > 0 || set.status.as_ref().is_some_and(|status| status.replicas > 0)
}

fn has_ended(job: &Job) -> bool {
    ["Complete", "Failed"].iter().any(|kind| job_condition(job, kind).is_some())
}

async fn listed<K>(ctx: &Context, service: &RankingService) -> Result<Vec<K>>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let selected = ListParams::default().labels(&labels::text(&labels::common(&service.name_any())));
    let api: Api<K> = Api::namespaced(ctx.client.clone(), &service.namespace().unwrap_or_default());
    let listed = api.list(&selected).await.map_err(Error::reading(format!("objects of kind {}", K::kind(&()))))?;
    Ok(listed.items)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::build;
    use crate::testing::{job, planned};
    use serde_json::json;

    #[test]
    fn a_revision_counts_that_has_pods_or_is_to_have_some() {
        let set = |wanted: i32, there: i32| {
            let spec = json!({"replicas": wanted, "selector": {}});
            serde_json::from_value(json!({"spec": spec, "status": {"replicas": there}})).unwrap()
        };
        assert!(makes_pods(&set(2, 2)));
        assert!(makes_pods(&set(1, 0)), "a quota keeps it from making one");
        assert!(makes_pods(&set(0, 1)), "its last one ends");
        assert!(!makes_pods(&set(0, 0)));
    }

    #[test]
    fn a_job_counts_until_it_has_ended() {
        let ended = |kind: &str| json!({"conditions": [{"type": kind, "status": "True"}]});
        assert!(!has_ended(&job("training", json!({}))));
        assert!(has_ended(&job("training", ended("Complete"))) && has_ended(&job("import", ended("Failed"))));
    }

    #[test]
    fn what_makes_pods_is_known_by_the_volume_of_its_pods() {
        let plan = planned(json!({"training": {"schedule": "@daily"}})).unwrap();
        let children = build::desired(&plan);
        let template = |name: &str, path: &str| {
            let child = children.iter().find(|child| child.name() == name).unwrap();
            serde_json::from_value::<PodTemplateSpec>(child.object.data.pointer(path).unwrap().clone()).unwrap()
        };
        for (name, path) in [
            ("Deployment shop-rank", "/spec/template"),
            ("Deployment shop-ingest", "/spec/template"),
            ("CronJob shop-training", "/spec/jobTemplate/spec/template"),
        ] {
            assert_eq!(config_map(&template(name, path)), Some(plan.config_map()), "{name}");
        }
    }
}
