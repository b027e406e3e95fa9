//! What a node would do with pods, where there is none.

use crate::cluster::{Cluster, PATIENCE};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::time::{Duration, Instant};

impl Cluster {
    /// Waits for this number of pods.
    pub(crate) async fn pods(&self, labels: &str, count: usize) -> Vec<Pod> {
        let end = Instant::now() + PATIENCE;
        loop {
            let pods: Vec<Pod> = self.list(labels).await;
            let pods: Vec<Pod> = pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).collect();
            if pods.len() == count {
                return pods;
            }
            assert!(Instant::now() < end, "{} pods of {labels}, not {count}", pods.len());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until none of a kind is left, not even one that ends.
    pub(crate) async fn none_left<K>(&self, labels: &str)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let end = Instant::now() + PATIENCE;
        while !self.list::<K>(labels).await.is_empty() {
            assert!(Instant::now() < end, "{} of {labels} never went", K::kind(&()));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Has a pod run and answer.
    pub(crate) async fn make_ready(&self, pod: &Pod) {
        let now = k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
        let status = json!({
            "phase": "Running",
            "podIP": "10.1.2.3",
            "podIPs": [{"ip": "10.1.2.3"}],
            "conditions": [condition("Ready"), condition("ContainersReady"), condition("PodScheduled")],
        });
        self.set(pod, status).await;
    }

    /// Has a pod end.
    pub(crate) async fn end(&self, pod: &Pod, code: i32, message: &str) {
        let now = k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let container = &pod.spec.as_ref().unwrap().containers[0];
        let reason = if code == 0 { "Completed" } else { "Error" };
        let status = json!({
            "phase": if code == 0 { "Succeeded" } else { "Failed" },
            "containerStatuses": [{
                "name": container.name, "image": container.image, "imageID": "", "ready": false, "restartCount": 0,
                "state": {"terminated": {"exitCode": code, "reason": reason, "message": message, "startedAt": now, "finishedAt": now}},
            }],
        });
        self.set(pod, status).await;
    }

    /// Has a pod find no node.
    pub(crate) async fn lack_node(&self, pod: &Pod) {
        let now = k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let message = "0/3 nodes are available: 3 Insufficient memory.";
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message, "lastTransitionTime": now});
        self.set(pod, json!({ "conditions": [condition] })).await;
    }

    /// Has a pod wait for an image on its node.
    pub(crate) async fn lack_image(&self, pod: &Pod) {
        let container = &pod.spec.as_ref().unwrap().containers[0];
        let status = json!({
            "conditions": [{"type": "PodScheduled", "status": "True"}],
            "containerStatuses": [{
                "name": container.name, "image": container.image, "imageID": "", "ready": false, "restartCount": 0,
                "state": {"waiting": {"reason": "ErrImagePull"}},
            }],
        });
        self.set(pod, status).await;
    }

    /// Has a pod wait for the image of its init container.
    pub(crate) async fn lack_first_image(&self, pod: &Pod) {
        let spec = pod.spec.as_ref().unwrap();
        let waits = |container: &Container, reason: &str| {
            json!({
                "name": container.name, "image": container.image, "imageID": "", "ready": false, "restartCount": 0,
                "state": {"waiting": {"reason": reason}},
            })
        };
        let status = json!({
            "conditions": [{"type": "PodScheduled", "status": "True"}],
            "initContainerStatuses": [waits(&spec.init_containers.as_ref().unwrap()[0], "ErrImagePull")],
            "containerStatuses": [waits(&spec.containers[0], "PodInitializing")],
        });
        self.set(pod, status).await;
    }

    async fn set(&self, pod: &Pod, status: Value) {
        let change = json!({ "status": status });
        let changed =
            self.api::<Pod>().patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Merge(&change)).await;
        match changed {
            Err(kube::Error::Api(answer)) if answer.code == 404 => {} // it was replaced meanwhile
            answer => drop(answer.unwrap()),
        }
    }

    /// Makes all pods of a part of a service ready, once there are `count`.
    pub(crate) async fn all_ready(&self, service: &str, part: &str, count: usize) {
        for pod in self.pods(&labels(service, part), count).await {
            self.make_ready(&pod).await;
        }
    }
}

/// Labels of the pods of a part of a service.
pub(crate) fn labels(service: &str, part: &str) -> String {
    format!("app.kubernetes.io/instance={service},app.kubernetes.io/component={part}")
}
