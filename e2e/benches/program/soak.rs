//! Ranking, events and their click-throughs over Redis for long: what the programs take in memory, minute by minute.

use crate::import::over_redis;
use crate::load::Load;
use crate::shared::{EVENTS, Writes, run};
use crate::{Effort, process, wrk};
use rankwright_e2e::many::launch;
use rankwright_e2e::redis::Redis;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Different requests, sent in turn by a number of connections.
const REQUESTS: usize = 200;
const CONNECTIONS: usize = 4;
/// Requests with events, in a second, at most.
const WRITES: u32 = 5;

/// Prints a line each minute.
pub(crate) fn measure(load: &Load, minutes: u32, folder: &Path) {
    let redis = Redis::on_disk();
    let (service, path) = (redis.own_service("soak"), folder.join("soak.yml"));
    let config = over_redis(&load.config, &redis, folder);
    fs::write(&path, &config).expect("can be written");
    run("import", &path, &service, &["--data", &load.events.to_string_lossy()]);
    run("train", &path, &service, &[]);
    let start = |program: &str| launch(program, &config, &service, &folder.join(program));
    let (server, worker) = (start("rank-server"), start("ingest-worker"));
    let rate = rate(load, minutes);
    let (writes, bodies) = (Writes::new(server.address(), load, rate), load.requests(50, REQUESTS));
    println!("minute  rank-server  ingest-worker  Redis        rankings/s  p99      events written  sent again");
    std::thread::scope(|scope| {
        scope.spawn(|| writes.send());
        let _end = writes.ends();
        for minute in 1..=minutes {
            let effort = Effort { runs: 1, span: Duration::from_secs(58) }; // and two to begin with
            let to = format!("/rank/{}", load.model);
            let of = wrk::load(server.address(), server.pid(), &to, &bodies, CONNECTIONS, effort, folder);
            let [served, worked] = [&server, &worker].map(|program| process::memory(program.pid()).0);
            let kept = redis.used_memory() as f64 / 1e6;
            println!(
                "{minute:>6}  {served:>8.1} MB  {worked:>10.1} MB  {kept:>8.1} MB  {:>10.0}  {:>5.1} ms  {:>14}  {:>10}",
                of.rate,
                of.p99,
                writes.sent.load(Ordering::Relaxed),
                writes.refused.load(Ordering::Relaxed)
            );
        }
    });
}

/// Requests a second with events. Each turn moves events on by the length of the data, and the last ones must not lie in the
/// future.
fn rate(load: &Load, minutes: u32) -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64;
    let turns = (now - load.last()) / Load::LENGTH;
    let most = turns * load.visits().len() as i64 / EVENTS as i64 / (60 * i64::from(minutes));
    assert!(most > 0, "{} lie too close to now for {minutes} minutes", load.name);
    u32::try_from(most).unwrap_or(WRITES).min(WRITES)
}
