//! Bringing a stream's events into a state that many processes share.

mod follow;

pub use follow::follow;
