//! A Redis that fails over to its replica under the programs.

use crate::ranking::{SERVICE, Visitors, config, trained};
use rankwright_e2e::events::{click, item, ranking};
use rankwright_e2e::many::{click_throughs, launch};
use rankwright_e2e::server::Server;
use rankwright_e2e::wait;
use serde_json::{Value, json};
use std::sync::atomic::AtomicUsize;

const SERVERS: [&str; 2] = ["redis-primary", "redis-replica"];

/// Whether the server at this port has a replica that follows it.
fn has_replica(port: u16) -> bool {
    let client = redis::Client::open(("127.0.0.1", port)).expect("an address");
    let told =
        client.get_connection().and_then(|mut asked| redis::cmd("INFO").arg("replication").query::<String>(&mut asked));
    told.is_ok_and(|told| told.contains("role:master") && told.contains("state=online"))
}

/// The server that the other one follows, once one does: sentinels that were held up may have changed their minds.
fn followed(sentinels: &Server) -> &'static str {
    let mut found = None;
    wait::until("a replica", String::new, || {
        found = (0..).zip(SERVERS).find(|&(place, _)| has_replica(sentinels.port() + 6 + place));
        found.is_some()
    });
    found.expect("was waited for").1
}

#[test]
fn programs_follow_the_sentinels_to_the_server_that_takes_over() {
    let Some(sentinels) = Server::sentinels() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let state = format!("mode: sentinel, nodes: {}, sentinel: {{master: rw}}", sentinels.sentinel_addresses());
    let config = config(&state, &folder.path().join("parts"));
    trained(&config, &folder.path().join("import"));
    let server = launch("rank-server", &config, SERVICE, &folder.path().join("server"));
    let worker = launch("ingest-worker", &config, SERVICE, &folder.path().join("worker"));
    let visitors = Visitors { server: &server, number: AtomicUsize::new(0), slow: AtomicUsize::new(0) };
    let taken = |events: &[Value]| server.post("/feedback", &json!(events)).status == 200;
    for round in 0..wait::scaled(1, 6) {
        let primary = followed(&sentinels);
        visitors.stay_ranked();
        sentinels.killed_of(primary);
        visitors.until(false);
        visitors.until(true);
        // the former master comes back as its replica, before the new one goes
        sentinels.started();
        followed(&sentinels);
        let (at, id) = (1000 + 100 * i64::from(round), format!("after {round}"));
        let shown = [ranking(&id, at, "u1", &["i1", "i2"]), click(&format!("click {round}"), at + 1, &id, "u1", "i2")];
        wait::until("taking events again", || server.log(), || taken(&shown));
        // its session is over
        wait::until("taking events again", || server.log(), || taken(&[item("i1", at + 60, &[])]));
        let brought = || worker.log() + &server.log();
        let closed = || click_throughs(&[folder.path().to_owned()]).keys().any(|key| key.contains(&id));
        wait::until("closed after a failover", brought, closed);
        visitors.stay_ranked();
    }
}
