//! Topics of Pulsar, read from a real broker where there is one.
#![allow(clippy::expect_used, missing_docs, reason = "a test says by failing what did not hold")]

mod broker;
mod failover;
mod mistakes;
mod restart;
#[path = "../support/seen.rs"]
mod seen;
mod shared;
mod topic;
