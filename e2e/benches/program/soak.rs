//! Ranking, events and their click-throughs over Redis for long: what the programs take in memory, minute by minute.

use crate::import::over_redis;
use crate::load::Load;
use crate::shared::{Writes, run};
use crate::{Effort, process, wrk};
use rankwright_e2e::many::launch;
use rankwright_e2e::redis::Redis;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Different requests, sent in turn by so many connections.
const REQUESTS: usize = 200;
const CONNECTIONS: usize = 4;
/// Requests with a hundred events each, in a second.
const WRITES: u32 = 10;

/// Prints a line each minute.
pub(crate) fn measure(load: &Load, minutes: u32, folder: &Path) {
    let redis = Redis::started();
    let (service, path) = (redis.own_service("soak"), folder.join("soak.yml"));
    let config = over_redis(&load.config, &redis, folder);
    fs::write(&path, &config).expect("can be written");
    run("import", &path, &service, &["--data", &load.events.to_string_lossy()]);
    run("train", &path, &service, &[]);
    let start = |program: &str| launch(program, &config, &service, &folder.join(program));
    let (server, worker) = (start("rank-server"), start("ingest-worker"));
    let (writes, bodies) = (Writes::new(server.address(), load, WRITES), load.requests(50, REQUESTS));
    println!("minute  rank-server  ingest-worker  Redis        rankings/s  p99      events written");
    std::thread::scope(|scope| {
        scope.spawn(|| writes.send());
        for minute in 1..=minutes {
            let effort = Effort { runs: 1, span: Duration::from_secs(58) }; // and two to begin with
            let to = format!("/rank/{}", load.model);
            let of = wrk::load(server.address(), server.pid(), &to, &bodies, CONNECTIONS, effort, folder);
            let [served, worked] = [&server, &worker].map(|program| process::memory(program.pid()).0);
            let kept = redis.used_memory() as f64 / 1e6;
            println!(
                "{minute:>6}  {served:>8.1} MB  {worked:>10.1} MB  {kept:>8.1} MB  {:>10.0}  {:>5.1} ms  {:>12}",
                of.rate,
                of.p99,
                writes.sent.load(Ordering::Relaxed)
            );
        }
        writes.over.store(true, Ordering::Relaxed);
    });
}
