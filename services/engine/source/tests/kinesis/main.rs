//! Streams of Kinesis, read from a server that behaves like the service where there is one, and from a stub.
#![allow(clippy::expect_used, missing_docs, reason = "a test says by failing what did not hold")]

mod reader;
mod resharding;
#[path = "../support/seen.rs"]
mod seen;
mod sharing;
mod stream;
mod stub;
mod table;
mod throttled;
