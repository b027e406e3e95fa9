//! `monitoring` and `networkPolicy`.

use super::pod::{LABELS_HAVE_NAMES, NO_NAME_OF_A_LABEL, label_value, without_words};
use k8s_openapi::api::networking::v1::{NetworkPolicyEgressRule, NetworkPolicyPeer};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Metrics for the Prometheus operator, and a dashboard for Grafana.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("has(self.podMonitor) || has(self.alertRules) || has(self.dashboard)")
        .message("monitoring makes nothing by itself: give podMonitor, alertRules or dashboard; {} is enough for each")
)]
#[serde(rename_all = "camelCase")]
pub struct Monitoring {
    /// A PodMonitor, which has the metrics of rank servers and ingest workers read. Made where the Prometheus operator's API
    /// is there. Series get the labels `rankingservice`, its name, and `component`, rank or ingest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_monitor: Option<PodMonitor>,

    /// A PrometheusRule with the alerts of docs/kubernetes-runbooks.md for this service. Made where the Prometheus operator's
    /// API is there. The alerts find series by the labels that podMonitor gives them; without it, give these yourself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert_rules: Option<AlertRules>,

    /// A ConfigMap with a dashboard of this service, for Grafana's sidecar. It shows series by the same labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dashboard: Option<Dashboard>,
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
    #[x_kube(validation = Rule::new(LABELS_HAVE_NAMES).message(NO_NAME_OF_A_LABEL))]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = label_value()))]
    pub labels: BTreeMap<String, String>,
}

/// A PrometheusRule.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct AlertRules {
    /// Labels by which a Prometheus finds it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = Rule::new(LABELS_HAVE_NAMES).message(NO_NAME_OF_A_LABEL))]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = label_value()))]
    pub labels: BTreeMap<String, String>,
}

/// A ConfigMap with a dashboard.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Dashboard {
    /// Labels by which Grafana's sidecar finds it. Default: grafana_dashboard, which is "1".
    #[serde(default = "of_the_sidecar")]
    #[x_kube(validation = Rule::new(LABELS_HAVE_NAMES).message(NO_NAME_OF_A_LABEL))]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = label_value()))]
    pub labels: BTreeMap<String, String>,
}

const PEERS_ARE_OF_ONE_KIND: &str =
    "self.all(peer, has(peer.ipBlock) != (has(peer.podSelector) || has(peer.namespaceSelector)))";
const NO_PEER: &str = "who may send has ipBlock, or one or both of podSelector and namespaceSelector";

/// Who may reach the pods.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicy {
    /// Who may send rank requests, beside the pods of this namespace and the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(validation = Rule::new(PEERS_ARE_OF_ONE_KIND).message(NO_PEER))]
    #[schemars(length(max = 64))]
    pub rank_from: Vec<NetworkPolicyPeer>,
    /// Who may read metrics, such as Prometheus. They have the port of the rank requests, so these may send some, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(validation = Rule::new(PEERS_ARE_OF_ONE_KIND).message(NO_PEER))]
    #[schemars(length(max = 64))]
    pub metrics_from: Vec<NetworkPolicyPeer>,
    /// Where the pods of all parts may connect to, Jobs included; name lookups are let through as well. Default: anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), transform = without_words)]
    pub egress: Option<Vec<NetworkPolicyEgressRule>>,
}

fn half_a_minute() -> String {
    "30s".to_owned()
}

fn of_the_sidecar() -> BTreeMap<String, String> {
    [("grafana_dashboard".to_owned(), "1".to_owned())].into()
}
