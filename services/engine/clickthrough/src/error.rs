//! What can go wrong with click-throughs.

/// Short form for this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What could not be done, and where.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A record's rows do not fit its items or the store's columns; nothing of the batch was kept.
    #[error("click-through {ranking:?}: {found}, expected {expected}")]
    Shape {
        /// The record's identity.
        ranking: String,
        /// What it holds.
        found: String,
        /// What it has to hold.
        expected: String,
    },
    /// A record that no part could hold.
    #[error("click-through {ranking:?}: {bytes} bytes, at most {limit} fit in a part")]
    TooLarge {
        /// The record's identity.
        ranking: String,
        /// Its size, uncompressed.
        bytes: usize,
        /// The most there may be.
        limit: usize,
    },
    /// A part written by a later version.
    #[error("{place}: format version {found}, this program reads versions up to {newest}; use a newer one")]
    Newer {
        /// Name of the part.
        place: String,
        /// Version in the part.
        found: u64,
        /// Latest version this program knows.
        newest: u64,
    },
    /// A part is gone, or what is left of it is not worth reading; [`crate::Records`] counts it.
    #[error(transparent)]
    Lost(#[from] crate::Loss),
    /// The object store failed.
    #[error(transparent)]
    Object(#[from] rankwright_object::Error),
    /// The Redis server failed.
    #[error(transparent)]
    Redis(#[from] rankwright_redis::Error),
    /// The configuration of a store does not hold together.
    #[error("{key}: {reason}")]
    Setting {
        /// The setting.
        key: &'static str,
        /// What is wrong, and what to change.
        reason: &'static str,
    },
    /// A part could not be encoded.
    #[error("failed to encode click-throughs: {reason}")]
    Encode {
        /// Why.
        reason: String,
    },
    /// The disk or the network failed.
    #[error("{place}: failed to {action}")]
    Io {
        /// File or folder.
        place: String,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
}
