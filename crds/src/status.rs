//! What the operator tells about a RankingService.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the operator tells about a RankingService.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct RankingServiceStatus {
    /// The generation of the resource that all of this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, Available, RankServerReady, IngestReady, ModelTrained, StateStoreReachable, StateIntact and ConfigurationValid; Reconciling or Stalled
    /// where they hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The rank servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<RankStatus>,
    /// The ingest workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingest: Option<WorkloadStatus>,
    /// The state in Redis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateStatus>,
    /// Models that are served, each with its version, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Each model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub models: Vec<ModelStatus>,
    /// The last training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<TrainingStatus>,
    /// The import that the spec asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<ImportStatus>,
    /// What works, and probably not as meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The rank servers.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct RankStatus {
    /// Servers that there are.
    pub replicas: i32,
    /// Servers that answer.
    pub ready_replicas: i32,
    /// Servers that answer, of those wanted, such as 2/3.
    pub ready: String,
    /// Labels of their pods, for the scale subresource.
    pub selector: String,
    /// Where they are reached in the cluster.
    pub endpoint: String,
    /// The image that all of them run; while they are replaced, the one that all ran last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// The ingest workers.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// Workers that there are.
    pub replicas: i32,
    /// Workers that work.
    pub ready_replicas: i32,
    /// Workers that work, of those wanted.
    pub ready: String,
}

/// The state in Redis.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct StateStatus {
    /// Which state the service works on: one that is made later in the same place has another id.
    pub id: String,
    /// Where it lies.
    pub place: String,
    /// The empty state that lies in its place, where it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
}

/// A model.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ModelStatus {
    /// Its name in the configuration.
    pub name: String,
    /// The version that all ready rank servers say they serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// When that one was trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trained_at: Option<String>,
    /// The version that spec.modelVersion or the configuration pins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<String>,
    /// The version that was served last, where it is gone and no other is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// Why no version is served, or which rank servers serve which, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What became of it in the last training that it took part in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_training: Option<ModelTraining>,
}

/// What became of a model in a training.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ModelTraining {
    /// Published, Kept, Nothing or Failed.
    pub outcome: String,
    /// What was decided, and why.
    pub message: String,
    /// The version that was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// When the training began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// What was compared, such as NDCG@10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The metric of the new version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<String>,
    /// The metric of the version that ran before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// The gate's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A training.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct TrainingStatus {
    /// Its pod, or its Job where that took the pod with it.
    pub pod: String,
    /// Published, Kept, Nothing or Failed: the worst of its models.
    pub outcome: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
    /// What went wrong, where something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// An import.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ImportStatus {
    /// What the spec asks for, as a digest: an import is done once for each.
    pub digest: String,
    /// Running, Complete, Failed or Lost.
    pub phase: ImportPhase,
    /// Its Job.
    pub job: String,
    /// The state that it filled, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How far an import is.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImportPhase {
    /// It was asked for.
    #[default]
    Running,
    /// Its state is live.
    Complete,
    /// The previous state stays live.
    Failed,
    /// It was complete, and another state lies in the place of the one that it filled.
    Lost,
}
