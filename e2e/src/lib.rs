//! Tests that start the program as a user does, and what they share.
//!
//! Nothing here looks inside the engine: a [`Service`] is a process with a configuration, a folder and a port, and
//! [`program`] runs a subcommand to its end. Where a helper cannot go on it panics with what the process said, because
//! its callers are tests and benchmarks.

pub mod events;
pub mod http;
pub mod kafka;
pub mod many;
pub mod program;
pub mod quality;
pub mod random;
pub mod redis;
pub mod service;
pub mod shared;

pub use http::Answer;
pub use program::{Ended, run};
pub use service::{Launch, Service};
