//! A connection to Redis that mends itself: login, encryption, time limits, and what went wrong in one line.
//!
//! State, click-throughs and models lie in databases of a Redis server; all of them talk to it through a [`Link`].

mod blocking;
mod error;
mod link;
mod settings;
pub mod testing;
mod watch;

pub use blocking::Blocking;
pub use error::{Error, Problem};
pub use link::Link;
pub use redis;
pub use settings::{Settings, Tls, Verify};
pub use watch::{Change, Watcher};
