//! An object of a service, of whatever kind.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{ApiResource, DynamicObject};
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// How an object is brought to the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is kept as it is described.
    Apply,
    /// It is made where it is missing, and cannot be changed afterwards.
    Once,
    /// It is left where it is, and not made any more.
    Keep,
}

/// An object of a service.
#[derive(Debug, Clone)]
pub struct Child {
    /// How its API is spoken to.
    pub resource: ApiResource,
    /// What it should be.
    pub object: DynamicObject,
    /// How it is brought to the cluster.
    pub mode: Mode,
}

impl Child {
    /// Of a kind that every cluster has.
    ///
    /// # Panics
    /// Never: objects of Kubernetes are JSON, with name and kind.
    pub fn of<K>(object: &K) -> Self
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let value = serde_json::to_value(object).expect("an object of Kubernetes is JSON");
        Self::from_json(ApiResource::erase::<K>(&()), value)
    }

    /// Of a kind that some clusters have.
    pub(super) fn of_optional(resource: ApiResource, metadata: &ObjectMeta, spec: Value) -> Self {
        let mut object = DynamicObject::new("", &resource);
        object.metadata = metadata.clone();
        object.data = serde_json::json!({ "spec": spec });
        Self { resource, object, mode: Mode::Apply }
    }

    fn from_json(resource: ApiResource, value: Value) -> Self {
        let object = serde_json::from_value(value).expect("an object of Kubernetes has metadata");
        Self { resource, object, mode: Mode::Apply }
    }

    /// The same in another mode.
    pub(super) fn with_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// The same, not made where it is missing.
    pub fn kept(self) -> Self {
        self.with_mode(Mode::Keep)
    }

    /// Its kind and name, for messages.
    pub fn name(&self) -> String {
        format!("{} {}", self.resource.kind, self.object.name_any())
    }
}

/// Name, labels and owner of an object of a service.
pub(super) fn metadata(plan: &crate::validate::Plan, name: String, labels: BTreeMap<String, String>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: Some(plan.namespace.clone()),
        labels: Some(labels),
        owner_references: Some(vec![owner(plan)]),
        ..ObjectMeta::default()
    }
}

fn owner(plan: &crate::validate::Plan) -> OwnerReference {
    // nothing waits for its objects to go before it; and where that is checked, asking for it wants a right of its own
    OwnerReference { block_owner_deletion: None, ..plan.owner.clone() }
}
