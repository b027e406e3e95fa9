//! An object as a watch has shown it: what decides whether there is anything to do about it, and nothing else.

use crate::build::pod::CONFIGURATION_VOLUME;
use crate::labels::{CONFIGURATION_DIGEST, PODS_DIGEST, REFERENCES_DIGEST};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DynamicObject, TypeMeta};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Annotation by which the cluster counts revisions of a Deployment; it says nothing about what was asked for.
pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";

/// An object as a watch has shown it.
#[derive(Debug, Clone)]
pub struct Sight {
    /// Its identity.
    pub uid: String,
    /// The identity of what controls it.
    pub owner: Option<String>,
    /// Whether it is being deleted.
    pub going: bool,
    /// Differs where anything but its status does.
    pub mark: u64,
    /// What the status reports of Deployments, Jobs and autoscalers.
    pub content: Option<Arc<DynamicObject>>,
    pub(super) version: Option<u64>,
}

impl Sight {
    /// Of an object.
    pub fn of(kind: &str, object: &DynamicObject) -> Self {
        let content = version_of(kind).map(|version| Arc::new(told_of(kind, version, object)));
        let sight = Self { content, ..Self::of_metadata(&object.metadata) };
        // one that was made by hand from a CronJob names it, and is not always controlled by it
        let schedules = || object.owner_references().iter().filter(|owner| kind == "Job" && owner.kind == "CronJob");
        let any = || schedules().next().map(|owner| owner.uid.clone());
        Self { owner: sight.owner.clone().or_else(any), ..sight }
    }

    /// Of an object whose content does not matter.
    pub fn of_metadata(metadata: &ObjectMeta) -> Self {
        let mut owners = metadata.owner_references.iter().flatten();
        Self {
            uid: metadata.uid.clone().unwrap_or_default(),
            owner: owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone()),
            going: metadata.deletion_timestamp.is_some(),
            mark: mark(metadata),
            content: None,
            version: version(metadata),
        }
    }
}

/// A version, where it is a number.
pub(crate) fn version(metadata: &ObjectMeta) -> Option<u64> {
    metadata.resource_version.as_ref()?.parse().ok()
}

/// The generation counts changes of the content. Kinds without one change seldom, and have a new version each time.
fn mark(metadata: &ObjectMeta) -> u64 {
    let mut hasher = DefaultHasher::new();
    match metadata.generation {
        Some(generation) => generation.hash(&mut hasher),
        None => metadata.resource_version.hash(&mut hasher),
    }
    metadata.labels.hash(&mut hasher);
    let annotations = metadata.annotations.iter().flatten().filter(|(key, _)| *key != REVISION);
    annotations.for_each(|annotation| annotation.hash(&mut hasher));
    metadata.finalizers.hash(&mut hasher);
    metadata.deletion_timestamp.is_some().hash(&mut hasher);
    for owner in metadata.owner_references.iter().flatten() {
        (&owner.uid, &owner.name, owner.controller, owner.block_owner_deletion).hash(&mut hasher);
    }
    hasher.finish()
}

/// The version of kinds that the status tells of.
fn version_of(kind: &str) -> Option<&'static str> {
    match kind {
        "Deployment" => Some("apps/v1"),
        "Job" => Some("batch/v1"),
        "HorizontalPodAutoscaler" => Some("autoscaling/v2"),
        _ => None,
    }
}

/// The parts of an object that a status or a plan is computed from: they are a tenth of it.
fn told_of(kind: &str, version: &str, object: &DynamicObject) -> DynamicObject {
    let (meta, data) = (object.meta(), &object.data);
    let metadata = ObjectMeta {
        name: meta.name.clone(),
        namespace: meta.namespace.clone(),
        uid: meta.uid.clone(),
        generation: meta.generation,
        deletion_timestamp: meta.deletion_timestamp.clone(),
        labels: Some(object.labels().clone()),
        annotations: object
            .annotations()
            .get(PODS_DIGEST)
            .map(|digest| [(PODS_DIGEST.to_owned(), digest.clone())].into()),
        owner_references: meta.owner_references.clone(),
        ..ObjectMeta::default()
    };
    let mut told = json!({ "status": data.get("status").cloned().unwrap_or_else(|| json!({})) });
    if kind == "Deployment" {
        let of = |path: &str| data.pointer(path).cloned().unwrap_or(Value::Null);
        let container = json!({
            "name": of("/spec/template/spec/containers/0/name"),
            "image": of("/spec/template/spec/containers/0/image"),
        });
        let volumes = data.pointer("/spec/template/spec/volumes").and_then(Value::as_array).into_iter().flatten();
        let configuration: Vec<&Value> = volumes.filter(|volume| volume["name"] == CONFIGURATION_VOLUME).collect();
        let annotations = data.pointer("/spec/template/metadata/annotations");
        let digest = |key: &'static str| Some((key, annotations?.get(key)?.clone()));
        let digests: HashMap<_, _> = [CONFIGURATION_DIGEST, REFERENCES_DIGEST].into_iter().filter_map(digest).collect();
        told["spec"] = json!({
            "replicas": of("/spec/replicas"),
            "selector": {},
            "template": {
                "metadata": { "annotations": digests },
                "spec": { "containers": [container], "volumes": configuration },
            },
        });
    }
    let types = Some(TypeMeta { api_version: version.to_owned(), kind: kind.to_owned() });
    DynamicObject { types, metadata, data: told }
}
