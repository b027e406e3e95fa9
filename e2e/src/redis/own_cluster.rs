//! A cluster that a test may kill.

use super::{Redis, answers, connected, spawn};
use crate::{ports, wait};
use redis::Commands;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// So long a node is held up to see whether a writer has come to stand where it should.
const HOLD: Duration = Duration::from_millis(400);

/// Three primaries; what they have answered is on the disk.
pub struct OwnCluster {
    nodes: Vec<Node>,
}

struct Node {
    port: u16,
    /// For what nodes tell each other.
    bus: u16,
    folder: tempfile::TempDir,
    child: Child,
}

impl OwnCluster {
    /// One that is started now; `None` where tests have no Redis.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn started() -> Option<Self> {
        super::named("RANKWRIGHT_TEST_REDIS")?;
        let first = ports::free(6);
        let cluster = Self { nodes: (0..3).map(|number| Node::new(first + number, first + 3 + number)).collect() };
        let addresses = cluster.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port));
        let mut create = Command::new("timeout"); // it waits for ever for a node that was not there in time
        create.args(["120", "redis-cli", "--cluster", "create"]).args(addresses).args([
            "--cluster-replicas",
            "0",
            "--cluster-yes",
        ]);
        let done = create.output().expect("redis-cli can be started");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        cluster.until_whole();
        Some(cluster)
    }

    /// For those who read and write in it.
    pub fn redis(&self) -> Redis {
        let nodes: Vec<_> = self.nodes.iter().map(|node| ("127.0.0.1".to_owned(), node.port)).collect();
        let (host, port) = nodes[0].clone();
        Redis { host, port, nodes, ca: None, own: None }
    }

    /// Holds a node up, so that no commit which concerns it gets on, at a moment when a writer of the service stands between its
    /// redo record, on one of the others, and its position.
    ///
    /// # Panics
    /// When none comes to stand there.
    pub fn held_up(&self, service: &str, number: usize, why: impl Fn() -> String) {
        let rows = self.redis().prefix(service) + "w:*";
        let others = || self.nodes.iter().enumerate().filter(|(place, _)| *place != number);
        let stands = || {
            self.hold(number);
            // who reads for the next batch is held up as well, and has no redo record
            let began = Instant::now();
            while began.elapsed() < HOLD {
                if others().any(|(_, node)| node.has_redo(&rows).unwrap_or(false)) {
                    return true;
                }
            }
            self.nodes[number].signal("CONT");
            false
        };
        wait::until("a writer between redo record and position", why, stands);
    }

    /// Holds a node up: it takes connections and answers nothing.
    pub fn hold(&self, number: usize) {
        self.nodes[number].signal("STOP");
    }

    /// Lets a node that was held up go on.
    pub fn let_go(&self, number: usize) {
        self.nodes[number].signal("CONT");
        self.until_whole();
    }

    /// Ends all nodes as `kill -9` does, and starts them with what they had written.
    ///
    /// # Panics
    /// When they do not come up.
    pub fn killed_and_started(&mut self) {
        self.kill();
        self.start();
    }

    /// Ends all nodes as `kill -9` does.
    pub fn kill(&mut self) {
        self.nodes.iter_mut().for_each(Node::kill);
    }

    /// Starts nodes that were killed with what they had written.
    ///
    /// # Panics
    /// When they do not come up.
    pub fn start(&mut self) {
        for node in &mut self.nodes {
            node.child = node.launch();
        }
        self.until_whole();
    }

    fn until_whole(&self) {
        let whole = |node: &Node| {
            let told = connected("127.0.0.1", node.port)
                .and_then(|mut asked| redis::cmd("CLUSTER").arg("INFO").query::<String>(&mut asked));
            told.is_ok_and(|told| told.contains("cluster_state:ok"))
        };
        wait::until("a whole cluster", String::new, || self.nodes.iter().all(whole));
    }
}

impl Node {
    /// Whether one of its rows has a redo record.
    fn has_redo(&self, rows: &str) -> redis::RedisResult<bool> {
        let mut connection = connected("127.0.0.1", self.port)?;
        let found = connection.scan_match::<_, String>(rows)?.collect::<redis::RedisResult<Vec<String>>>()?;
        for row in found {
            if connection.hexists(row, "redo")? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn new(port: u16, bus: u16) -> Self {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let child = launch(port, bus, folder.path());
        Self { port, bus, folder, child }
    }

    fn launch(&self) -> Child {
        launch(self.port, self.bus, self.folder.path())
    }

    fn signal(&self, name: &str) {
        let told = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", self.child.id())).status();
        assert!(told.is_ok_and(|status| status.success()), "the process could not be told");
    }

    fn kill(&mut self) {
        // it may have ended by itself
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

fn launch(port: u16, bus: u16, folder: &std::path::Path) -> Child {
    let bus = bus.to_string();
    let of_cluster = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", &bus];
    // one that is held up is not given up
    let patient = ["--cluster-node-timeout", "60000", "--cluster-allow-reads-when-down", "yes"];
    let child = spawn(port, folder, &[&of_cluster[..], &patient[..]].concat());
    wait::until("a node that answers", String::new, || answers("127.0.0.1", port));
    child
}
