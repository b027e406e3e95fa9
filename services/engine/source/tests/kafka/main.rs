//! Kafka topics, read from the client's own mock of a cluster and, where there is one, from a real broker.
#![allow(clippy::expect_used, missing_docs, reason = "a test says by failing what did not hold")]

mod broker;
mod group;
mod mock;
#[path = "../support/seen.rs"]
mod seen;
mod topic;
