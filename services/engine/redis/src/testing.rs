//! A server for tests: the one that `RANKWRIGHT_TEST_REDIS` names.

use crate::Settings;
use std::time::Duration;

/// Longer than any answer takes on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server at `RANKWRIGHT_TEST_REDIS` (`host:port`); `None`, after a line that says so, where there is none.
///
/// # Panics
/// When there is none and `RANKWRIGHT_REQUIRE_ALL` is 1, or the variable is no address.
pub fn server() -> Option<Settings> {
    let Ok(address) = std::env::var("RANKWRIGHT_TEST_REDIS") else {
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "RANKWRIGHT_TEST_REDIS is not set");
        println!("SKIPPED: RANKWRIGHT_TEST_REDIS names no Redis server");
        return None;
    };
    let (host, port) = address.rsplit_once(':').expect("RANKWRIGHT_TEST_REDIS is host:port");
    let settings = Settings::new(host, port.parse().expect("RANKWRIGHT_TEST_REDIS ends with a port"));
    Some(Settings { connect: PATIENCE, command: PATIENCE, socket: PATIENCE, ..settings })
}
