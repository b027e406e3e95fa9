//! Finding the objects of a service that are no longer wanted.

use crate::apis::{Apis, is_absent};
use crate::build::Child;
use crate::labels;
use crate::{Error, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Preconditions};
use kube::{Client, ResourceExt};
use rankwright_crds::RankingService;
use std::collections::HashSet;

/// An object that is there.
#[derive(Debug, Clone)]
pub struct Found {
    resource: ApiResource,
    namespace: String,
    object: String,
    uid: String,
}

impl Found {
    /// Its kind and name, for messages.
    pub fn name(&self) -> String {
        format!("{} {}", self.resource.kind, self.object)
    }
}

/// Every kind that the operator makes objects of.
fn kinds(optional: &Apis) -> Vec<ApiResource> {
    let mut kinds = vec![
        ApiResource::erase::<Deployment>(&()),
        ApiResource::erase::<CronJob>(&()),
        ApiResource::erase::<Job>(&()),
        ApiResource::erase::<HorizontalPodAutoscaler>(&()),
        ApiResource::erase::<PodDisruptionBudget>(&()),
        ApiResource::erase::<Service>(&()),
        ApiResource::erase::<Ingress>(&()),
        ApiResource::erase::<NetworkPolicy>(&()),
        ApiResource::erase::<ConfigMap>(&()),
        ApiResource::erase::<ServiceAccount>(&()),
    ];
    kinds.extend(optional.iter().map(crate::apis::OptionalApi::resource));
    kinds
}

/// Objects that this service owns and that are not among those wanted.
///
/// # Errors
/// When they cannot be listed.
pub async fn unwanted(
    client: &Client,
    service: &RankingService,
    wanted: &[Child],
    optional: &Apis,
) -> Result<Vec<Found>> {
    let namespace = service.namespace().unwrap_or_default();
    let wanted: HashSet<(&str, String)> =
        wanted.iter().map(|child| (child.resource.kind.as_str(), child.object.name_any())).collect();
    // any sight of them will do: one that has gone on is deleted by nobody, as its identity is named
    let selected = ListParams::default().match_any().labels(&labels::text(&labels::common(&service.name_any())));
    let mut found = Vec::new();
    for resource in kinds(optional) {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
        let reading = Error::reading(format!("objects of kind {}", resource.kind));
        let listed = match api.list_metadata(&selected).await {
            Err(error) if is_absent(&error) => continue, // its API went meanwhile
            answer => answer.map_err(reading)?,
        };
        for object in listed {
            let (name, going) = (object.name_any(), object.metadata.deletion_timestamp.is_some());
            if going || !labels::owns(service, &object) || wanted.contains(&(resource.kind.as_str(), name.clone())) {
                continue;
            }
            let uid = object.uid().unwrap_or_default();
            found.push(Found { resource: resource.clone(), namespace: namespace.clone(), object: name, uid });
        }
    }
    Ok(found)
}

/// Deletes an object with what belongs to it, unless another one has its name meanwhile.
///
/// # Errors
/// When the API server refuses it.
pub async fn delete(client: &Client, found: &Found) -> Result<()> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &found.namespace, &found.resource);
    let preconditions = Preconditions { uid: Some(found.uid.clone()), resource_version: None };
    let how = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
    match api.delete(&found.object, &how).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => Ok(()),
        Err(source) => Err(Error::Delete { child: found.name(), source: Box::new(source) }),
    }
}
