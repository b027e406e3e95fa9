//! Servers of a test's own, which it may kill: those of the scripts in `servers`.

use crate::ports;
use crate::proxy::Proxy;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A server that ends with its test.
pub struct Server {
    script: PathBuf,
    port: u16,
    /// What the script is told beside `start`.
    only: &'static [&'static str],
    environment: Vec<(&'static str, String)>,
    folder: tempfile::TempDir,
}

impl Server {
    /// A broker of Kafka; `None` where tests have none.
    pub fn kafka() -> Option<Self> {
        crate::kafka::broker()?;
        let port = ports::free(4);
        let environment = vec![("KAFKA_PORT", port.to_string()), ("KAFKA_HEAP", "256m".to_owned())];
        Some(Self::start("kafka.sh", port, environment))
    }

    /// A broker that is reached through a proxy, which tells its clients so; its address is the one beside the proxy.
    pub fn kafka_behind_a_proxy() -> Option<(Self, Proxy)> {
        crate::kafka::broker()?;
        let port = ports::free(5);
        let proxy = Proxy::to(port + 4);
        let also = format!("127.0.0.1:{} 127.0.0.1:{}", port + 4, proxy.port());
        let environment =
            vec![("KAFKA_PORT", port.to_string()), ("KAFKA_HEAP", "256m".to_owned()), ("KAFKA_ALSO", also)];
        Some((Self::start("kafka.sh", port, environment), proxy))
    }

    /// An S3 service with a bucket; `None` where tests have none.
    pub fn s3(bucket: &str) -> Option<Self> {
        Self::s3_with_keys(bucket, "test", "testsecret")
    }

    /// The same with keys of its own.
    pub fn s3_with_keys(bucket: &str, key: &str, secret: &str) -> Option<Self> {
        crate::s3()?;
        let port = ports::free(1);
        let keys = [("S3_ACCESS_KEY", key), ("S3_SECRET_KEY", secret), ("S3_BUCKETS", bucket)];
        let mut environment = keys.map(|(name, value)| (name, value.to_owned())).to_vec();
        environment.push(("S3_PORT", port.to_string()));
        Some(Self::start("s3.sh", port, environment))
    }

    /// A Redis, its replica, and three sentinels who call the Redis `rw`; `None` where tests have none.
    pub fn sentinels() -> Option<Self> {
        crate::redis::Redis::for_tests()?;
        let port = ports::free(11);
        let environment = vec![("REDIS_CLUSTER_PORT", port.to_string())];
        Some(Self::start_only("redis-cluster.sh", port, &["sentinel"], environment))
    }

    /// The addresses of the sentinels, as a configuration names them.
    pub fn sentinel_addresses(&self) -> String {
        let addresses: Vec<_> = (8..11).map(|place| format!("\"127.0.0.1:{}\"", self.port + place)).collect();
        format!("[{}]", addresses.join(", "))
    }

    fn start(script: &str, port: u16, environment: Vec<(&'static str, String)>) -> Self {
        Self::start_only(script, port, &[], environment)
    }

    fn start_only(
        script: &str,
        port: u16,
        only: &'static [&'static str],
        environment: Vec<(&'static str, String)>,
    ) -> Self {
        let script = Path::new("servers").join(script);
        // goes away with those of the run, should the test be killed; its file system keeps the attributes that S3 needs
        let folder = match std::env::var_os("SERVERS_RUN") {
            Some(run) => tempfile::tempdir_in(run),
            None => tempfile::tempdir(),
        };
        let server =
            Self { script, port, only, environment, folder: folder.expect("there is room for temporary files") };
        server.started();
        server
    }

    /// `host:port`
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its own port, whatever leads to it.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its data lies.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends it as `kill -9` does.
    ///
    /// # Panics
    /// When that fails.
    pub fn killed(&self) {
        self.run(&["kill"]);
    }

    /// Ends one process of several so.
    ///
    /// # Panics
    /// When that fails.
    pub fn killed_of(&self, name: &str) {
        self.run(&["kill", name]);
    }

    /// Starts it with what it had written.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn started(&self) {
        self.run(&[&["start"], self.only].concat());
    }

    fn run(&self, what: &[&str]) {
        let path = self.folder().join("said");
        let said = || std::fs::File::create(&path).expect("can be written");
        let mut command = Command::new(&self.script);
        command.args(what).env("SERVERS_RUN", self.folder()).envs(self.environment.iter().map(|(k, v)| (k, v)));
        // no pipes: the server would keep them open
        let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said()).status();
        let well = ended.is_ok_and(|status| status.success());
        assert!(well, "{} {what:?}: {}", self.script.display(), std::fs::read_to_string(&path).unwrap_or_default());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut wipe = Command::new(&self.script);
        let wipe = wipe.arg("wipe").env("SERVERS_RUN", self.folder()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = wipe.status(); // it may have ended by itself
    }
}
