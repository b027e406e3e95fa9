//! The program, as a cluster runs it.

use crate::cluster::{Cluster, in_own_namespace};
use crate::samples::minimal;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use rankwright_crds::RankingService;
use rankwright_operator::lease::{Candidate, LEASE, Timing};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rankwright-operator");

/// A process of the operator.
pub(crate) struct Process {
    child: Child,
    port: u16,
    level_port: u16,
}

impl Process {
    fn start(namespace: &str, identity: &str) -> Self {
        Self::of(namespace, namespace, identity)
    }

    /// One whose own namespace is this, and which looks at those, separated by commas.
    pub(crate) fn of(own: &str, namespaces: &str, identity: &str) -> Self {
        Self::with(own, namespaces, identity, &[])
    }

    fn with(own: &str, namespaces: &str, identity: &str, further: &[&str]) -> Self {
        let port = rankwright_e2e::ports::free(2);
        let level_port = port + 1;
        let child = Command::new(PROGRAM)
            .args(["run", "--namespace", namespaces, "--own-namespace", own, "--identity", identity])
            .args(["--image", "cluster.test/rankwright:1", "--log-format", "json"])
            .args(["--port", &port.to_string(), "--level-port", &level_port.to_string()])
            .args(further)
            .env("KUBECONFIG", std::env::var_os("RANKWRIGHT_TEST_KUBECONFIG").unwrap())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { child, port, level_port }
    }

    /// Has the process told to end, and gives what it has logged.
    pub(crate) async fn end(mut self) -> String {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").arg(id).status().await.unwrap().success());
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).await.unwrap();
        assert!(self.child.wait().await.unwrap().success(), "{log}");
        log
    }
}

/// The answer to a request, with its head.
async fn ask(port: u16, request: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let length = body.len();
    let text = format!("{request} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

#[tokio::test]
async fn the_program_works_tells_of_itself_and_hands_over_when_it_ends() {
    let Some(cluster) = in_own_namespace().await else { return };
    let first = Process::start(&cluster.namespace, "first");
    cluster.until(LEASE, "is the first one's", |lease: &Lease| holder(lease) == "first").await;
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.unready("shop").await;
    assert!(ask(first.port, "GET /health", "").await.starts_with("HTTP/1.1 200"));
    assert!(ask(first.port, "GET /ready", "").await.starts_with("HTTP/1.1 200"));
    for name in [
        "rankwright_operator_reconcile_duration_seconds_count",
        "rankwright_operator_resources{condition=\"Ready\",status=\"False\"} 1",
        "process_resident_memory_bytes",
    ] {
        let end = Instant::now() + Duration::from_secs(30);
        while !ask(first.port, "GET /metrics", "").await.contains(name) {
            assert!(Instant::now() < end, "{name} is missing");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    assert!(ask(first.level_port, "PUT /log-level", "debug").await.starts_with("HTTP/1.1 200"));
    assert!(ask(first.level_port, "PUT /log-level", "no=such=level").await.starts_with("HTTP/1.1 400"));

    let second = Process::start(&cluster.namespace, "second");
    let log = first.end().await;
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["message"] == "applied" && line["object"] == "Deployment shop-rank"), "{log}");
    assert!(lines.iter().any(|line| line["level"] == "DEBUG"), "the level was changed: {log}");
    let warned = |line: &serde_json::Value| line["message"].as_str().is_some_and(|text| text.contains("--cluster-id"));
    assert!(lines.iter().any(warned), "it may not read what tells this cluster from others: {log}");
    cluster.until(LEASE, "is the second one's", |lease: &Lease| holder(lease) == "second").await;
    cluster.delete::<Deployment>("shop-rank").await;
    cluster.until("shop-rank", "came back", |_: &Deployment| true).await;
    second.end().await;
}

#[tokio::test]
async fn another_process_takes_over_from_one_that_was_killed() {
    let Some(cluster) = in_own_namespace().await else { return };
    let mut first = Process::start(&cluster.namespace, "first");
    cluster.until(LEASE, "is the first one's", |lease: &Lease| holder(lease) == "first").await;
    let _second = Process::start(&cluster.namespace, "second");
    first.child.kill().await.unwrap();
    cluster.apply::<RankingService>("shop", minimal()).await;
    cluster.until("shop-rank", "was made", |_: &Deployment| true).await;
    let lease: Lease = cluster.get(LEASE).await;
    assert_eq!((holder(&lease), lease.spec.as_ref().unwrap().lease_transitions), ("second", Some(1)));
}

#[tokio::test]
async fn an_operator_that_is_confined_to_some_namespaces_goes_on_with_the_mark_of_states() {
    let Some(cluster) = in_own_namespace().await else { return };
    let client = kube::Client::try_from(cluster.operator_config()).unwrap();
    let of_all = Candidate::new(client, &cluster.namespace, "of-all".to_owned(), Timing::default());
    let of_all = of_all.of_cluster(Some("c-7".to_owned()));
    of_all.acquire().await;
    of_all.release().await;
    let confined = Process::start(&cluster.namespace, "confined");
    assert_eq!(mark(&cluster).await, format!("c-7/{}/shop", cluster.namespace));
    confined.end().await;
}

#[tokio::test]
async fn an_operator_that_is_confined_to_some_namespaces_marks_states_by_the_id_that_it_is_given() {
    let Some(cluster) = in_own_namespace().await else { return };
    let name = &cluster.namespace;
    let confined = Process::with(name, name, "confined", &["--cluster-id", "c-9"]);
    assert_eq!(mark(&cluster).await, format!("c-9/{name}/shop"));
    confined.end().await;
    let client = kube::Client::try_from(cluster.operator_config()).unwrap();
    let next = Candidate::new(client, name, "next".to_owned(), Timing::default());
    assert_eq!(next.known_cluster().await.unwrap().as_deref(), Some("c-9"), "it stays without the option");
}

/// How the rank servers of the minimal service mark their state.
async fn mark(cluster: &Cluster) -> String {
    cluster.apply::<RankingService>("shop", minimal()).await;
    let rank: Deployment = cluster.until("shop-rank", "was made", |_: &Deployment| true).await;
    let container = &rank.spec.unwrap().template.spec.unwrap().containers[0];
    let owner = container.env.iter().flatten().find(|variable| variable.name == "RANKWRIGHT_OWNER");
    owner.unwrap().value.clone().unwrap()
}

#[tokio::test]
async fn the_program_prints_and_installs_what_it_manages() {
    let printed = Command::new(PROGRAM).arg("crds").output().await.unwrap().stdout;
    assert_eq!(String::from_utf8(printed).unwrap(), rankwright_crds::yaml());
    let version = Command::new(PROGRAM).arg("version").output().await.unwrap().stdout;
    assert_eq!(String::from_utf8(version).unwrap().trim(), env!("CARGO_PKG_VERSION"));
    let Some(_cluster) = in_own_namespace().await else { return };
    let kubeconfig = std::env::var_os("RANKWRIGHT_TEST_KUBECONFIG").unwrap();
    let installed = Command::new(PROGRAM).arg("install").env("KUBECONFIG", kubeconfig).output().await.unwrap();
    assert!(String::from_utf8(installed.stdout).unwrap().contains("rankingservices.rankwright.dev is installed"));
}
