//! `rank`: the servers that answer rank requests.

use super::page::Page;
use super::pod::{KeyReference, PodOptions, without_words};
use super::rollout::{RankRollout, number_or_share};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerBehavior;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The servers that answer rank requests.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("!has(self.autoscaling) || !has(self.autoscaling.cpuUtilization) || !has(self.pod) || !has(self.pod.resources) || [has(self.pod.resources.requests) && 'cpu' in self.pod.resources.requests, has(self.pod.resources.limits) && 'cpu' in self.pod.resources.limits].exists(given, given)")
        .message("rank.autoscaling.cpuUtilization is a share of the requested processor time: give rank.pod.resources.requests.cpu")
)]
#[x_kube(
    validation = Rule::new("!(has(self.ingress) && has(self.gatewayRoute))")
        .message("give either ingress or gatewayRoute: two ways in would answer for the same host")
)]
#[serde(rename_all = "camelCase")]
pub struct Rank {
    /// How many servers there are; `kubectl scale` changes it. Not used while autoscaling is given.
    #[serde(default = "two")]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: i32,
    /// Lets the load decide how many there are, by a HorizontalPodAutoscaler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,
    /// How many servers a drained node or an upgrade of the cluster may take away at once.
    #[serde(default)]
    pub disruption_budget: DisruptionBudget,
    /// How servers are replaced after a change.
    #[serde(default)]
    pub rollout: RankRollout,
    /// How the servers spread over nodes and zones.
    #[serde(default)]
    pub topology_spread: TopologySpread,
    /// The Service in front of them.
    #[serde(default)]
    pub service: Service,
    /// An Ingress before the Service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Ingress>,
    /// An HTTPRoute of a Gateway before the Service. Needs the Gateway API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_route: Option<GatewayRoute>,
    /// Encrypts the port of the servers (TLS). Without it they speak HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<RankTls>,
    /// The token that POST /train, PUT /log-level and what the page protects need. Without it, /train needs none, /log-level is
    /// closed, and the page answers kubectl port-forward alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_secret_ref: Option<KeyReference>,
    /// The page for browsers, which shows what models see and do. Default: as the configuration's api.page says, which is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<Page>,
    /// What is replayed before a server calls itself ready, and before it takes up a new version, for models whose
    /// configuration does not say.
    #[serde(default)]
    pub warmup: Warmup,
    /// What a server may take to end when it is stopped, in seconds: 5 until no node sends it any more, then all but 10
    /// for running requests.
    #[serde(default = "forty_five")]
    #[schemars(range(min = 10, max = 600))]
    pub termination_grace_period_seconds: i64,
    /// The pods.
    #[serde(default)]
    pub pod: PodOptions,
}

impl Default for Rank {
    fn default() -> Self {
        Self {
            replicas: two(),
            autoscaling: None,
            disruption_budget: DisruptionBudget::default(),
            rollout: RankRollout::default(),
            topology_spread: TopologySpread::default(),
            service: Service::default(),
            ingress: None,
            gateway_route: None,
            tls: None,
            token_secret_ref: None,
            page: None,
            warmup: Warmup::default(),
            termination_grace_period_seconds: forty_five(),
            pod: PodOptions::default(),
        }
    }
}

/// How the port of the servers is encrypted.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RankTls {
    /// A Secret with tls.crt and tls.key, as cert-manager makes it. Servers take up a new certificate without a restart.
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: String,
}

/// A name of DNS, in lower case.
const SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// One, or all of a domain, such as `*.example.com`.
pub(super) const HOST: &str = r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// A HorizontalPodAutoscaler.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("self.minReplicas <= self.maxReplicas")
        .message("rank.autoscaling: minReplicas must not be above maxReplicas")
)]
#[x_kube(
    validation = Rule::new("has(self.cpuUtilization) || has(self.requestsPerSecond)")
        .message("give cpuUtilization, requestsPerSecond or both: without a target nothing scales")
)]
#[serde(rename_all = "camelCase")]
pub struct Autoscaling {
    /// Never fewer servers.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 1000))]
    pub min_replicas: i32,
    /// Never more servers.
    #[schemars(range(min = 1, max = 1000))]
    pub max_replicas: i32,
    /// Percent of the requested processor time that a server should use. Needs a request in pod.resources, which there is
    /// by default, and the metrics server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub cpu_utilization: Option<i32>,
    /// Rank requests a second that a server should answer. Needs an adapter that offers the rate of
    /// service_rank_requests_total as the metric of pods `rankwright_rank_requests_per_second`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000000))]
    pub requests_per_second: Option<i32>,
    /// How long the load has to be low before servers are taken away, in seconds.
    #[serde(default = "five_minutes")]
    #[schemars(range(min = 0, max = 3600))]
    pub scale_down_stabilization_seconds: i32,
    /// How fast it scales, as a HorizontalPodAutoscaler has it. A window in scaleDown replaces scaleDownStabilizationSeconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = without_words)]
    pub behavior: Option<HorizontalPodAutoscalerBehavior>,
}

/// A PodDisruptionBudget.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct DisruptionBudget {
    /// Servers that may be taken away at once: a number, or a share such as "25%"; 0 blocks the draining of nodes.
    #[serde(default = "one")]
    #[schemars(schema_with = "number_or_share")]
    pub max_unavailable: IntOrString,
}

impl Default for DisruptionBudget {
    fn default() -> Self {
        Self { max_unavailable: one() }
    }
}

/// How the servers spread.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TopologySpread {
    /// Labels of nodes over whose values the servers spread evenly; an empty list lets them lie anywhere.
    #[serde(default = "hosts_and_zones")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[schemars(length(max = 8), inner(length(min = 1, max = 253)))]
    pub topology_keys: Vec<String>,
    /// What happens to a server that cannot be placed evenly: ScheduleAnyway or DoNotSchedule.
    #[serde(default)]
    pub when_unsatisfiable: Unsatisfiable,
}

impl Default for TopologySpread {
    fn default() -> Self {
        Self { topology_keys: hosts_and_zones(), when_unsatisfiable: Unsatisfiable::default() }
    }
}

/// What happens to a pod that cannot be placed evenly.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsatisfiable {
    /// It runs all the same.
    #[default]
    ScheduleAnyway,
    /// It waits.
    DoNotSchedule,
}

/// The Service of the servers.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("self.type == 'LoadBalancer' || !(has(self.loadBalancerClass) || has(self.loadBalancerSourceRanges))")
        .message("rank.service: loadBalancerClass and loadBalancerSourceRanges need type LoadBalancer")
)]
#[x_kube(
    validation = Rule::new("self.type != 'ClusterIP' || !has(self.externalTrafficPolicy)")
        .message("rank.service: externalTrafficPolicy needs type LoadBalancer or NodePort")
)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// ClusterIP, NodePort or LoadBalancer.
    #[serde(rename = "type", default)]
    pub type_: ServiceType,
    /// Its port.
    #[serde(default = "http_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Its annotations, such as those that a load balancer reads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub annotations: BTreeMap<String, String>,
    /// Which load balancer is asked for. Default: the cloud's. Kubernetes does not let it change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub load_balancer_class: Option<String>,
    /// Addresses that the load balancer lets in, such as 10.0.0.0/8. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[x_kube(validation = Rule::new("self.all(range, isCIDR(range))").message("loadBalancerSourceRanges has ranges of addresses, such as 10.0.0.0/8"))]
    #[schemars(length(max = 64), inner(length(min = 3, max = 64)))]
    pub load_balancer_source_ranges: Vec<String>,
    /// Whether requests from outside may change the node, which hides their address. Default: Cluster, they may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_traffic_policy: Option<TrafficPolicy>,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            type_: ServiceType::default(),
            port: http_port(),
            annotations: BTreeMap::new(),
            load_balancer_class: None,
            load_balancer_source_ranges: Vec::new(),
            external_traffic_policy: None,
        }
    }
}

/// Whether requests from outside may change the node.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficPolicy {
    /// They go to servers of all nodes.
    Cluster,
    /// They stay on the node that they reach.
    Local,
}

impl TrafficPolicy {
    /// As Kubernetes writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cluster => "Cluster",
            Self::Local => "Local",
        }
    }
}

/// From where a Service is reached.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServiceType {
    /// Inside the cluster.
    #[default]
    ClusterIP,
    /// On a port of every node.
    NodePort,
    /// By a load balancer of the cloud.
    LoadBalancer,
}

impl ServiceType {
    /// As Kubernetes writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClusterIP => "ClusterIP",
            Self::NodePort => "NodePort",
            Self::LoadBalancer => "LoadBalancer",
        }
    }
}

/// An Ingress.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Ingress {
    /// The host name that it answers for.
    #[schemars(length(min = 1, max = 253), regex(pattern = HOST))]
    pub host: String,
    /// The paths that it answers for, each with all below. Name /feedback where events come from outside; /metrics, /status and what changes models are better left inside.
    #[serde(default = "questions")]
    #[schemars(length(min = 1, max = 32), inner(length(min = 1, max = 1024), regex(pattern = "^/")))]
    pub paths: Vec<String>,
    /// One path in place of paths; / is all that a server has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), regex(pattern = "^/"))]
    pub path: Option<String>,
    /// Its class. Default: the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub ingress_class_name: Option<String>,
    /// A Secret with its certificate. Without one it is not encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub tls_secret_name: Option<String>,
    /// Its annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub annotations: BTreeMap<String, String>,
}

/// An HTTPRoute.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GatewayRoute {
    /// The Gateways that it belongs to.
    #[schemars(length(min = 1, max = 8))]
    pub parent_refs: Vec<ParentReference>,
    /// The host names that it answers for. Default: those of the Gateway.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[schemars(length(max = 16), inner(length(min = 1, max = 253), regex(pattern = HOST)))]
    pub hostnames: Vec<String>,
    /// The paths that it answers for, each with all below.
    #[serde(default = "questions")]
    #[schemars(length(min = 1, max = 32), inner(length(min = 1, max = 1024), regex(pattern = "^/")))]
    pub paths: Vec<String>,
}

/// A Gateway.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ParentReference {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace. Default: that of this resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub namespace: Option<String>,
    /// Name of its listener. Default: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = SUBDOMAIN))]
    pub section_name: Option<String>,
}

/// What is replayed before serving.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Warmup {
    /// Number of rankings that training samples and stores with the model.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 100000))]
    pub sampled_requests: i32,
    /// How long it takes at most, in seconds.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 600))]
    pub duration_seconds: i32,
}

impl Default for Warmup {
    fn default() -> Self {
        Self { sampled_requests: hundred(), duration_seconds: ten() }
    }
}

fn one() -> IntOrString {
    IntOrString::Int(1)
}

fn two() -> i32 {
    2
}

fn ten() -> i32 {
    10
}

fn hundred() -> i32 {
    100
}

fn forty_five() -> i64 {
    45
}

fn five_minutes() -> i32 {
    300
}

fn http_port() -> i32 {
    8080
}

/// Paths that answer questions and change nothing.
fn questions() -> Vec<String> {
    ["/rank", "/recommend", "/inference", "/v1/rerank", "/v2/rerank", "/v1/embeddings"].map(str::to_owned).to_vec()
}

fn hosts_and_zones() -> Vec<String> {
    vec!["kubernetes.io/hostname".to_owned(), "topology.kubernetes.io/zone".to_owned()]
}
