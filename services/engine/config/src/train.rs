//! `train`: where closed click-throughs are kept for training.

use crate::secret::Secret;
use crate::state::{Format, Redis};
use std::path::PathBuf;
use std::time::Duration;

/// How long a part in Redis is kept, unless `train` says otherwise: 365 days.
pub const TTL: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Where closed click-throughs are kept. Absent, they go where the state is.
#[derive(Debug, Clone, PartialEq)]
pub enum ClickthroughStore {
    /// `discard`: nowhere.
    Discard,
    /// `memory`: gone with the process.
    Memory,
    /// `file`
    File {
        /// Folder of the parts.
        path: PathBuf,
        /// How records are written; default binary.
        format: Format,
    },
    /// `redis`
    Redis {
        /// The server; of its options `cache` and `pipeline` are without meaning here.
        redis: Box<Redis>,
        /// `ttl`; default [`TTL`].
        ttl: Duration,
    },
    /// `s3`
    S3(Box<S3>),
}

/// An S3 bucket of click-throughs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3 {
    /// `bucket`
    pub bucket: String,
    /// `prefix`
    pub prefix: String,
    /// `region`
    pub region: String,
    /// `compress`; default gzip.
    pub compress: Compression,
    /// `partSizeBytes`, before compression; default 10 MiB.
    pub part_size_bytes: u64,
    /// `partSizeEvents`; default 1024.
    pub part_size_events: usize,
    /// `partInterval`; default 1 hour.
    pub part_interval: Duration,
    /// `endpoint`: URI of another service than Amazon's.
    pub endpoint: Option<String>,
    /// How records are written; default binary.
    pub format: Format,
    /// `cloudKey`; the environment's credentials are preferred.
    pub cloud_key: Option<Secret>,
    /// `cloudKeySecret`
    pub cloud_key_secret: Option<Secret>,
}

/// How parts are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// `none`
    None,
    /// `gzip`
    #[default]
    Gzip,
    /// `zst`
    Zstd,
}
