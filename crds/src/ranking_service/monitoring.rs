//! `monitoring` and `networkPolicy`.

use k8s_openapi::api::networking::v1::NetworkPolicyPeer;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Metrics for the Prometheus operator.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Monitoring {
    /// A PodMonitor, which has the metrics of rank servers and ingest workers read. Made where the Prometheus operator's API
    /// is there.
    pub pod_monitor: PodMonitor,
}

/// A PodMonitor.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct PodMonitor {
    /// How often metrics are read, such as 30s.
    #[serde(default = "half_a_minute")]
    #[schemars(length(min = 2, max = 16), regex(pattern = "^[0-9]+(ms|s|m)$"))]
    pub interval: String,
    /// Labels by which a Prometheus finds it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub labels: BTreeMap<String, String>,
}

/// Who may reach the pods.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicy {
    /// Who may send rank requests, beside the pods of this namespace and the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub rank_from: Vec<NetworkPolicyPeer>,
    /// Who may read metrics, such as Prometheus. They have the port of the rank requests, so these may send some, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub metrics_from: Vec<NetworkPolicyPeer>,
}

fn half_a_minute() -> String {
    "30s".to_owned()
}
