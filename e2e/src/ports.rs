//! Ports for servers that are killed and started again.
//!
//! They lie below those that the system gives to outgoing connections: a client that tries to reach a killed server would
//! otherwise be given the server's own port now and then, and keep it.

use crate::random::Random;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::{Mutex, PoisonError};

static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// The first of a number of free ports in a row, which no other test of this process is given.
///
/// # Panics
/// When there are none.
pub fn free(count: u16) -> u16 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut random = Random(now.as_nanos() as u64 ^ u64::from(std::process::id()));
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..1000 {
        let first = 10_000 + random.below(20_000) as u16;
        let mut ports = first..first + count;
        if ports.all(|port| !given.contains(&port) && TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            given.extend(first..first + count);
            return first;
        }
    }
    panic!("no {count} ports in a row are free")
}
