//! Reads what a resource refers to, and what of the cluster decides about it.

mod references;

pub use references::{Content, Kind, Reference, of_component, of_service};

use crate::apis::Apis;
use crate::labels::Component;
use crate::{Error, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client, ResourceExt};
use rankwright_crds::RankingService;
use std::collections::BTreeMap;

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
}

/// How far a Deployment is rolled out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// The image that its pods are to run.
    pub image: String,
    /// Whether no pod of an earlier revision runs.
    pub complete: bool,
}

/// Reads everything that a resource refers to.
///
/// # Errors
/// When the API server does not answer. What does not exist is no error here.
pub async fn references(client: &Client, service: &RankingService, apis: Apis) -> Result<Resolved> {
    let namespace = service.namespace().unwrap_or_default();
    let mut objects = BTreeMap::new();
    for reference in of_service(&service.spec) {
        let key = (reference.kind, reference.name.clone());
        if !objects.contains_key(&key)
            && let Some(content) = content(client, &namespace, &reference).await?
        {
            objects.insert(key, content);
        }
    }
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    let name = service.name_any();
    let rank = rollout(&deployments, &Component::Rank.of(&name)).await?;
    let ingest = rollout(&deployments, &Component::Ingest.of(&name)).await?;
    Ok(Resolved { objects, apis, rank, ingest })
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

async fn rollout(api: &Api<Deployment>, name: &str) -> Result<Option<Rollout>> {
    let found = api.get_opt(name).await.map_err(Error::reading(format!("Deployment {name}")))?;
    Ok(found.and_then(|deployment| rolled_out(&deployment)))
}

/// How far a Deployment is, by what it says of itself.
pub fn rolled_out(deployment: &Deployment) -> Option<Rollout> {
    let spec = deployment.spec.as_ref()?;
    let image = spec.template.spec.as_ref()?.containers.first()?.image.clone()?;
    let status = deployment.status.clone().unwrap_or_default();
    let (wanted, updated) = (spec.replicas.unwrap_or(1), status.updated_replicas.unwrap_or(0));
    let seen = status.observed_generation >= deployment.metadata.generation;
    let complete = seen && updated >= wanted && status.replicas.unwrap_or(0) <= updated;
    Some(Rollout { image, complete })
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
    }
}
