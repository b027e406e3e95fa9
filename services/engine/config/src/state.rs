//! `state`: where feature values and models are kept.

use crate::secret::Secret;
use std::path::PathBuf;
use std::time::Duration;

/// Where feature values and models are kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum State {
    /// `memory`: gone with the process.
    #[default]
    Memory,
    /// `redis`: shared.
    Redis(Box<Redis>),
    /// `file`: local disk.
    File(FileState),
}

/// A state on local disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// Folder of the store.
    pub path: PathBuf,
    /// How values are written; default binary.
    pub format: Format,
}

/// How stored values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Small and fast.
    #[default]
    Binary,
    /// Readable.
    Json,
}

/// A Redis server and how it is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Redis {
    /// Host name or address; the first of the nodes where only those are given.
    pub host: String,
    /// Port.
    pub port: u16,
    /// `mode`, with what belongs to it; default one server.
    pub topology: Topology,
    /// How values are written; default binary.
    pub format: Format,
    /// Client-side caching.
    pub cache: Cache,
    /// Batching of writes.
    pub pipeline: Pipeline,
    /// `auth.user`; needed only where ACLs are enabled.
    pub user: Option<String>,
    /// `auth.password`.
    pub password: Option<Secret>,
    /// Encryption.
    pub tls: Tls,
    /// Time limits.
    pub timeout: Timeout,
    /// Database numbers.
    pub db: Databases,
}

/// How many servers there are, and how they are found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Topology {
    /// `standalone`: the one at host and port.
    #[default]
    Standalone,
    /// `sentinel`: the one that sentinels name.
    Sentinel(Sentinels),
    /// `cluster`: all that these know of.
    Cluster(Vec<Node>),
}

/// Who is asked for the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentinels {
    /// `nodes`: where they are.
    pub nodes: Vec<Node>,
    /// `sentinel.master`: what they call the server.
    pub master: String,
    /// `sentinel.user`
    pub user: Option<String>,
    /// `sentinel.password`
    pub password: Option<Secret>,
}

/// A server's name or address, and its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// Client-side caching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cache {
    /// `maxSize`: entries per kind of cache; default 1024, 0 disables caching.
    pub max_size: usize,
    /// `ttl`: dropped this long after the last read; default 1 hour.
    pub ttl: Duration,
    /// Whether `ttl` was given: only then may rows be cached without client tracking.
    pub ttl_given: bool,
    /// `clientTracking`: the server says what changed; default true.
    pub client_tracking: bool,
}

/// Batching of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipeline {
    /// `maxSize`: writes in a batch; default 128.
    pub max_size: usize,
    /// `flushPeriod`; default 1 second.
    pub flush_period: Duration,
    /// `enabled`; default true.
    pub enabled: bool,
}

/// Encryption of the connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// `enabled`; default false.
    pub enabled: bool,
    /// `ca`: certificates to trust in place of the system's.
    pub ca: Option<PathBuf>,
    /// `verify`; default full.
    pub verify: Verify,
}

/// What of a server's certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// Certificate and host name.
    #[default]
    Full,
    /// Certificate alone.
    Ca,
    /// Nothing.
    Off,
}

/// Time limits, each 1 second by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// `connect`
    pub connect: Duration,
    /// `socket`
    pub socket: Duration,
    /// `command`
    pub command: Duration,
}

/// Database numbers; 0, 1, 2, 3 by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Databases {
    /// State with joins and positions.
    pub state: u16,
    /// Accepted, and not needed.
    pub values: u16,
    /// Click-throughs.
    pub rankings: u16,
    /// Models.
    pub models: u16,
}

impl Default for Cache {
    fn default() -> Self {
        Self { max_size: 1024, ttl: Duration::from_secs(60 * 60), ttl_given: false, client_tracking: true }
    }
}

impl Default for Pipeline {
    fn default() -> Self {
        Self { max_size: 128, flush_period: Duration::from_secs(1), enabled: true }
    }
}

impl Default for Timeout {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self { connect: second, socket: second, command: second }
    }
}

impl Default for Databases {
    fn default() -> Self {
        Self { state: 0, values: 1, rankings: 2, models: 3 }
    }
}
