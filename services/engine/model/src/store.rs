//! Where versions are kept: published whole, one of them current, older ones kept for a while.

mod directory;
mod memory;
mod redis;

pub use directory::Versions;
pub use memory::MemoryVersions;
pub use redis::RedisVersions;

use std::io;
use std::path::PathBuf;

use crate::version::{DecodeError, EncodeError, Refusal, Version, VersionId};

/// What a version is published in place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// What the version itself says that it replaces: that version, or none. Nothing else may be current, but for itself.
    Told,
    /// Whatever is current.
    Any,
}

/// Keeps the versions of models. Publishing is atomic: another process sees a version whole, or not at all.
pub trait VersionStore: Send + Sync {
    /// Stores a version and makes it its model's current one, in the place that is named.
    ///
    /// # Errors
    /// When it cannot be written, or another one is current than what it takes the place of; the model then keeps its current
    /// version.
    fn publish(&self, version: &Version, place: Place) -> Result<(), StoreError>;

    /// Stores a version beside the current one, which stays so.
    ///
    /// # Errors
    /// When it cannot be written.
    fn add(&self, version: &Version) -> Result<(), StoreError>;

    /// Ids of a model's versions, from the oldest to the newest; none for an unknown model.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn list(&self, model: &str) -> Result<Vec<VersionId>, StoreError>;

    /// Which version of a model serves; `None` before the first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn current(&self, model: &str) -> Result<Option<VersionId>, StoreError>;

    /// Makes a stored version the current one, as to roll back.
    ///
    /// # Errors
    /// When there is no such version, or it cannot be written.
    fn select(&self, model: &str, id: &VersionId) -> Result<(), StoreError>;

    /// The version to roll back to: the one that the current one replaced or, where that was removed since, the newest one before
    /// it. A version that was rolled back is skipped. Where the current one does not name its predecessor: the version before it.
    ///
    /// # Errors
    /// When the store cannot be read. A current version that cannot be read is one to go back from.
    fn previous(&self, model: &str) -> Result<Option<VersionId>, StoreError> {
        let Some(current) = self.current(model)? else { return Ok(None) };
        let replaced = match self.load(model, Some(&current)) {
            Ok(version) => version.and_then(|version| version.metadata().replaced.clone()),
            Err(error @ (StoreError::Redis(_) | StoreError::Io { .. })) => return Err(error),
            Err(_) => None,
        };
        let mut ids = self.list(model)?;
        match replaced {
            Some(replaced) => ids.retain(|id| *id <= replaced && *id != current),
            None => ids.retain(|id| *id < current),
        }
        Ok(ids.pop())
    }

    /// Loads the given version, or the current one; `None` where there is none yet.
    ///
    /// # Errors
    /// When a version that is named is not there, or cannot be read.
    fn load(&self, model: &str, id: Option<&VersionId>) -> Result<Option<Version>, StoreError>;

    /// Removes old versions of a model. Stay: a number of newest ones, the current one, and those that are `spared`.
    ///
    /// # Errors
    /// When one cannot be removed.
    fn keep(&self, model: &str, newest: usize, spared: &[VersionId]) -> Result<(), StoreError>;

    /// Notes that a gate refused a version of a model, in place of what was noted before.
    ///
    /// # Errors
    /// When it cannot be written.
    fn refuse(&self, model: &str, refusal: &Refusal) -> Result<(), StoreError>;

    /// The newest version that a gate refused, whether or not one was published since.
    ///
    /// # Errors
    /// When the store cannot be read. A note that makes no sense is none.
    fn refusal(&self, model: &str) -> Result<Option<Refusal>, StoreError>;
}

/// Why versions cannot be stored or loaded.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refuses.
    #[error("failed to {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The server refuses, or is not there.
    #[error(transparent)]
    Redis(#[from] rankwright_redis::Error),
    /// A version is not what was written.
    #[error("cannot read version {version} of model {model:?}")]
    Decode {
        /// Name of the model.
        model: String,
        /// Which version.
        version: String,
        /// Why not.
        source: DecodeError,
    },
    /// A version cannot be written.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A version that is not stored was asked for.
    #[error("model {model:?} has no version {version}")]
    Unknown {
        /// Name of the model.
        model: String,
        /// Which version.
        version: String,
    },
    /// Another version is current than the one that it takes the place of.
    #[error("another version of model {model:?} became current meanwhile: {}", current.as_deref().unwrap_or("none"))]
    Moved {
        /// Name of the model.
        model: String,
        /// Which version.
        current: Option<String>,
    },
    /// The file that names the current version, or the version it names, holds something else.
    #[error("{} does not hold what its name says", path.display())]
    Inconsistent {
        /// The file.
        path: PathBuf,
    },
}

impl StoreError {
    fn unknown(model: &str, id: &VersionId) -> Self {
        Self::Unknown { model: model.to_owned(), version: id.to_string() }
    }
}

/// Whether a version may replace the one that it names. It may have done so already; where it is stored and another one is
/// current, it was rolled back since.
fn may_follow(version: &Version, current: Option<&VersionId>, is_stored: bool) -> Result<(), StoreError> {
    if current == Some(version.id()) || (version.metadata().replaced.as_ref() == current && !is_stored) {
        return Ok(());
    }
    Err(StoreError::Moved { model: version.metadata().model.clone(), current: current.map(ToString::to_string) })
}

fn decode(model: &str, id: &VersionId, bytes: &[u8]) -> Result<Version, StoreError> {
    Version::decode(bytes).map_err(|source| StoreError::Decode {
        model: model.to_owned(),
        version: id.to_string(),
        source,
    })
}

/// A refusal as a store keeps it.
fn noted(refusal: &Refusal) -> Vec<u8> {
    serde_json::to_vec(refusal).expect("a time and texts are JSON")
}

/// The versions that [`VersionStore::keep`] removes.
fn surplus(
    mut versions: Vec<VersionId>,
    newest: usize,
    current: Option<&VersionId>,
    spared: &[VersionId],
) -> Vec<VersionId> {
    versions.truncate(versions.len().saturating_sub(newest));
    versions.retain(|id| current != Some(id) && !spared.contains(id));
    versions
}

#[cfg(test)]
mod tests;
