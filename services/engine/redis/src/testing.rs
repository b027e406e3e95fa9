//! Servers for tests: those that environment variables name.

use crate::{Address, Sentinels, Settings, Topology};
use std::time::Duration;

/// Longer than any answer takes on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the sentinels for tests call their server.
const MASTER: &str = "rw";

/// The server at `RANKWRIGHT_TEST_REDIS` (`host:port`); `None`, after a line that says so, where there is none.
///
/// # Panics
/// When there is none and `RANKWRIGHT_REQUIRE_ALL` is 1, or the variable is no address.
pub fn server() -> Option<Settings> {
    let nodes = named("RANKWRIGHT_TEST_REDIS", "Redis server")?;
    Some(patient(Settings::new(nodes[0].host.clone(), nodes[0].port)))
}

/// The server of the oldest version that is promised, at `RANKWRIGHT_TEST_REDIS_OLDER` (`host:port`).
///
/// # Panics
/// As [`server`].
pub fn older() -> Option<Settings> {
    let nodes = named("RANKWRIGHT_TEST_REDIS_OLDER", "Redis server of version 6.2")?;
    Some(patient(Settings::new(nodes[0].host.clone(), nodes[0].port)))
}

/// The cluster of which `RANKWRIGHT_TEST_REDIS_CLUSTER` names some nodes (`host:port,...`).
///
/// # Panics
/// As [`server`].
pub fn cluster() -> Option<Settings> {
    named("RANKWRIGHT_TEST_REDIS_CLUSTER", "Redis Cluster").map(cluster_of)
}

/// The server that the sentinels of `RANKWRIGHT_TEST_REDIS_SENTINEL` (`host:port,...`) call `rw`.
///
/// # Panics
/// As [`server`].
pub fn sentinel() -> Option<Settings> {
    named("RANKWRIGHT_TEST_REDIS_SENTINEL", "Redis Sentinel").map(sentinel_of)
}

/// A cluster by some of its nodes.
///
/// # Panics
/// Without any.
pub fn cluster_of(nodes: Vec<Address>) -> Settings {
    let settings = Settings::new(nodes[0].host.clone(), nodes[0].port);
    patient(Settings { topology: Topology::Cluster(nodes), ..settings })
}

/// The server that sentinels call `rw`.
///
/// # Panics
/// Without any.
pub fn sentinel_of(nodes: Vec<Address>) -> Settings {
    let settings = Settings::new(nodes[0].host.clone(), nodes[0].port);
    let sentinels = Sentinels { nodes, master: MASTER.to_owned(), user: None, password: None };
    patient(Settings { topology: Topology::Sentinel(sentinels), ..settings })
}

fn patient(settings: Settings) -> Settings {
    Settings { connect: PATIENCE, command: PATIENCE, socket: PATIENCE, ..settings }
}

fn named(variable: &str, what: &str) -> Option<Vec<Address>> {
    let Ok(addresses) = std::env::var(variable) else {
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{variable} is not set");
        println!("SKIPPED: {variable} names no {what}");
        return None;
    };
    let address = |text| Address::parse(text).unwrap_or_else(|| panic!("{variable}: {text:?} is not host:port"));
    Some(addresses.split(',').map(address).collect())
}
