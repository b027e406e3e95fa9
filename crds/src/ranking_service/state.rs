//! `stateStore`: where feature values and models are kept.

use super::pod::KeyReference;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where feature values and models are kept.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.service) == has(oldSelf.service) && (!has(self.service) || self.service == oldSelf.service)")
        .message("stateStore.service is immutable: data under the old name would be left behind; create another RankingService")
)]
pub struct StateStore {
    /// Name under which the data lie in Redis and S3. Default: the namespace and name of this resource, as
    /// `<namespace>.<name>`. Set it, with takeOver, to take over data of another resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = "^[A-Za-z0-9._-]+$"))]
    pub service: Option<String>,
    /// Take over a state that belongs to another RankingService, of this cluster or another. Programs refuse it otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub take_over: bool,
    /// A Redis server, version 6.2 or newer.
    pub redis: Redis,
}

/// A Redis server, one that sentinels name, or a cluster.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("self.mode == 'Standalone' ? (has(self.host) && !has(self.nodes)) : (has(self.nodes) && !has(self.host))")
        .message("a Standalone Redis has a host and no nodes; Sentinel and Cluster have nodes, as host:port, and no host")
)]
#[x_kube(
    validation = Rule::new("(self.mode == 'Cluster') == (oldSelf.mode == 'Cluster')")
        .message("mode cannot change to or from Cluster: data would be left behind in the old servers; create another RankingService")
)]
#[x_kube(
    validation = Rule::new("has(self.masterName) == (self.mode == 'Sentinel')")
        .message("masterName, what the sentinels call the server, is needed with mode Sentinel, and with no other")
)]
#[serde(rename_all = "camelCase")]
pub struct Redis {
    /// How the servers are found: Standalone, Sentinel or Cluster.
    #[serde(default)]
    pub mode: RedisMode,
    /// Name or address of a Standalone server, without port and scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("!self.contains('/') && !self.matches('^[^:]*:[0-9]*$')")
        .message("host is a name or an address alone: give the port in stateStore.redis.port, and encryption by stateStore.redis.tls"))]
    #[schemars(length(min = 1, max = 253))]
    pub host: Option<String>,
    /// Port of a Standalone server.
    #[serde(default = "redis_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Sentinels, or some servers of a cluster, as host:port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[schemars(length(min = 1, max = 64), inner(length(min = 3, max = 261), regex(pattern = "^[^/]+:[0-9]{1,5}$")))]
    pub nodes: Option<Vec<String>>,
    /// What the sentinels call the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub master_name: Option<String>,
    /// Who logs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Login>,
    /// Encryption of the connection. Without it there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Numbers of the databases; a cluster has one database, and ignores them.
    #[serde(default)]
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("databases are immutable: data in the old ones would be left behind; create another RankingService"))]
    pub databases: Databases,
}

/// How many servers there are, and how they are found.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RedisMode {
    /// One server.
    #[default]
    Standalone,
    /// The one that sentinels name.
    Sentinel,
    /// All that some of them know of.
    Cluster,
}

/// Who logs in to Redis.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("!(has(self.username) && has(self.usernameSecretRef))")
        .message("give the user's name either as username or by usernameSecretRef")
)]
#[serde(rename_all = "camelCase")]
pub struct Login {
    /// The user, where the server has an access list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub username: Option<String>,
    /// A key of a Secret that holds the user's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username_secret_ref: Option<KeyReference>,
    /// A key of a Secret that holds the password.
    pub password_secret_ref: KeyReference,
}

/// Encryption of the connection.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct Tls {
    /// Whom to trust. Default: the authorities that the image knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<Authority>,
    /// What is verified of the server's certificate: Full (with the name), CertificateOnly, or Nothing, which protects from
    /// listeners alone.
    #[serde(default)]
    pub verify: Verify,
}

/// A certificate authority as PEM.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("has(self.secretRef) != has(self.configMapRef)")
        .message("give the certificate authority by exactly one of secretRef and configMapRef")
)]
#[serde(rename_all = "camelCase")]
pub struct Authority {
    /// A key of a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<KeyReference>,
    /// A key of a ConfigMap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<KeyReference>,
}

/// What of a server's certificate is verified.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// Certificate and name.
    #[default]
    Full,
    /// Certificate alone.
    CertificateOnly,
    /// Nothing.
    Nothing,
}

/// Numbers of databases.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Databases {
    /// Feature values, open rankings and positions.
    #[serde(default = "state_database")]
    #[schemars(range(min = 0, max = 65535))]
    pub state: i32,
    /// Click-throughs, where they are kept in Redis.
    #[serde(default = "click_through_database")]
    #[schemars(range(min = 0, max = 65535))]
    pub click_throughs: i32,
    /// Models.
    #[serde(default = "model_database")]
    #[schemars(range(min = 0, max = 65535))]
    pub models: i32,
}

impl Default for Databases {
    fn default() -> Self {
        Self { state: state_database(), click_throughs: click_through_database(), models: model_database() }
    }
}

fn redis_port() -> i32 {
    6379
}

fn state_database() -> i32 {
    0
}

fn click_through_database() -> i32 {
    2
}

fn model_database() -> i32 {
    3
}
