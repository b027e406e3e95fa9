//! `rank.rollout` and `ingest.rollout`: how pods are replaced after a change, and when that counts as stuck.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// How rank servers are replaced.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("!((self.maxUnavailable == 0 || self.maxUnavailable == '0%') && (self.maxSurge == 0 || self.maxSurge == '0%'))")
        .message("rank.rollout: maxUnavailable and maxSurge must not both be 0: no server could be replaced")
)]
#[x_kube(
    validation = Rule::new("self.minReadySeconds < self.progressDeadlineSeconds")
        .message("rank.rollout: minReadySeconds must be below progressDeadlineSeconds")
)]
#[serde(rename_all = "camelCase")]
pub struct RankRollout {
    /// Servers that may be missing from the wanted number during a rollout: a number, or a share such as "25%".
    #[serde(default = "none")]
    #[schemars(schema_with = "number_or_share")]
    pub max_unavailable: IntOrString,
    /// Servers that may run beyond the wanted number during a rollout: a number, or a share such as "25%". As many begin with a
    /// change before it is known to work.
    #[serde(default = "one")]
    #[schemars(schema_with = "number_or_share")]
    pub max_surge: IntOrString,
    /// How long a new server has to be ready before it counts, in seconds; the next one waits for that.
    #[serde(default = "five_seconds")]
    #[schemars(range(min = 0, max = 3600))]
    pub min_ready_seconds: i32,
    /// A rollout without progress for this many seconds counts as stuck.
    #[serde(default = "five_minutes")]
    #[schemars(range(min = 10, max = 86400))]
    pub progress_deadline_seconds: i32,
    /// Stop a rollout at the first new server that would serve fewer models than the others, or not a pinned version: it does not
    /// get ready, and previous servers continue. Otherwise it answers in the incoming order.
    #[serde(default = "yes")]
    pub abort: bool,
}

impl Default for RankRollout {
    fn default() -> Self {
        Self {
            max_unavailable: none(),
            max_surge: one(),
            min_ready_seconds: five_seconds(),
            progress_deadline_seconds: five_minutes(),
            abort: true,
        }
    }
}

/// How ingest workers are replaced.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("self.minReadySeconds < self.progressDeadlineSeconds")
        .message("ingest.rollout: minReadySeconds must be below progressDeadlineSeconds")
)]
#[serde(rename_all = "camelCase")]
pub struct IngestRollout {
    /// A new worker counts when it has been ready for this many seconds.
    #[serde(default)]
    #[schemars(range(min = 0, max = 3600))]
    pub min_ready_seconds: i32,
    /// A rollout without progress for this many seconds counts as stuck.
    #[serde(default = "five_minutes")]
    #[schemars(range(min = 10, max = 86400))]
    pub progress_deadline_seconds: i32,
}

impl Default for IngestRollout {
    fn default() -> Self {
        Self { min_ready_seconds: 0, progress_deadline_seconds: five_minutes() }
    }
}

fn none() -> IntOrString {
    IntOrString::Int(0)
}

fn one() -> IntOrString {
    IntOrString::Int(1)
}

fn five_seconds() -> i32 {
    5
}

fn yes() -> bool {
    true
}

fn five_minutes() -> i32 {
    300
}

pub(super) fn number_or_share(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-int-or-string": true,
        "minimum": 0,
        "maximum": 1000,
        "maxLength": 4,
        "pattern": "^(100|[0-9]{1,2})%$",
    })
}
