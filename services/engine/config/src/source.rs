//! `source`: where events come from, besides the HTTP interface.

use rankwright_event::Timestamp;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Where events come from.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceConfig {
    /// First event that is read; default earliest.
    pub offset: Offset,
    /// How events are written; default json.
    pub format: EventFormat,
    /// What is read.
    pub kind: SourceKind,
    /// `deadLetter`: where unreadable messages of a stream go; absent: they are logged, counted and skipped.
    pub dead_letter: Option<DeadLetter>,
}

/// Where unreadable messages of a stream go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeadLetter {
    /// `path`: a file of JSON lines.
    File(PathBuf),
    /// `topic`: of the same Kafka cluster.
    Topic(String),
}

/// What events are read from.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceKind {
    /// `file`
    File {
        /// File or folder; absent where an argument names what is read.
        path: Option<PathBuf>,
        /// `sort`: in what order the files of a folder are read; default name.
        sort: FileOrder,
    },
    /// `kafka`
    Kafka {
        /// `brokers`, as `host:port`; never empty.
        brokers: Vec<String>,
        /// `topic`
        topic: String,
        /// `groupId`
        group_id: String,
        /// `options`: raw consumer parameters.
        options: BTreeMap<String, String>,
    },
    /// `pulsar`
    Pulsar {
        /// `serviceUrl`
        service_url: String,
        /// `adminUrl`
        admin_url: String,
        /// `topic`
        topic: String,
        /// `subscriptionName`
        subscription_name: String,
        /// `subscriptionType`; default exclusive.
        subscription_type: Subscription,
        /// `options`: consumer parameters, as the Java client names them.
        options: BTreeMap<String, String>,
    },
    /// `kinesis`
    Kinesis {
        /// `region`
        region: String,
        /// `topic`: name of the stream.
        topic: String,
        /// `endpoint`: URI of another service than Amazon's.
        endpoint: Option<String>,
    },
}

/// First event that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Offset {
    /// `earliest`: from the first one stored.
    #[default]
    Earliest,
    /// `latest`: only what arrives from now on.
    Latest,
    /// `ts=<time>`: from this time on.
    At(Timestamp),
    /// `last=<duration>`: from this long before now on.
    Last(Duration),
}

/// How events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventFormat {
    /// `json`: JSON lines or an array.
    #[default]
    Json,
    /// `snowplow:tsv` (also `snowplow`): enriched events of Snowplow, in columns.
    SnowplowTsv,
    /// `snowplow:json`: the same as JSON, one a line.
    SnowplowJson,
}

/// In what order the files of a folder are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileOrder {
    /// `name`
    #[default]
    Name,
    /// `time`: by the time of their first event.
    Time,
    /// `last-modified`: by the time of their last change.
    LastModified,
}

/// Who else may read a Pulsar subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subscription {
    /// Nobody.
    #[default]
    Exclusive,
    /// Others, at the same time, in no order.
    Shared,
    /// Others, when this one fails.
    Failover,
}
