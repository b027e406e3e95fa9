//! `RankingService`: a rank API, an ingest worker and scheduled training over one state.

mod clickthrough;
mod import;
mod ingest;
mod monitoring;
mod page;
mod pod;
mod rank;
mod rollout;
mod state;
mod training;

pub use clickthrough::{ClickThroughStore, RedisClickThroughs, S3Credentials, S3Store};
pub use import::{Import, ImportFrom, S3Events, StreamEvents};
pub use ingest::{DeadLetter, Ingest, IngestAutoscaling, Kafka, KafkaLogin, Kinesis, Mechanism, Pulsar, Source};
pub use monitoring::{AlertRules, Dashboard, Monitoring, NetworkPolicy, PodMonitor};
pub use page::{Page, PageIngress, PageItem};
pub use pod::{
    ConfigMapVolume, EmptyDirVolume, ExtraVolume, KeyReference, PodOptions, RESERVED, SecretVolume, VolumeClaim,
};
pub use rank::{
    Autoscaling, DisruptionBudget, GatewayRoute, Ingress, ParentReference, Rank, RankTls, Service, ServiceType,
    TopologySpread, Unsatisfiable, Warmup,
};
pub use rollout::{IngestRollout, RankRollout};
pub use state::{Authority, Databases, Login, Redis, RedisMode, StateStore, Tls, Verify};
pub use training::{ModelSchedule, QualityGate, Training};

use crate::status::RankingServiceStatus;
use k8s_openapi::api::core::v1::LocalObjectReference;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a RankingService asks for.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[kube(
    group = "rankwright.dev",
    version = "v1alpha1",
    kind = "RankingService",
    plural = "rankingservices",
    shortname = "rksvc",
    category = "rankwright",
    namespaced,
    status = "RankingServiceStatus",
    derive = "PartialEq",
    doc = "A RankingService reranks search results and recommendations from visitor behaviour: servers that answer rank requests, workers that take in events, and a job that trains models on a schedule.",
    scale(
        spec_replicas_path = ".spec.rank.replicas",
        status_replicas_path = ".status.rank.replicas",
        label_selector_path = ".status.rank.selector"
    ),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status", description = "Whether what is wanted runs and answers"),
    printcolumn(name = "Status", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason", description = "Why it is so"),
    printcolumn(name = "Rank", type_ = "string", json_path = ".status.rank.ready", description = "Rank servers that are ready, of those wanted"),
    printcolumn(name = "Ingest", type_ = "string", json_path = ".status.ingest.ready", description = "Ingest workers that are ready, of those wanted"),
    printcolumn(name = "Model", type_ = "string", json_path = ".status.model", description = "Models that are served, with their versions"),
    printcolumn(name = "Schedule", type_ = "string", json_path = ".spec.training.schedule", description = "When models are trained"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("size(self.metadata.name) <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')")
        .message("metadata.name must be at most 40 lower case letters, digits and '-', beginning with a letter: Services and Jobs are named after it")
)]
#[x_kube(
    validation = Rule::new("!has(self.__import__) || !has(self.__import__.from.stream) || (has(self.ingest) && has(self.ingest.source))")
        .message("import.from.stream reads the stream of ingest.source, which is not given: add it, or import from s3")
)]
#[x_kube(
    validation = Rule::new("has(self.clickThroughStore) == has(oldSelf.clickThroughStore)")
        .message("clickThroughStore cannot be added or removed: what was collected would be left behind; create another RankingService")
)]
#[x_kube(
    validation = Rule::new("!(has(self.clickThroughStore) && has(self.clickThroughStore.s3) && has(self.clickThroughStore.s3.credentialsSecretRef) && has(self.ingest) && has(self.ingest.source) && has(self.ingest.source.kinesis) && has(self.ingest.source.kinesis.credentialsSecretRef)) || (self.clickThroughStore.s3.credentialsSecretRef.name == self.ingest.source.kinesis.credentialsSecretRef.name && self.clickThroughStore.s3.credentialsSecretRef.accessKeyIdKey == self.ingest.source.kinesis.credentialsSecretRef.accessKeyIdKey && self.clickThroughStore.s3.credentialsSecretRef.secretAccessKeyKey == self.ingest.source.kinesis.credentialsSecretRef.secretAccessKeyKey)")
        .message("a pod has one access key: ingest.source.kinesis.credentialsSecretRef must be that of clickThroughStore.s3, or be left out")
)]
#[x_kube(
    validation = Rule::new("!(has(self.clickThroughStore) && has(self.clickThroughStore.s3) && has(self.clickThroughStore.s3.credentialsSecretRef) && has(self.__import__) && has(self.__import__.from.s3) && has(self.__import__.from.s3.credentialsSecretRef)) || (self.clickThroughStore.s3.credentialsSecretRef.name == self.__import__.from.s3.credentialsSecretRef.name && self.clickThroughStore.s3.credentialsSecretRef.accessKeyIdKey == self.__import__.from.s3.credentialsSecretRef.accessKeyIdKey && self.clickThroughStore.s3.credentialsSecretRef.secretAccessKeyKey == self.__import__.from.s3.credentialsSecretRef.secretAccessKeyKey)")
        .message("a pod has one access key: import.from.s3.credentialsSecretRef must be that of clickThroughStore.s3, or be left out")
)]
#[x_kube(
    validation = Rule::new("!(has(self.ingest) && has(self.ingest.source) && has(self.ingest.source.kinesis) && has(self.ingest.source.kinesis.credentialsSecretRef) && has(self.__import__) && has(self.__import__.from.s3) && has(self.__import__.from.s3.credentialsSecretRef)) || (self.ingest.source.kinesis.credentialsSecretRef.name == self.__import__.from.s3.credentialsSecretRef.name && self.ingest.source.kinesis.credentialsSecretRef.accessKeyIdKey == self.__import__.from.s3.credentialsSecretRef.accessKeyIdKey && self.ingest.source.kinesis.credentialsSecretRef.secretAccessKeyKey == self.__import__.from.s3.credentialsSecretRef.secretAccessKeyKey)")
        .message("a pod has one access key: import.from.s3.credentialsSecretRef must be that of ingest.source.kinesis, or be left out")
)]
#[x_kube(
    validation = Rule::new("!(has(self.__import__) && has(self.__import__.from.s3) && has(self.__import__.from.s3.endpoint) && has(self.clickThroughStore) && has(self.clickThroughStore.s3)) || has(self.clickThroughStore.s3.endpoint)")
        .message("a pod has one address of S3, and click-throughs go to Amazon: leave import.from.s3.endpoint out, or give clickThroughStore.s3 an endpoint")
)]
#[serde(rename_all = "camelCase")]
pub struct RankingServiceSpec {
    /// Image with all programs of Rankwright. Default: the one that belongs to the operator's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,

    /// When images are pulled: Always, IfNotPresent or Never. Default: what Kubernetes does for the image's tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<PullPolicy>,

    /// Secrets with which images are pulled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[schemars(length(max = 16))]
    pub image_pull_secrets: Vec<LocalObjectReference>,

    /// What is ranked by what: features and models, as in a configuration file of the engine.
    pub configuration: Configuration,

    /// Where feature values and models are kept.
    pub state_store: StateStore,

    /// Where click-throughs are kept, which models learn from. Default: in the state store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub click_through_store: Option<ClickThroughStore>,

    /// The servers that answer rank requests.
    #[serde(default)]
    pub rank: Rank,

    /// The workers that take in events and close rankings.
    #[serde(default)]
    pub ingest: Ingest,

    /// Scheduled training. Without it nothing is trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,

    /// A backfill: a state is built from past events beside the live one, and takes its place when it is complete. It is
    /// done once for what is written here, and again when that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<Import>,

    /// Versions that are served in place of the current ones, by model: {"shop": "20261114T162500000Z-1a2b3c4d"}. Removing an entry goes back
    /// to the current version, which the last training that passed its gate has set. It wins over `rankwright models rollback`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = Rule::new("self.all(model, self[model].size() > 0 && self[model].size() <= 128)")
        .message("modelVersion holds versions as status.models lists them, such as {\"shop\": \"20261114T162500000Z-1a2b3c4d\"}"))]
    #[schemars(extend("maxProperties" = 64))]
    pub model_version: BTreeMap<String, String>,

    /// The identity of all pods, for rights in a cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<ServiceAccount>,

    /// What becomes of the data when this resource is deleted. Retain keeps what lies in Redis and S3. Delete removes it
    /// first, by a Job that runs `rankwright purge` on the nodes and with the variables and volumes of rank.pod; the resource goes
    /// when that has ended well.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,

    /// Takes over the objects of an earlier resource of this name that was deleted with `--cascade=orphan`: those with the
    /// labels that the operator gives them, and without an existing owner. Those that are not wanted go. Default: the operator leaves
    /// them alone and reports NameTaken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopt_orphans: bool,

    /// Metrics for the Prometheus operator, and a dashboard for Grafana.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,

    /// Who may reach the pods. Without it everybody in the cluster may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_policy: Option<NetworkPolicy>,
}

/// The engine's configuration, either here or in a ConfigMap.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[x_kube(
    validation = Rule::new("has(self.inline) != has(self.configMapRef)")
        .message("give the configuration either inline or by configMapRef")
)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// The configuration as it would stand in a file: features, models and core. What this resource has fields for
    /// (the addresses of state, train and source; the port) is refused here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub inline: Option<serde_json::Map<String, serde_json::Value>>,

    /// A ConfigMap of the same namespace that holds it as YAML. A change of its content is rolled out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<ConfigMapReference>,
}

/// A key of a ConfigMap.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct ConfigMapReference {
    /// Name of the ConfigMap.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in it.
    #[serde(default = "config_yml")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// When an image is pulled.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullPolicy {
    /// Each time a container starts.
    Always,
    /// When the node does not have it.
    IfNotPresent,
    /// It is there already.
    Never,
}

/// The identity of the pods.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[x_kube(
    validation = Rule::new("!(has(self.name) && has(self.annotations))")
        .message("annotations are for the service account that the operator makes: leave out name, or annotate that account yourself")
)]
pub struct ServiceAccount {
    /// A service account that exists. Default: one is made for this service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Annotations of the one that is made, such as `eks.amazonaws.com/role-arn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}

/// What becomes of the data of a resource that is deleted.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeletionPolicy {
    /// They stay.
    #[default]
    Retain,
    /// They are removed before.
    Delete,
}

fn config_yml() -> String {
    "config.yml".to_owned()
}

pub(super) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}
