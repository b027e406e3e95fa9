//! Servers that a test may kill, each with a folder that goes away with it.

use rankwright_redis::redis::{Client, FromRedisValue, RedisResult, cmd};
use rankwright_redis::{Address, Link, Settings, Topology, testing};
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LONGEST: Duration = Duration::from_secs(60);

/// Starts on other ports, where one is taken.
const ATTEMPTS: usize = 10;

/// A server's process; it is killed when the test is over.
pub(super) struct Server {
    pub(super) address: Address,
    /// Where other nodes of a cluster talk to it.
    talk: u16,
    folder: tempfile::TempDir,
    options: Vec<String>,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        // it may have ended by itself
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(options: &[&str]) -> Self {
        Self::start_in(|| tempfile::tempdir().expect("there is room for temporary files"), options)
    }

    /// Starts one on ports of its own: one that finds a port taken ends, and others are tried.
    fn start_in(folder: impl Fn() -> tempfile::TempDir, options: &[&str]) -> Self {
        for _ in 0..ATTEMPTS {
            let (folder, address, talk) = (folder(), Address::new("127.0.0.1", free_port()), free_port());
            let mut options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
            if options.iter().any(|option| option == "--cluster-enabled") {
                options.extend(["--cluster-port".to_owned(), talk.to_string()]);
            }
            let child = spawn(&address, &folder, &options);
            let mut server = Self { address, talk, folder, options, child };
            let mut ended = false;
            until("a server comes up", || {
                ended = server.child.try_wait().expect("it can be asked").is_some();
                ended || server.is_up()
            });
            if !ended {
                return server;
            }
        }
        panic!("redis-server ends at once, {ATTEMPTS} times, with {options:?}");
    }

    /// One that keeps nothing on disk.
    pub(super) fn alone() -> Self {
        Self::start(&[])
    }

    /// How it is reached.
    pub(super) fn settings(&self) -> Settings {
        testing_settings(&self.address)
    }

    /// Ends it as a crash would.
    pub(super) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Starts it again on what it has left.
    pub(super) fn restart(&mut self) {
        self.child = spawn(&self.address, &self.folder, &self.options);
        until("a server comes back", || self.is_up());
    }

    /// Whether it answers, itself and not another server at its port.
    fn is_up(&self) -> bool {
        let asked = || -> RedisResult<String> {
            let client = Client::open((self.address.host.as_str(), self.address.port))?;
            let mut connection = client.get_connection_with_timeout(Duration::from_secs(1))?;
            connection.set_read_timeout(Some(Duration::from_secs(1)))?;
            cmd("INFO").arg("server").query(&mut connection)
        };
        asked().is_ok_and(|about| about.contains(&format!("process_id:{}\r", self.child.id())))
    }

    pub(super) async fn ask<T: FromRedisValue + Send>(&self, words: &[&str]) -> Option<T> {
        let settings = testing_settings(&self.address);
        let link = Link::new(settings, None).expect("needs no certificates");
        let answer = link.send("", |mut connection| {
            let mut command = cmd(words[0]);
            words[1..].iter().for_each(|word| {
                command.arg(*word);
            });
            async move { command.query_async(&mut connection).await }
        });
        answer.await.ok()
    }
}

fn testing_settings(address: &Address) -> Settings {
    Settings { topology: Topology::Standalone, ..Settings::new(address.host.clone(), address.port) }
}

fn spawn(address: &Address, folder: &tempfile::TempDir, options: &[String]) -> Child {
    let mut command = Command::new("redis-server");
    // a sentinel's configuration comes first
    let (config, options) = match options.first() {
        Some(first) if first == "--sentinel" => (vec![folder.path().join("sentinel.conf")], options),
        _ => (Vec::new(), options),
    };
    command.args(config).args(["--port", &address.port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"]);
    command.arg(folder.path()).args(options);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("redis-server is installed")
}

fn free_port() -> u16 {
    // below those that are given out to connections, where a server's talk to others would collide with them
    loop {
        let port = fastrand::u16(10_000..20_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Waits for something that has to come about.
pub(super) fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let start = Instant::now();
    while !reached() {
        assert!(start.elapsed() < LONGEST, "{what}: not within {LONGEST:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The same for what takes a question.
pub(super) async fn until_async<F: Future<Output = bool>>(what: &str, reached: impl Fn() -> F) {
    let start = Instant::now();
    while !reached().await {
        assert!(start.elapsed() < LONGEST, "{what}: not within {LONGEST:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Three servers that share the slots; a server that is away is missed at once. What they have answered is with the system by
/// then and outlives them, and none of them waits for a disk.
pub(super) async fn cluster() -> (Vec<Server>, Settings) {
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(Server::start(&[
            "--appendonly",
            "yes",
            "--appendfsync",
            "no",
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            "1000",
        ]));
    }
    for (server, slots) in servers.iter().zip([("0", "5460"), ("5461", "10922"), ("10923", "16383")]) {
        let _: String = server.ask(&["CLUSTER", "ADDSLOTSRANGE", slots.0, slots.1]).await.expect("takes slots");
    }
    for other in &servers[1..] {
        let Address { host, port } = &servers[0].address;
        let (host_of_other, port_of_other) = (&other.address.host, other.address.port.to_string());
        let words = ["CLUSTER", "MEET", host_of_other.as_str(), &port_of_other, &other.talk.to_string()];
        let _: String = servers[0].ask(&words).await.unwrap_or_else(|| panic!("{host}:{port} meets others"));
    }
    let settings = testing::cluster_of(servers.iter().map(|server| server.address.clone()).collect());
    formed(&servers).await;
    (servers, settings)
}

/// Waits until all servers of a cluster agree that it is whole.
pub(super) async fn formed(servers: &[Server]) {
    for server in servers {
        until_async("a cluster forms", || async {
            let about: Option<String> = server.ask(&["CLUSTER", "INFO"]).await;
            about.is_some_and(|about| about.contains("cluster_state:ok") && about.contains("cluster_known_nodes:3"))
        })
        .await;
    }
}

/// A server, its replica, and a sentinel that decides alone.
pub(super) async fn watched() -> (Vec<Server>, Settings) {
    let primary = Server::start(&["--appendonly", "yes", "--repl-diskless-sync-delay", "0"]);
    let of = format!("127.0.0.1 {}", primary.address.port);
    let replica = Server::start(&["--appendonly", "yes", "--repl-diskless-sync-delay", "0", "--replicaof", &of]);
    let sentinel = sentinel(&primary.address);
    until_async("a replica follows", || async {
        let (about, known) = (
            replica.ask::<String>(&["INFO", "replication"]).await,
            sentinel.ask::<String>(&["INFO", "sentinel"]).await,
        );
        about.is_some_and(|about| about.contains("master_link_status:up"))
            && known.is_some_and(|known| known.contains("slaves=1"))
    })
    .await;
    let settings = testing::sentinel_of(vec![sentinel.address.clone()]);
    (vec![primary, replica, sentinel], settings)
}

fn sentinel(primary: &Address) -> Server {
    let rules = format!(
        "sentinel monitor rw 127.0.0.1 {} 1\nsentinel down-after-milliseconds rw 300\nsentinel failover-timeout rw 3000\n",
        primary.port
    );
    let folder = || {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        std::fs::write(folder.path().join("sentinel.conf"), &rules).expect("there is room for it");
        folder
    };
    Server::start_in(folder, &["--sentinel"])
}

/// Has a sentinel make the replica the master once it has seen everything, and waits until the former master has become a
/// replica.
pub(super) async fn fail_over(sentinel: &Server, former: &Server, replica: &Server) {
    until_async("the replica has seen everything", || async {
        let (ahead, behind) = (seen(former).await, seen(replica).await);
        ahead.is_some() && ahead == behind
    })
    .await;
    until_async("a failover begins", || async {
        sentinel.ask::<String>(&["SENTINEL", "FAILOVER", "rw"]).await.is_some()
    })
    .await;
    until_async("the master becomes a replica", || async {
        let about = former.ask::<String>(&["INFO", "replication"]).await;
        about.is_some_and(|about| about.contains("role:slave"))
    })
    .await;
}

/// How far a server has come in what it replicates.
async fn seen(server: &Server) -> Option<String> {
    let about: String = server.ask(&["INFO", "replication"]).await?;
    let value = |name: &str| about.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    value("slave_repl_offset:").or_else(|| value("master_repl_offset:"))
}

/// Moves a slot with all its keys from one server of a cluster to another, as an operator does: all servers are told, and
/// agree before anything else is done. One that hears of it late, after a further move has given the former owner a later
/// epoch, takes the slot for the former owner's and has it given back, without its keys.
pub(super) async fn move_slot(slot: u16, servers: &[Server], from: usize, to: usize) {
    let (all, from, to) = (servers, &servers[from], &servers[to]);
    let (number, mut ids) = (slot.to_string(), Vec::new());
    for server in [from, to] {
        ids.push(server.ask::<String>(&["CLUSTER", "MYID"]).await.expect("has an id"));
    }
    let _: String = to.ask(&["CLUSTER", "SETSLOT", &number, "IMPORTING", &ids[0]]).await.expect("takes it");
    let _: String = from.ask(&["CLUSTER", "SETSLOT", &number, "MIGRATING", &ids[1]]).await.expect("gives it");
    let link = Link::new(testing_settings(&from.address), None).expect("needs no certificates");
    let moved = link.send("", |mut connection| {
        let (number, address) = (&number, &to.address);
        async move {
            let mut listing = cmd("CLUSTER");
            listing.arg("GETKEYSINSLOT").arg(number).arg(10_000);
            let keys: Vec<Vec<u8>> = listing.query_async(&mut connection).await?;
            for key in keys {
                let mut migrate = cmd("MIGRATE");
                migrate.arg(&address.host).arg(address.port).arg(key).arg(0).arg(5000);
                migrate.query_async::<String>(&mut connection).await?;
            }
            Ok(())
        }
    });
    moved.await.expect("keys move");
    let others = all.iter().filter(|server| ![from.address.port, to.address.port].contains(&server.address.port));
    for server in [to, from].into_iter().chain(others) {
        let _: String = server.ask(&["CLUSTER", "SETSLOT", &number, "NODE", &ids[1]]).await.expect("knows of it");
    }
    until_async("all servers know who has what", || async {
        let mut sights = BTreeSet::new();
        for server in all {
            sights.insert(sight(server).await);
        }
        sights.len() == 1
    })
    .await;
}

/// Who has which slots in which epoch, as a server of a cluster sees it.
async fn sight(server: &Server) -> Option<BTreeSet<String>> {
    let nodes: String = server.ask(&["CLUSTER", "NODES"]).await?;
    // <id> <address> <flags> <master> <ping> <pong> <epoch> <link> <slots>
    let of_one = |node: &str| {
        let words: Vec<&str> = node.split(' ').collect();
        format!("{} {} {}", words[0], words[6], words[8..].join(" "))
    };
    Some(nodes.lines().map(of_one).collect())
}
