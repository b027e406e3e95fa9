//! What the engine remembers: values by key and slot, and the contract that every store of them keeps.
//!
//! All values of one entity (an item, a visitor, a visit, a field's value) lie under one [`Key`] as an [`Entity`].
//! A write is an entity too, which the stored one absorbs; absorbing commutes, so the final state does not depend on
//! the order in which writers worked.

pub mod cell;
pub mod codec;
#[cfg(any(test, feature = "testing"))]
pub mod contract;
#[cfg(test)]
mod convergence;
pub mod entity;
mod expiry;
pub mod file;
pub mod forget;
pub mod key;
pub mod memory;
pub mod overlay;
pub mod redis;
#[cfg(test)]
mod samples;
pub mod store;
pub mod term;
mod timeline;
pub mod usage;

pub use cell::{Cell, FieldValue, Part, Parts, Recent, Visit, Windows};
pub use codec::Format;
pub use entity::{Entity, Stored, oldest, warm};
pub use file::{FileOptions, FileStore};
pub use key::{Key, Scope, Slot, Space};
pub use memory::MemoryStore;
pub use overlay::{Coming, Expected, Fetched, Overlay, View};
pub use redis::{Claim, Filling, Owner, RedisOptions, RedisStore, owner_of};
pub use store::{
    BoxFuture, CacheUse, Commit, Error, Fingerprint, Lease, Listed, Move, Outcome, Position, Rewrite, Rows, Show,
    Stats, Store, Writer,
};
pub use term::{Term, Terms};
pub use usage::{Foreseen, Memory, Purpose, Room, Usage};
