//! Bringing a stream's events into a state that many processes share.

mod follow;
mod leases;
mod writer;

pub use follow::follow;
