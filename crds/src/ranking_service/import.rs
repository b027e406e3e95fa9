//! `import`: a state that is built from past events.

use super::clickthrough::S3Credentials;
use super::pod::PodOptions;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A state that is built from past events.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Import {
    /// Where the events are.
    pub from: ImportFrom,
    /// First event that is read: earliest, ts=<unix time> or last=<duration>.
    #[serde(default = "earliest")]
    #[x_kube(validation = Rule::new("self.matches('^(earliest|ts=(-?[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}.*)|last=(0|( *[0-9.]+ *(?i:(ms|milli(s|seconds?)?|s|sec(s|onds?)?|m|min(s|utes?)?|h|hr|hours?|d|days?|w|weeks?)) *)+))$')")
        .message("offset is earliest, ts=<Unix time or ISO 8601 date and time> or last=<duration>, such as last=7d"))]
    #[schemars(length(min = 6, max = 64))]
    pub offset: String,
    /// Raise it to import the same once more.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub attempt: i64,
    /// Room on the node for files of a bucket, such as 10Gi: they are fetched before they are read.
    #[serde(default = "ten_gibibytes")]
    #[schemars(length(min = 1, max = 32), regex(pattern = super::pod::QUANTITY))]
    pub scratch_size: String,
    /// What an import may take, in seconds; then it is ended.
    #[serde(default = "a_day")]
    #[schemars(range(min = 60, max = 2592000))]
    pub active_deadline_seconds: i64,
    /// How often a failed import is tried again, from its beginning.
    #[serde(default = "two")]
    #[schemars(range(min = 0, max = 20))]
    pub backoff_limit: i32,
    /// The pod.
    #[serde(default)]
    pub pod: PodOptions,
}

/// Where past events are.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("has(self.s3) != has(self.stream)")
        .message("import.from has exactly one of s3 and stream")
)]
pub struct ImportFrom {
    /// Files in a bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3Events>,
    /// What the stream of ingest.source holds: {}.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamEvents>,
}

/// What a stream holds.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct StreamEvents {}

/// Files in a bucket.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct S3Events {
    /// The bucket.
    #[schemars(length(min = 3, max = 63))]
    pub bucket: String,
    /// A file, or what the keys of files begin with.
    #[schemars(length(min = 1, max = 512))]
    pub prefix: String,
    /// The bucket's region. Default: that of clickThroughStore.s3, or us-east-1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub region: Option<String>,
    /// Address of another service than Amazon's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512), regex(pattern = "^https?://"))]
    pub endpoint: Option<String>,
    /// A Secret with an access key. Default: the one of clickThroughStore.s3, else the identity of spec.serviceAccount or of
    /// the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<S3Credentials>,
}

fn earliest() -> String {
    "earliest".to_owned()
}

fn ten_gibibytes() -> String {
    "10Gi".to_owned()
}

fn a_day() -> i64 {
    86_400
}

fn two() -> i32 {
    2
}
