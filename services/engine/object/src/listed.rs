//! What a list says of an object.

use std::time::SystemTime;

/// An object in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was last written; the epoch where the service does not say.
    pub modified: SystemTime,
}
