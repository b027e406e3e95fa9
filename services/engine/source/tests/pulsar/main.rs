//! Topics of Pulsar, read from a real broker where there is one.
#![allow(clippy::expect_used, missing_docs, reason = "a test says by failing what did not hold")]
#![allow(clippy::large_futures, reason = "those of the client that writes to topics are")]

mod broker;
mod failover;
mod mistakes;
mod restart;
#[path = "../support/seen.rs"]
mod seen;
mod shared;
mod topic;
