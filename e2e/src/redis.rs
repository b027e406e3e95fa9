//! Redis servers of tests, and what our programs keep in them.

mod dump;
mod own_cluster;

use crate::{ports, wait};
use redis::{Commands, Connection};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

pub use own_cluster::OwnCluster;

/// The database that models are in where nothing else is said.
const MODELS: u8 = 3;

/// A server, or those of a cluster.
pub struct Redis {
    host: String,
    port: u16,
    /// All nodes, where it is a cluster.
    nodes: Vec<(String, u16)>,
    ca: Option<PathBuf>,
    own: Option<Own>,
}

/// A process that ends with its test.
struct Own {
    child: Child,
    folder: tempfile::TempDir,
}

/// A server that was killed.
pub struct Killed {
    port: u16,
    folder: tempfile::TempDir,
}

impl Drop for Own {
    fn drop(&mut self) {
        // it may have ended by itself
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn named(variable: &str) -> Option<String> {
    let named = std::env::var(variable).ok();
    if named.is_none() {
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{variable} is not set");
        println!("SKIPPED: {variable} names no Redis server");
    }
    named
}

/// `host:port`
fn address(text: &str) -> (String, u16) {
    let (host, port) = text.rsplit_once(':').expect("an address is host:port");
    (host.to_owned(), port.parse().expect("a port"))
}

impl Redis {
    /// The server that all tests share, at `RANKWRIGHT_TEST_REDIS`.
    ///
    /// # Panics
    /// When there is none and none may be missing.
    pub fn for_tests() -> Option<Self> {
        let (host, port) = address(&named("RANKWRIGHT_TEST_REDIS")?);
        Some(Self { host, port, nodes: Vec::new(), ca: None, own: None })
    }

    /// The one of the oldest version that is promised, at `RANKWRIGHT_TEST_REDIS_OLDER`.
    ///
    /// # Panics
    /// When there is none and none may be missing.
    pub fn older() -> Option<Self> {
        let (host, port) = address(&named("RANKWRIGHT_TEST_REDIS_OLDER")?);
        Some(Self { host, port, nodes: Vec::new(), ca: None, own: None })
    }

    /// The cluster that all tests share, whose nodes are in `RANKWRIGHT_TEST_REDIS_CLUSTER` with commas.
    ///
    /// # Panics
    /// When there is none and none may be missing.
    pub fn in_a_cluster() -> Option<Self> {
        let nodes: Vec<_> = named("RANKWRIGHT_TEST_REDIS_CLUSTER")?.split(',').map(address).collect();
        let (host, port) = nodes.first().expect("some nodes").clone();
        Some(Self { host, port, nodes, ca: None, own: None })
    }

    /// How a configuration names it.
    pub fn keys(&self) -> String {
        if self.nodes.is_empty() {
            return format!("host: {}, port: {}", self.host, self.port);
        }
        let nodes: Vec<String> = self.nodes.iter().map(|(host, port)| format!("\"{host}:{port}\"")).collect();
        format!("mode: cluster, nodes: [{}]", nodes.join(", "))
    }

    /// The same, for requests that are to succeed however busy the machine is.
    pub fn patient(&self) -> String {
        format!("{}, timeout: {{connect: 30s, command: 30s, socket: 30s}}", self.keys())
    }

    /// One with TLS and users: its port and CA are in `RANKWRIGHT_TEST_REDIS_TLS`, as `port:path`.
    ///
    /// # Panics
    /// When there is none and none may be missing.
    pub fn secured() -> Option<Self> {
        let address = named("RANKWRIGHT_TEST_REDIS_TLS")?;
        let (port, ca) = address.split_once(':').expect("port:path");
        let (host, port) = ("localhost".to_owned(), port.parse().expect("a port"));
        Some(Self { host, port, nodes: Vec::new(), ca: Some(ca.into()), own: None })
    }

    /// One that the test may kill.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn of_its_own() -> Option<Self> {
        named("RANKWRIGHT_TEST_REDIS").map(|_| Self::started())
    }

    /// One that is started now, and ends with what it was started for.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn started() -> Self {
        start(ports::free(1), tempfile::tempdir().expect("there is room for temporary files"))
    }

    /// The same; what it has answered is on the disk.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn on_disk() -> Self {
        let always = &["--appendfsync", "always"];
        start_with(ports::free(1), tempfile::tempdir().expect("there is room for temporary files"), always)
    }

    /// Its name or address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate to trust.
    ///
    /// # Panics
    /// When it has none.
    pub fn ca(&self) -> &Path {
        self.ca.as_deref().expect("a secured server")
    }

    /// Bytes that the server uses.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn used_memory(&self) -> u64 {
        let mut connection = self.connections().remove(0);
        let told: String = redis::cmd("INFO").arg("memory").query(&mut connection).expect("answers");
        let bytes = told.lines().find_map(|line| line.strip_prefix("used_memory:"));
        bytes.and_then(|bytes| bytes.trim().parse().ok()).expect("a number")
    }

    /// A service's name that no other test has.
    pub fn own_service(&self, name: &str) -> String {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let began = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        format!("{name}-{}-{}-{number}", std::process::id(), began.as_nanos())
    }

    /// Ends it as `kill -9` does.
    ///
    /// # Panics
    /// When it is not the test's own.
    pub fn killed(mut self) -> Killed {
        let mut own = self.own.take().expect("a server of the test's own");
        let _ = own.child.kill();
        let _ = own.child.wait();
        let folder = std::mem::replace(&mut own.folder, tempfile::tempdir().expect("there is room"));
        Killed { port: self.port, folder }
    }

    /// Whether all rankings of a service are closed, and their click-throughs are where they belong.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn is_settled(&self, service: &str) -> bool {
        self.is_done(service, &["joins", "waiting", "outbox"])
    }

    /// The same, wherever their click-throughs are.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn has_closed(&self, service: &str) -> bool {
        self.is_done(service, &["joins", "waiting"])
    }

    fn is_done(&self, service: &str, indexes: &[&str]) -> bool {
        let before = self.batches_of_the_closer(service);
        let left = |name: &str| self.indexes(service, name).into_iter().sum::<u64>();
        let empty = indexes.iter().all(|name| left(name) == 0);
        // in a cluster, a batch may be half done
        empty && before == self.batches_of_the_closer(service) && !before.1
    }

    /// How many there were, and whether one is on its way.
    fn batches_of_the_closer(&self, service: &str) -> (Option<u64>, bool) {
        let row = self.prefix(service) + "w:closer";
        self.of_its_node(|connection| Ok((connection.hget(&row, "sequence")?, connection.hexists(&row, "redo")?)))
    }

    /// How many batches a writer of a service has committed in a cluster.
    ///
    /// # Panics
    /// When it is not known there.
    pub fn batches(&self, service: &str, writer: &str) -> u64 {
        let row = format!("{}w:{writer}", self.prefix(service));
        self.of_its_node(|connection| connection.hget(&row, "sequence"))
    }

    /// Sizes of an index in all shards.
    fn indexes(&self, service: &str, name: &str) -> Vec<u64> {
        let (prefix, sharded) = (self.prefix(service), !self.nodes.is_empty());
        let sizes = |mut connection: Connection| -> redis::RedisResult<Vec<u64>> {
            // only a cluster has to be looked through, which would keep a large state from what it is asked by others
            let found = match sharded {
                false => vec![format!("{prefix}i:{name}")],
                true => connection.scan_match(format!("{prefix}*i:{name}"))?.collect::<redis::RedisResult<_>>()?,
            };
            found.into_iter().map(|key| connection.zcard(key)).collect()
        };
        let (mut answer, refusal) = (Vec::new(), RefCell::default());
        // a cluster is down for moments where its machine stood still
        let answered = || {
            let asked = self.connections().into_iter().map(sizes).collect::<redis::RedisResult<Vec<_>>>();
            asked.map(|sizes| answer = sizes.concat()).map_err(|refused| refusal.replace(Some(refused))).is_ok()
        };
        wait::until("answered by all nodes", || format!("{:?}", refusal.borrow()), answered);
        answer
    }

    /// Where a writer of a service stands; empty where it has not begun.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn position(&self, service: &str, writer: &str) -> String {
        let row = format!("{}w:{writer}", self.prefix(service));
        self.of_its_node(|connection| connection.hget::<_, _, Option<String>>(&row, "position")).unwrap_or_default()
    }

    /// How often a writer of a service has begun; 0 where it never did.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn epoch(&self, service: &str, writer: &str) -> u64 {
        let row = format!("{}w:{writer}", self.prefix(service));
        self.of_its_node(|connection| connection.hget::<_, _, Option<u64>>(&row, "epoch")).unwrap_or_default()
    }

    /// All values of a service without the stamps before them.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn values(&self, service: &str) -> BTreeMap<Vec<u8>, Vec<u8>> {
        const STAMP: usize = 8;
        let tag = if self.nodes.is_empty() { "" } else { "{*}:" };
        let pattern = format!("{}{tag}k:\u{1}*", self.prefix(service));
        let mut values = BTreeMap::new();
        for mut connection in self.connections() {
            let keys: Vec<Vec<u8>> =
                connection.scan_match(&pattern).expect("answers").map(|key| key.expect("bytes")).collect();
            for key in keys {
                let value: Vec<u8> = connection.get(&key).expect("answers");
                let start = key.windows(3).position(|part| part == b"k:\x01").expect("as the pattern says") + 3;
                values.insert(key[start..].to_vec(), value[STAMP..].to_vec());
            }
        }
        values
    }

    /// Names of all that a service has, in all databases of ours, each with the number of its database before it.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn names(&self, service: &str) -> Vec<String> {
        let mut names = Vec::new();
        for mut connection in self.connections() {
            for database in self.databases() {
                redis::cmd("SELECT").arg(database).exec(&mut connection).expect("answers");
                let found = connection.scan_match::<_, Vec<u8>>(format!("rw:{service}:*")).expect("answers");
                let named = |name: Vec<u8>| format!("{database} {}", String::from_utf8_lossy(&name));
                names.extend(found.map(|name| named(name.expect("bytes"))));
            }
        }
        names
    }

    /// Names of a service's keys in all databases of ours that have no time to live, in order.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn kept_for_ever(&self, service: &str) -> Vec<String> {
        let mut kept = Vec::new();
        for mut connection in self.connections() {
            for database in self.databases() {
                redis::cmd("SELECT").arg(database).exec(&mut connection).expect("answers");
                let found = connection.scan_match::<_, Vec<u8>>(format!("rw:{service}:*")).expect("answers");
                let names: Vec<Vec<u8>> = found.map(|name| name.expect("bytes")).collect();
                for name in names {
                    if redis::cmd("PTTL").arg(&name).query::<i64>(&mut connection).expect("answers") == -1 {
                        kept.push(String::from_utf8_lossy(&name).into_owned());
                    }
                }
            }
        }
        kept.sort_by(|left, right| left.rsplit(':').next().cmp(&right.rsplit(':').next()));
        kept
    }

    /// Which generation of a service's state is live.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn generation(&self, service: &str) -> u32 {
        let meta = format!("rw:{service}:meta");
        self.of_its_node(|connection| connection.hget::<_, _, Option<u32>>(&meta, "live")).unwrap_or(1)
    }

    /// Writes a field of what a service knows of its whole state.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn set_meta(&self, service: &str, field: &str, text: &str) {
        let meta = format!("rw:{service}:meta");
        self.of_its_node(|connection| connection.hset::<_, _, _, ()>(&meta, field, text));
    }

    /// A hash beside the versions of a service's models; empty where there is none.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn of_models(&self, service: &str, name: &str) -> BTreeMap<String, Vec<u8>> {
        self.models().hgetall(format!("rw:{service}:models:{name}")).expect("answers")
    }

    /// Writes a field of one.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn set_of_models(&self, service: &str, name: &str, field: &str, value: &[u8]) {
        let name = format!("rw:{service}:models:{name}");
        self.models().hset::<_, _, _, ()>(name, field, value).expect("answers");
    }

    /// The database with models, of one server.
    fn models(&self) -> Connection {
        let mut connection = self.connection();
        redis::cmd("SELECT").arg(MODELS).exec(&mut connection).expect("answers");
        connection
    }

    /// How all names of the live generation begin.
    fn prefix(&self, service: &str) -> String {
        format!("rw:{service}:{}:", self.generation(service))
    }

    /// Names of keys of a service, in all databases of ours, that have some text in their name or their value.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn with(&self, service: &str, text: &str) -> Vec<String> {
        let has_plainly = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        let has = |bytes: &[u8]| has_plainly(bytes) || unpacked(bytes).is_some_and(|bytes| has_plainly(&bytes));
        let within = |connection: &mut Connection, name: &[u8]| {
            let kind: String = redis::cmd("TYPE").arg(name).query(connection).expect("answers");
            let parts: Vec<Vec<u8>> = match kind.as_str() {
                "string" => vec![connection.get(name).expect("answers")],
                "zset" => connection.zrange(name, 0, -1).expect("answers"),
                "hash" => redis::cmd("HGETALL").arg(name).query(connection).expect("answers"),
                _ => Vec::new(), // it is gone by now
            };
            has(name) || parts.iter().any(|part| has(part))
        };
        let mut found = Vec::new();
        for mut connection in self.connections() {
            for database in self.databases() {
                redis::cmd("SELECT").arg(database).exec(&mut connection).expect("answers");
                let names = connection.scan_match::<_, Vec<u8>>(format!("rw:{service}:*")).expect("answers");
                let names: Vec<Vec<u8>> = names.map(|name| name.expect("bytes")).collect();
                let held = names.iter().filter(|name| within(&mut connection, name));
                found.extend(held.map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>());
            }
        }
        found
    }

    /// Those that our programs use: for state, click-throughs and models.
    fn databases(&self) -> &'static [u8] {
        if self.nodes.is_empty() { &[0, 2, MODELS] } else { &[0] }
    }

    /// What the node says that has a key: the others refuse. A cluster of which a node was slow has a moment in which none has
    /// it.
    fn of_its_node<T>(&self, ask: impl Fn(&mut Connection) -> redis::RedisResult<T>) -> T {
        let (mut answer, refusals) = (None, RefCell::default());
        wait::until(
            "answered by the node that has the key",
            || format!("{:?}", refusals.borrow()),
            || {
                let asked = self.connections().into_iter().map(|mut connection| ask(&mut connection));
                let (found, refused): (Vec<_>, Vec<_>) = asked.partition(Result::is_ok);
                refusals.replace(refused.into_iter().filter_map(Result::err).collect::<Vec<_>>());
                answer = found.into_iter().find_map(Result::ok);
                answer.is_some()
            },
        );
        answer.expect("it was waited for")
    }

    /// One to each node.
    fn connections(&self) -> Vec<Connection> {
        if self.nodes.is_empty() {
            return vec![self.connection()];
        }
        self.nodes.iter().map(|(host, port)| connected(host, *port).expect("the server answers")).collect()
    }

    fn connection(&self) -> Connection {
        connected(&self.host, self.port).expect("the server answers")
    }
}

/// A connection whose questions are answered in time, or fail.
fn connected(host: &str, port: u16) -> redis::RedisResult<Connection> {
    let client = redis::Client::open((host, port)).expect("an address");
    let connection = client.get_connection_with_timeout(wait::PATIENCE)?;
    connection.set_read_timeout(Some(wait::PATIENCE))?;
    Ok(connection)
}

impl Killed {
    /// The same again, with what it had written.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn started(self) -> Redis {
        start(self.port, self.folder)
    }
}

fn start(port: u16, folder: tempfile::TempDir) -> Redis {
    start_with(port, folder, &[])
}

fn start_with(port: u16, folder: tempfile::TempDir, options: &[&str]) -> Redis {
    let child = spawn(port, folder.path(), options);
    let redis = Redis { host: "127.0.0.1".into(), port, nodes: Vec::new(), ca: None, own: Some(Own { child, folder }) };
    wait::until("a server that answers", String::new, || answers(&redis.host, port));
    redis
}

/// A process with these options.
fn spawn(port: u16, folder: &Path, options: &[&str]) -> Child {
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--appendonly", "yes"])
        // it is written before an answer, and so stays when the process is killed; no answer waits for a disk that others use
        .args(["--appendfsync", "no"])
        .args(options)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server can be started")
}

fn answers(host: &str, port: u16) -> bool {
    connected(host, port).and_then(|mut connection| redis::cmd("PING").query::<String>(&mut connection)).is_ok()
}

/// What a value holds whose binary form was worth compressing: behind its stamp a version, a length, and LZ4.
fn unpacked(value: &[u8]) -> Option<Vec<u8>> {
    let packed = value.get(8..)?.strip_prefix(&[4])?;
    let length = u32::from_le_bytes(*packed.first_chunk()?) as usize;
    if length > packed.len() * 255 {
        return None; // it is something else
    }
    lz4_flex::decompress_size_prepended(packed).ok()
}
