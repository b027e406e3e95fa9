//! Sharing a stream out between readers where the broker does not: by tasks that one process at a time may hold.

use crate::BoxFuture;
use std::time::Duration;

/// Tasks that one process at a time holds, for a time. The code that drives a stream keeps them, as it keeps the positions.
pub trait Leases: Send + Sync {
    /// Takes a task, or keeps it, from now on for this time; whether it is ours. A time of nothing gives it back.
    ///
    /// A holder's pause may outlast its time, so it is no promise: what two holders do must be harmless.
    ///
    /// # Errors
    /// In words, when the store does not say which process holds it.
    fn hold<'a>(&'a self, task: &'a str, time: Duration) -> BoxFuture<'a, Result<bool, String>>;
}
