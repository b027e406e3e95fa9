//! `ingest`: the workers that take in events and close rankings.

use super::clickthrough::S3Credentials;
use super::pod::{KeyReference, PodOptions};
use super::rollout::IngestRollout;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The workers that take in events. Without a source they close the rankings that `POST /feedback` has opened.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("!has(self.autoscaling) || (has(self.source) && has(self.source.kafka))")
        .message("ingest.autoscaling goes by the lag of a Kafka consumer group: give source.kafka, or set replicas")
)]
#[serde(rename_all = "camelCase")]
pub struct Ingest {
    /// The stream that is followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// How many workers there are; more than the stream has partitions have nothing to do. Not used while autoscaling is given.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: i32,
    /// Lets the lag decide how many there are. Needs KEDA: without its API there are minReplicas of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<IngestAutoscaling>,
    /// How workers are replaced after a change: all previous ones end before new ones start.
    #[serde(default)]
    pub rollout: IngestRollout,
    /// The pods.
    #[serde(default)]
    pub pod: PodOptions,
}

impl Default for Ingest {
    fn default() -> Self {
        Self {
            source: None,
            replicas: one(),
            autoscaling: None,
            rollout: IngestRollout::default(),
            pod: PodOptions::default(),
        }
    }
}

/// A ScaledObject of KEDA.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("self.minReplicas <= self.maxReplicas")
        .message("ingest.autoscaling: minReplicas must not be above maxReplicas")
)]
#[serde(rename_all = "camelCase")]
pub struct IngestAutoscaling {
    /// Never fewer workers; one at least closes rankings.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    pub min_replicas: i32,
    /// Never more workers.
    #[schemars(range(min = 1, max = 1000))]
    pub max_replicas: i32,
    /// Events that may wait for each worker.
    #[serde(default = "thousand")]
    #[schemars(range(min = 1, max = 100000000))]
    pub lag_threshold: i32,
    /// Name of a TriggerAuthentication of KEDA in this namespace, by which it logs in to read the lag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub authentication_ref: Option<String>,
}

/// A stream.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("[has(self.kafka), has(self.pulsar), has(self.kinesis)].filter(given, given).size() == 1")
        .message("give exactly one of kafka, pulsar and kinesis")
)]
#[x_kube(
    validation = Rule::new("!has(self.deadLetter) || !has(self.deadLetter.topic) || has(self.kafka)")
        .message("source.deadLetter.topic is a topic of Kafka: give path with another stream")
)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// First event that is read where there is no position yet: earliest, latest, ts=<unix time> or last=<duration>.
    #[serde(default = "earliest")]
    #[x_kube(validation = Rule::new("self.matches('^(earliest|latest|ts=(-?[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}.*)|last=(0|( *[0-9.]+ *(?i:(ms|milli(s|seconds?)?|s|sec(s|onds?)?|m|min(s|utes?)?|h|hr|hours?|d|days?|w|weeks?)) *)+))$')")
        .message("offset is earliest, latest, ts=<Unix time or ISO 8601 date and time> or last=<duration>, such as last=7d"))]
    #[schemars(length(min = 6, max = 64))]
    pub offset: String,
    /// Where messages go that are no events. Without it they are logged, counted and skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<DeadLetter>,
    /// A topic of Apache Kafka.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kafka: Option<Kafka>,
    /// A topic of Apache Pulsar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulsar: Option<Pulsar>,
    /// A stream of Amazon Kinesis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinesis: Option<Kinesis>,
}

/// Where messages go that are no events.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[x_kube(
    validation = Rule::new("has(self.topic) != has(self.path)")
        .message("give exactly one of topic and path in source.deadLetter")
)]
pub struct DeadLetter {
    /// With Kafka: a topic of the same brokers. It takes a message as it was, and where it stood and what is wrong as headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 249))]
    pub topic: Option<String>,
    /// A file that gets a line of JSON for each message. It must lie on a volume that outlives pods and that all of them mount: of
    /// ingest.pod, and of import.pod where the stream is imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 1024), regex(pattern = "^/"))]
    pub path: Option<String>,
}

/// A topic of Apache Kafka.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("!has(self.auth) || !has(self.options) || self.options.all(key, !key.startsWith('sasl.'))")
        .message("auth sets what begins with sasl.: leave it out of options")
)]
#[x_kube(
    validation = Rule::new("!has(self.auth) || !has(self.options) || !('security.protocol' in self.options) || self.options['security.protocol'] in ['sasl_ssl', 'SASL_SSL', 'sasl_plaintext', 'SASL_PLAINTEXT']")
        .message("with auth the option security.protocol is sasl_ssl, which it is by itself, or sasl_plaintext")
)]
#[serde(rename_all = "camelCase")]
pub struct Kafka {
    /// Servers, as host:port.
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[schemars(length(min = 1, max = 64), inner(length(min = 3, max = 261), regex(pattern = ":[0-9]{1,5}$")))]
    pub brokers: Vec<String>,
    /// The topic.
    #[schemars(length(min = 1, max = 249))]
    pub topic: String,
    /// The consumer group.
    #[schemars(length(min = 1, max = 255))]
    pub group_id: String,
    /// Who logs in by a password (SASL); over TLS, unless options have another security.protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<KafkaLogin>,
    /// Further options of the consumer, as librdkafka names them. Credentials are refused, as this is no place for them:
    /// give auth, or log in by a client certificate, whose files a volume of ingest.pod brings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = Rule::new("self.all(key, !key.contains('password') && !key.contains('.pem') && !key.contains('oauthbearer') && !key.contains('jaas') && key != 'ssl.keystore.key')")
        .message("options hold no credentials: give auth, or mount a client certificate by ingest.pod.volumes, and name its files in ssl.certificate.location and ssl.key.location"))]
    #[schemars(extend("maxProperties" = 64))]
    pub options: BTreeMap<String, String>,
}

/// Who logs in to Kafka by a password (SASL).
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("has(self.username) != has(self.usernameSecretRef)")
        .message("give the user's name for Kafka by exactly one of username and usernameSecretRef")
)]
#[serde(rename_all = "camelCase")]
pub struct KafkaLogin {
    /// How the password is shown: ScramSha512, ScramSha256 or Plain.
    #[serde(default)]
    pub mechanism: Mechanism,
    /// The user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub username: Option<String>,
    /// A key of a Secret that holds the user's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username_secret_ref: Option<KeyReference>,
    /// A key of a Secret that holds the password.
    pub password_secret_ref: KeyReference,
}

/// How a password is shown to Kafka.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mechanism {
    /// SCRAM-SHA-512.
    #[default]
    ScramSha512,
    /// SCRAM-SHA-256.
    ScramSha256,
    /// PLAIN: the password itself, as managed services want it. Without TLS everybody on the way can read it.
    Plain,
}

/// A topic of Apache Pulsar.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Pulsar {
    /// Address of the brokers, such as pulsar://pulsar:6650.
    #[schemars(length(max = 512), regex(pattern = "^pulsar(\\+ssl)?://"))]
    pub service_url: String,
    /// Address of the admin interface, such as http://pulsar:8080.
    #[schemars(length(max = 512), regex(pattern = "^https?://"))]
    pub admin_url: String,
    /// The topic.
    #[schemars(length(min = 1, max = 512))]
    pub topic: String,
    /// The subscription.
    #[schemars(length(min = 1, max = 255))]
    pub subscription_name: String,
    /// Further options of the consumer, as the Java client names them. A token comes from a file: authParams is
    /// file:///path, which a volume of ingest.pod brings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = Rule::new("!('authParams' in self) || self['authParams'].startsWith('file://')")
        .message("options hold no credentials: mount the token by ingest.pod.volumes, and set authParams to file:///path"))]
    #[schemars(extend("maxProperties" = 64))]
    pub options: BTreeMap<String, String>,
}

/// A stream of Amazon Kinesis.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Kinesis {
    /// The stream's region.
    #[schemars(length(min = 1, max = 64))]
    pub region: String,
    /// Name of the stream.
    #[schemars(length(min = 1, max = 128))]
    pub stream: String,
    /// Address of another service than Amazon's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512), regex(pattern = "^https?://"))]
    pub endpoint: Option<String>,
    /// A Secret with an access key. Default: the one of clickThroughStore.s3, else the identity of spec.serviceAccount or of
    /// the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<S3Credentials>,
}

fn one() -> i32 {
    1
}

fn thousand() -> i32 {
    1000
}

fn earliest() -> String {
    "earliest".to_owned()
}
