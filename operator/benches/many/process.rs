//! The operator as a process.

use crate::cluster::Cluster;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// Ticks in a second, on every Linux that there is.
const TICKS: f64 = 100.0;

/// A process of the operator.
pub(crate) struct Process {
    child: Child,
    port: u16,
    began: Instant,
    log: PathBuf,
}

impl Process {
    /// Starts one for the cluster's namespace.
    pub(crate) fn start(cluster: &Cluster) -> Self {
        let (port, level_port) = (free_port(), free_port());
        let place = std::env::temp_dir().join(format!("{}.log", cluster.user));
        let log = std::fs::File::create(&place).unwrap();
        let program = std::env::var("RANKWRIGHT_OPERATOR_BIN");
        let child = Command::new(program.as_deref().unwrap_or(env!("CARGO_BIN_EXE_rankwright-operator")))
            .args(["run", "--namespace", &cluster.namespace, "--own-namespace", &cluster.namespace])
            .args(["--identity", "bench", "--image", "cluster.test/rankwright:1"])
            .args(["--port", &port.to_string(), "--level-port", &level_port.to_string()])
            .env("KUBECONFIG", &cluster.kubeconfig)
            .stderr(Stdio::from(log.try_clone().unwrap()))
            .stdout(Stdio::from(log))
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { child, port, began: Instant::now(), log: place }
    }

    /// Waits until the operator has written the status of this number of services, and says how long that took since its start.
    pub(crate) async fn until_told(&mut self, services: usize, patience: Duration) -> Duration {
        let line = "rankwright_operator_resources{condition=\"RankServerReady\",status=\"False\"} ";
        let (mut told, mut shown) = (0, Instant::now());
        while told < services {
            assert!(self.began.elapsed() < patience, "{told} of {services} after {} s", patience.as_secs());
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "the operator has ended: see {}", self.log.display());
            tokio::time::sleep(Duration::from_millis(200)).await;
            told = self.measured(line).await.map_or(0, |count| count as usize);
            if shown.elapsed() > Duration::from_secs(15) {
                eprintln!("{told} of {services} after {:.0} s", self.began.elapsed().as_secs_f64());
                shown = Instant::now();
            }
        }
        self.began.elapsed()
    }

    /// How often something was reconciled, and the seconds that took.
    pub(crate) async fn reconciled(&self) -> (f64, f64) {
        let of = async |what: &str| {
            self.measured(&format!("rankwright_operator_reconcile_duration_seconds_{what} ")).await.unwrap_or(f64::NAN)
        };
        (of("count").await, of("sum").await)
    }

    async fn measured(&self, name: &str) -> Option<f64> {
        self.metrics().await.ok()?.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    }

    async fn metrics(&self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    /// Resident memory in MiB, now and at most so far.
    pub(crate) fn memory(&self) -> (f64, f64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let of = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok())
                .map_or(f64::NAN, |kib| kib / 1024.0)
        };
        (of("VmRSS:"), of("VmHWM:"))
    }

    /// Processor time in seconds.
    pub(crate) fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit_once(") ").map_or(Vec::new(), |(_, rest)| rest.split(' ').collect());
        [11, 12].iter().filter_map(|&at| fields.get(at)?.parse::<f64>().ok()).sum::<f64>() / TICKS
    }

    /// Has it end, as a cluster would.
    pub(crate) async fn end(mut self) {
        assert!(Command::new("kill").arg(self.id().to_string()).status().await.unwrap().success());
        assert!(self.child.wait().await.unwrap().success(), "the operator did not end well");
    }

    fn id(&self) -> u32 {
        self.child.id().expect("it was not waited for")
    }
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}
