//! An event's way through features, join and state.
//!
//! [`Ingest`] works in batches: each event sees the state as it stands plus what the batch has done so far; then the
//! batch is committed with the position where it ends. [`Feedback`] is the same for requests: it drops repetitions
//! and lets event time go on while nothing comes in. [`shared`] is the same where many processes share one state.

pub mod counters;
pub mod error;
pub mod feedback;
pub mod forget;
pub mod ingest;
mod join;
mod outbox;
mod recent;
mod record;
mod rows;
pub mod shared;
mod short;
mod shown;
mod texts;

pub use counters::{Applied, Counters};
pub use error::Error;
pub use feedback::Feedback;
pub use forget::Unjoined;
pub use ingest::{Ingest, Settings};
pub use outbox::aside;
pub use recent::Recent;
