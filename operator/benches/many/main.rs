//! Many RankingServices at once: `rankwright-operator run` as a process of its own against a real API server, and how long
//! and how much memory it takes until all have converged. `e2e/bench operator` starts it, for `./run bench operator`.
//!
//! Without pods: it is the operator that is looked at, not a scheduler. The same objects made by plain requests, as many at a time,
//! are the limit of the cluster.

#![allow(clippy::unwrap_used)]

mod audit;
mod cluster;
mod process;

use audit::Audit;
use cluster::Cluster;
use process::Process;
use std::time::{Duration, Instant};

/// Nothing is written for this time: then it is quiet.
const QUIET: Duration = Duration::from_secs(10);

/// Longer than the operator waits before it looks at each resource again.
const AT_REST: Duration = Duration::from_secs(70);

#[tokio::main]
async fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let services = numbers.first().copied().unwrap_or(1000);
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let cluster = Cluster::prepare().await;
    println!("Load average at the start: {}", load());
    let took = cluster.apply(services).await;
    println!("{services} RankingServices applied in {:.1} s", took.as_secs_f64());

    let began = Instant::now();
    let mut operator = Process::start(&cluster);
    let converged = operator.until_told(services, Duration::from_secs(900)).await;
    println!("converged: {:.1} s", converged.as_secs_f64());
    println!("most memory by then: {:.0} MiB", operator.memory().1);
    let mut audit = Audit::of(&cluster);
    audit.table("requests until then");

    let quiet = audit.until_quiet(QUIET, Duration::from_secs(300)).await;
    println!("the last write: {:.1} s after the start", (began.elapsed() - quiet).as_secs_f64());
    audit.table("requests until then");
    let (count, seconds) = operator.reconciled().await;
    println!("{count} reconciliations, {:.1} ms each; processor time {:.1} s", seconds * 1e3 / count, operator.cpu());
    let before = audit.count();
    tokio::time::sleep(AT_REST).await;
    audit.read();
    println!(
        "at rest for {} s: {} requests, of which {} write",
        AT_REST.as_secs(),
        audit.count().0 - before.0,
        audit.count().1 - before.1
    );
    let (now, most) = operator.memory();
    println!("memory: {now:.0} MiB, at most {most:.0} MiB; processor time {:.1} s", operator.cpu());
    operator.end().await;

    let again = Process::start(&cluster);
    Audit::of(&cluster).until_quiet(QUIET, Duration::from_secs(300)).await;
    println!("an operator that starts beside {services} services: at most {:.0} MiB", again.memory().1);
    again.end().await;

    let (objects, took) = cluster.limit(services).await;
    println!("limit: the same {objects} objects by plain requests: {:.1} s", took.as_secs_f64());
    println!("Load average at the end: {}", load());
    cluster.clear().await;
}

fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
