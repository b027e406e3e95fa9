//! `clickThroughStore`: what models learn from.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Where click-throughs are kept.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("has(self.s3) != has(self.redis)")
        .message("give exactly one of s3 and redis")
)]
#[x_kube(
    validation = Rule::new("has(self.s3) == has(oldSelf.s3)")
        .message("click-throughs cannot move between s3 and redis: what was collected would be left behind; create another RankingService")
)]
pub struct ClickThroughStore {
    /// A bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3Store>,
    /// The state store's Redis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis: Option<RedisClickThroughs>,
}

/// Click-throughs in a bucket.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct S3Store {
    /// The bucket.
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("bucket is immutable: click-throughs in the old one would be left behind; create another RankingService"))]
    #[schemars(length(min = 3, max = 63))]
    pub bucket: String,
    /// What the keys of click-throughs begin with.
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("prefix is immutable: click-throughs under the old one would be left behind; create another RankingService"))]
    #[schemars(length(min = 1, max = 512))]
    pub prefix: String,
    /// The bucket's region.
    #[schemars(length(min = 1, max = 64))]
    pub region: String,
    /// Address of another service than Amazon's, such as http://minio.storage:9000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512), regex(pattern = "^https?://"))]
    pub endpoint: Option<String>,
    /// A Secret with an access key. Default: the identity of spec.serviceAccount, or of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<S3Credentials>,
}

/// A Secret with an access key.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct S3Credentials {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key that holds the id of the access key.
    #[serde(default = "access_key_id")]
    #[schemars(length(min = 1, max = 253))]
    pub access_key_id_key: String,
    /// The key that holds the secret access key.
    #[serde(default = "secret_access_key")]
    #[schemars(length(min = 1, max = 253))]
    pub secret_access_key_key: String,
}

/// Click-throughs in the state store's Redis.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct RedisClickThroughs {
    /// How long they are kept, as a duration of the engine such as 90d.
    #[serde(default = "a_year")]
    #[schemars(length(min = 2, max = 32))]
    pub ttl: String,
}

fn access_key_id() -> String {
    "AWS_ACCESS_KEY_ID".to_owned()
}

fn secret_access_key() -> String {
    "AWS_SECRET_ACCESS_KEY".to_owned()
}

fn a_year() -> String {
    "365d".to_owned()
}
