//! Tests that start the program as a user does, and what they share.
//!
//! Nothing here looks inside the engine: a [`Service`] is a process with a configuration, a folder and a port, and
//! [`program`] runs a subcommand to its end. Where a helper cannot go on it panics with what the process said, because
//! its callers are tests and benchmarks.

pub mod asking;
pub mod crew;
pub mod encrypted;
pub mod events;
pub mod folder;
pub mod http;
pub mod kafka;
pub mod many;
pub mod outcome;
pub mod page;
pub mod ports;
pub mod program;
pub mod proxy;
pub mod quality;
pub mod random;
pub mod redis;
pub mod said;
pub mod server;
pub mod service;
pub mod shared;
pub mod wait;

pub use http::Answer;
pub use program::{Ended, run};
pub use service::{Launch, Service};

/// Where the S3 service of tests is; `None`, after a line that says so, without one.
///
/// # Panics
/// Without one, where no test may be skipped.
pub fn s3() -> Option<String> {
    let endpoint = std::env::var("RANKWRIGHT_TEST_S3").ok();
    if endpoint.is_none() {
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "RANKWRIGHT_TEST_S3 is not set");
        println!("SKIPPED: RANKWRIGHT_TEST_S3 names no server");
    }
    endpoint
}
