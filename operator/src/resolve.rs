//! Reads what a resource refers to, and what of the cluster decides about it.

mod pins;
mod references;
mod rivals;

pub use rivals::{Rival, rivals};

pub use references::{Content, Kind, Reference, TLS_KEYS, besides, of_component, of_configuration, of_service};

use crate::apis::Apis;
use crate::build::pod::{CONFIGURATION, config_map_of};
use crate::cache::Known;
use crate::labels::{self, CONFIGURATION_DIGEST, Component, PODS_DIGEST, REFERENCES_DIGEST};
use crate::observe;
use crate::reconcile::Context;
use crate::{Error, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use rankwright_crds::RankingService;
use std::collections::{BTreeMap, BTreeSet};

/// All that was read for a resource.
#[derive(Debug, Clone, Default)]
pub struct Resolved {
    /// Secrets and ConfigMaps that it names; those that do not exist are missing here.
    pub objects: BTreeMap<(Kind, String), Content>,
    /// APIs that the cluster has.
    pub apis: Apis,
    /// How far the rank servers are rolled out.
    pub rank: Option<Rollout>,
    /// How far the ingest workers are.
    pub ingest: Option<Rollout>,
    /// Digests of the configurations that rank servers have started with.
    pub started: BTreeSet<String>,
    /// The configuration that its pods were given last, where it is being deleted.
    pub kept: Option<String>,
    /// Versions that there are of models that are pinned to another one than before.
    pub versions: BTreeMap<String, Vec<String>>,
}

/// How far a Deployment is rolled out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rollout {
    /// Its name.
    pub name: String,
    /// Pods that are wanted.
    pub replicas: i32,
    /// What its pods were built as, as a digest.
    pub pods: Option<String>,
    /// The image that its pods are to run.
    pub image: String,
    /// Digests of the configuration and of the references that they start with.
    pub digests: Option<[String; 2]>,
    /// The ConfigMap with that configuration.
    pub config_map: Option<String>,
    /// Whether no pod of an earlier revision runs, nor one that is about to end.
    pub complete: bool,
}

/// Reads everything that a resource refers to.
///
/// # Errors
/// When the API server does not answer. What does not exist is no error here.
pub async fn references(ctx: &Context, service: &RankingService, apis: Apis) -> Result<Resolved> {
    let namespace = service.namespace().unwrap_or_default();
    let mut objects = BTreeMap::new();
    for reference in of_service(&service.spec) {
        let key = (reference.kind, reference.name.clone());
        if !objects.contains_key(&key)
            && let Some(content) = content(&ctx.client, &namespace, &reference).await?
        {
            objects.insert(key, content);
        }
    }
    let rank = deployment(ctx, service, Component::Rank).await?.as_ref().and_then(rolled_out);
    let mut ingest = deployment(ctx, service, Component::Ingest).await?.as_ref().and_then(rolled_out);
    if let Some(ingest) = &mut ingest {
        ingest.config_map = owned(ctx, service, ingest.config_map.take()).await?;
    }
    let kept = kept_configuration(ctx, service, rank.as_ref()).await?;
    let started = observe::started(ctx, service).await?;
    let mut resolved = Resolved { objects, apis, rank, ingest, started, kept, ..Resolved::default() };
    resolved.versions = pins::versions(ctx, service, &resolved).await?;
    Ok(resolved)
}

/// The configuration that the pods of a resource were given last. Needed only while the resource is being deleted.
async fn kept_configuration(ctx: &Context, service: &RankingService, rank: Option<&Rollout>) -> Result<Option<String>> {
    if service.metadata.deletion_timestamp.is_none() {
        return Ok(None);
    }
    let api: Api<ConfigMap> = Api::namespaced(ctx.client.clone(), &service.namespace().unwrap_or_default());
    let selected = ListParams::default().labels(&labels::text(&labels::common(&service.name_any())));
    let maps = api.list(&selected).await.map_err(Error::reading("the ConfigMaps of the service"))?;
    let is_read = |map: &ConfigMap| rank.and_then(|rank| rank.config_map.as_ref()) == Some(&map.name_any());
    let made = |map: &ConfigMap| map.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let configures = |map: &ConfigMap| map.data.as_ref().is_some_and(|data| data.contains_key(CONFIGURATION));
    let ours = maps.items.into_iter().filter(|map| labels::owns(service, map) && configures(map));
    // once the rank servers are gone, the newest one tells
    let last = ours.max_by_key(|map| (is_read(map), made(map)));
    Ok(last.and_then(|map| map.data?.remove(CONFIGURATION)))
}

/// The name of a ConfigMap, where there is one that belongs to the service.
async fn owned(ctx: &Context, service: &RankingService, name: Option<String>) -> Result<Option<String>> {
    let Some(name) = name else { return Ok(None) };
    let (namespace, uid) = (service.namespace().unwrap_or_default(), service.uid().unwrap_or_default());
    let shown = ctx.cache(&namespace).owned("ConfigMap", &namespace, &uid).unwrap_or_default();
    if shown.iter().any(|(shown, _)| *shown == name) {
        return Ok(Some(name));
    }
    let api: Api<ConfigMap> = Api::namespaced(ctx.client.clone(), &namespace);
    let found = api.get_metadata_opt(&name).await.map_err(Error::reading(format!("ConfigMap {name}")))?;
    Ok(found.filter(|map| labels::owns(service, map)).map(|_| name))
}

/// The Deployment in the place of a part, as the watches have shown it, or as it is.
///
/// # Errors
/// When the API server does not answer.
pub async fn deployment(ctx: &Context, service: &RankingService, component: Component) -> Result<Option<Deployment>> {
    let (namespace, name) = (service.namespace().unwrap_or_default(), component.of(&service.name_any()));
    match ctx.cache(&namespace).object("Deployment", &namespace, &name) {
        Known::There(sight) => {
            let content = sight.content.and_then(|content| serde_json::to_value(&*content).ok());
            return Ok(content.and_then(|content| serde_json::from_value(content).ok()));
        }
        // nothing was made of a service without a status
        Known::Absent if service.status.is_none() => return Ok(None),
        Known::Absent | Known::Unsure => {}
    }
    let api: Api<Deployment> = Api::namespaced(ctx.client.clone(), &namespace);
    api.get_opt(&name).await.map_err(Error::reading(format!("Deployment {name}")))
}

async fn content(client: &Client, namespace: &str, reference: &Reference) -> Result<Option<Content>> {
    let (name, reading) = (&reference.name, Error::reading(reference.object()));
    Ok(match reference.kind {
        Kind::Secret => {
            let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
            api.get_opt(name).await.map_err(reading)?.map(Content::of_secret)
        }
        Kind::ConfigMap => {
            let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
            api.get_opt(name).await.map_err(reading)?.map(Content::of_config_map)
        }
    })
}

/// How far a Deployment is, by what it says of itself.
pub fn rolled_out(deployment: &Deployment) -> Option<Rollout> {
    let spec = deployment.spec.as_ref()?;
    let pod = spec.template.spec.as_ref()?;
    let image = pod.containers.first()?.image.clone()?;
    let annotations = spec.template.metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref());
    let digest = |key: &str| annotations?.get(key).cloned();
    let digests = digest(CONFIGURATION_DIGEST).zip(digest(REFERENCES_DIGEST)).map(<[String; 2]>::from);
    let status = deployment.status.clone().unwrap_or_default();
    let (replicas, updated) = (spec.replicas.unwrap_or(1), status.updated_replicas.unwrap_or(0));
    let seen = status.observed_generation >= deployment.metadata.generation;
    // clusters before 1.35 do not count pods that end
    let ending = status.terminating_replicas.unwrap_or(0);
    let complete = seen && updated >= replicas && status.replicas.unwrap_or(0) <= updated && ending == 0;
    let pods = deployment.annotations().get(PODS_DIGEST).cloned();
    let config_map = config_map_of(pod).map(str::to_owned);
    Some(Rollout { name: deployment.name_any(), replicas, pods, image, digests, config_map, complete })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn deployment(generation: i64, replicas: i32, updated: i32) -> Deployment {
        serde_json::from_value(json!({
            "metadata": {"generation": generation},
            "spec": {"replicas": 2, "selector": {}, "template": {"spec": {"containers": [{"name": "rank", "image": "a:1"}]}}},
            "status": {"observedGeneration": 3, "replicas": replicas, "updatedReplicas": updated},
        }))
        .unwrap()
    }

    #[test]
    fn a_rollout_is_complete_when_no_pod_of_an_earlier_revision_is_left() {
        let complete = |deployment| rolled_out(&deployment).unwrap().complete;
        assert!(complete(deployment(3, 2, 2)));
        assert!(!complete(deployment(3, 3, 2)), "an old pod runs");
        assert!(!complete(deployment(3, 2, 1)), "a new one is missing");
        assert!(!complete(deployment(4, 2, 2)), "the change was not seen yet");
        let mut ending = deployment(3, 2, 2);
        ending.status.as_mut().unwrap().terminating_replicas = Some(1);
        assert!(!complete(ending), "an old pod finishes its requests");
    }
}
