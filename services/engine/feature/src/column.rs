//! Columns of the matrix that features fill.

/// Tells a column from others in few bytes.
pub type Tag = [u8; 4];

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Unique name: that of the feature, followed by what tells its columns apart (`ctr_7`, `color_red`).
    pub name: String,
    /// The feature it belongs to.
    pub feature: String,
    /// Stable digest of what the numbers mean: a changed definition is another column.
    pub fingerprint: u64,
    /// Whether numbers stand for categories.
    pub categorical: bool,
}

impl Column {
    /// Stable digest of its name and of what its numbers mean.
    pub fn tag(&self) -> Tag {
        (digest(&format!("{} {}", self.name, self.fingerprint)) as u32).to_le_bytes()
    }
}

/// Stable 64-bit digest of a description (FNV-1a, Fowler, Noll and Vo 1991).
pub(crate) fn digest(description: &str) -> u64 {
    digest_after(0xcbf2_9ce4_8422_2325, description)
}

/// The digest of a description that goes on after one whose digest this is.
pub(crate) fn digest_after(digest: u64, more: &str) -> u64 {
    more.bytes().fold(digest, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
