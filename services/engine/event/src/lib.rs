//! Events: what visitors see and do, as the engine's one vocabulary.
//!
//! Four kinds of [`Event`] come in (item and user metadata, rankings shown, interactions). A rank request is a
//! [`Ranking`] too. Identifiers are types of their own, so that they cannot be swapped, and event time is the only
//! clock: a [`Timestamp`] comes with every event.

pub mod event;
pub mod field;
pub mod id;
pub mod json;
pub mod timestamp;

pub use event::{Event, Interaction, ItemUpdate, RankedItem, Ranking, UserUpdate};
pub use field::{Field, Value};
pub use id::{EventId, ItemId, RankingId, SessionId, Tenant, UserId};
pub use json::{DecodeError, snowplow};
pub use timestamp::{InvalidTimestamp, Timestamp};
