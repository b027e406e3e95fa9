//! A connection to Redis that mends itself: login, encryption, time limits, and what went wrong in one line.
//!
//! State, click-throughs and models lie in databases of a Redis server; all of them talk to it through a [`Link`]. It may be
//! one server, one that sentinels name, or the servers of a cluster, which have one database, and keys of one hash tag
//! together.

mod address;
mod blocking;
mod cluster;
mod dial;
mod error;
mod link;
mod node;
mod removal;
mod sentinel;
mod settings;
mod slots;
pub mod testing;
mod watch;

pub use address::Address;
pub use blocking::Blocking;
pub use error::{Error, Problem};
pub use link::Link;
pub use redis;
pub use settings::{Sentinels, Settings, Tls, Topology, Verify};
pub use slots::{SLOTS, slot_of};
pub use watch::{Change, Watcher};
