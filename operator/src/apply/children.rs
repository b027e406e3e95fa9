//! Finding the objects of a service that are no longer wanted.

use super::{configurations, orphans};
use crate::apis::{Apis, is_absent};
use crate::build::Child;
use crate::labels;
use crate::reconcile::Context;
use crate::{Error, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, PartialObjectMeta, Preconditions};
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
    /// An object of ours, as it was seen.
    pub(super) fn of(child: &Child, live: &DynamicObject) -> Self {
        Self {
            resource: child.resource.clone(),
            namespace: live.namespace().unwrap_or_default(),
            object: live.name_any(),
            uid: live.uid().unwrap_or_default(),
        }
    }

    /// Its kind and name, for messages.
    pub fn name(&self) -> String {
        format!("{} {}", self.resource.kind, self.object)
    }

    pub(super) fn object(&self) -> &str {
        &self.object
    }

    pub(super) fn is_config_map(&self) -> bool {
        self.resource.kind == "ConfigMap"
    }
}

/// Objects that a service has no use for any more.
#[derive(Debug, Clone, Default)]
pub struct Unwanted {
    /// Those that can go.
    pub objects: Vec<Found>,
    /// Whether there are others, which pods may yet begin with.
    pub are_read: bool,
}

/// Every kind that the operator makes objects of.
pub fn kinds(optional: &Apis) -> Vec<ApiResource> {
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

/// Objects that this service owns and that are not among those wanted. Where the resource adopts orphans, also those that an
/// earlier one of its name has left.
///
/// # Errors
/// When they cannot be listed, or what may need them.
pub async fn unwanted(ctx: &Context, service: &RankingService, wanted: &[Child], optional: &Apis) -> Result<Unwanted> {
    let namespace = service.namespace().unwrap_or_default();
    // nothing is left over while the same objects are wanted as before
    let cleared = ctx.seen.is_cleared(service, wanted, optional);
    // the watches show objects by their owner, which these do not have
    let orphans = service.spec.adopt_orphans && !cleared;
    let wanted: HashSet<(&str, String)> =
        wanted.iter().map(|child| (child.resource.kind.as_str(), child.object.name_any())).collect();
    let mut found = Vec::new();
    for resource in kinds(optional) {
        // any sight of them will do: a deletion names the identity, so it leaves a newer object of this name alone
        let owned = match shown(ctx, service, &resource) {
            Some(shown) if !orphans => shown,
            None if cleared => continue,
            _ => listed(&ctx.client, service, &resource).await?,
        };
        for (object, uid) in owned {
            if !wanted.contains(&(resource.kind.as_str(), object.clone())) {
                found.push(Found { resource: resource.clone(), namespace: namespace.clone(), object, uid });
            }
        }
    }
    let all = found.len();
    let objects = configurations::without_read(ctx, service, found).await?;
    Ok(Unwanted { are_read: objects.len() < all, objects })
}

/// Name and identity of all objects of a kind that belong to a service, as the watches show them; nothing where none tells.
fn shown(ctx: &Context, service: &RankingService, resource: &ApiResource) -> Option<Vec<(String, String)>> {
    let (namespace, uid) = (service.namespace().unwrap_or_default(), service.uid().unwrap_or_default());
    let shown = ctx.cache(&namespace).owned(&resource.kind, &namespace, &uid)?;
    Some(shown.into_iter().filter(|(_, sight)| !sight.going).map(|(name, sight)| (name, sight.uid)).collect())
}

/// The same from the API server, with those that an earlier resource has left for it.
async fn listed(client: &Client, service: &RankingService, resource: &ApiResource) -> Result<Vec<(String, String)>> {
    let selected = ListParams::default().match_any().labels(&labels::text(&labels::common(&service.name_any())));
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), &service.namespace().unwrap_or_default(), resource);
    let listed = match api.list_metadata(&selected).await {
        Err(error) if is_absent(&error) => return Ok(Vec::new()), // its API went meanwhile
        answer => answer.map_err(Error::reading(format!("objects of kind {}", resource.kind)))?,
    };
    let is_ours = |object: &&PartialObjectMeta<DynamicObject>| {
        object.metadata.deletion_timestamp.is_none()
            && (labels::owns(service, *object) || orphans::is_left(service, *object))
    };
    let ours = listed.iter().filter(is_ours);
    Ok(ours.map(|object| (object.name_any(), object.uid().unwrap_or_default())).collect())
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
