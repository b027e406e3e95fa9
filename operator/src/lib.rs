//! The operator: turns a `RankingService` into the programs of Rankwright on a cluster, and tells how they are.
//!
//! The cluster is read and written at the two ends ([`resolve`], [`apply`], [`status`]); what lies between
//! ([`validate`], [`build`]) is pure.

pub mod apis;
pub mod apply;
pub mod ask;
pub mod build;
pub mod cache;
pub mod claims;
pub mod connection;
pub mod controller;
pub mod deletion;
pub mod error;
pub mod events;
pub mod labels;
pub mod lease;
pub mod logging;
pub mod metrics;
pub mod observe;
pub mod reconcile;
pub mod resolve;
pub mod rolling;
pub mod schedules;
pub mod scope;
pub mod server;
pub mod status;
pub mod unreadable;
pub mod validate;

#[cfg(test)]
mod testing;

pub use error::{Error, Result};
