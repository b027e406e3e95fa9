//! Versions of one process: for `standalone` without a data folder, and for tests.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Place, StoreError, VersionStore, decode, may_follow, surplus};
use crate::version::{Refusal, Version, VersionId};

/// Keeps versions in memory, encoded, as a directory would.
#[derive(Debug, Default)]
pub struct MemoryVersions(Mutex<HashMap<String, Stored>>);

#[derive(Debug, Default)]
struct Stored {
    versions: BTreeMap<VersionId, Vec<u8>>,
    current: Option<VersionId>,
    refusal: Option<Refusal>,
}

impl MemoryVersions {
    fn models(&self) -> MutexGuard<'_, HashMap<String, Stored>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner) // each change is one statement: there is no half of one
    }
}

impl VersionStore for MemoryVersions {
    fn publish(&self, version: &Version, place: Place) -> Result<(), StoreError> {
        let bytes = version.encode()?;
        let mut models = self.models();
        let stored = models.entry(version.metadata().model.clone()).or_default();
        if place == Place::Told {
            may_follow(version, stored.current.as_ref(), stored.versions.contains_key(version.id()))?;
        }
        stored.versions.insert(version.id().clone(), bytes);
        stored.current = Some(version.id().clone());
        Ok(())
    }

    fn add(&self, version: &Version) -> Result<(), StoreError> {
        let bytes = version.encode()?;
        let mut models = self.models();
        let stored = models.entry(version.metadata().model.clone()).or_default();
        stored.versions.insert(version.id().clone(), bytes);
        Ok(())
    }

    fn list(&self, model: &str) -> Result<Vec<VersionId>, StoreError> {
        Ok(self.models().get(model).map(|stored| stored.versions.keys().cloned().collect()).unwrap_or_default())
    }

    fn current(&self, model: &str) -> Result<Option<VersionId>, StoreError> {
        Ok(self.models().get(model).and_then(|stored| stored.current.clone()))
    }

    fn select(&self, model: &str, id: &VersionId) -> Result<(), StoreError> {
        let mut models = self.models();
        let stored = models.get_mut(model).filter(|stored| stored.versions.contains_key(id));
        stored.ok_or_else(|| StoreError::unknown(model, id))?.current = Some(id.clone());
        Ok(())
    }

    fn load(&self, model: &str, id: Option<&VersionId>) -> Result<Option<Version>, StoreError> {
        let models = self.models();
        let stored = models.get(model);
        let Some(id) = id.or_else(|| stored?.current.as_ref()) else { return Ok(None) };
        let bytes = stored.and_then(|stored| stored.versions.get(id)).ok_or_else(|| StoreError::unknown(model, id))?;
        decode(model, id, bytes).map(Some)
    }

    fn keep(&self, model: &str, newest: usize, spared: &[VersionId]) -> Result<(), StoreError> {
        let versions = self.list(model)?;
        if let Some(stored) = self.models().get_mut(model) {
            for id in surplus(versions, newest, stored.current.as_ref(), spared) {
                stored.versions.remove(&id);
            }
        }
        Ok(())
    }

    fn refuse(&self, model: &str, refusal: &Refusal) -> Result<(), StoreError> {
        self.models().entry(model.to_owned()).or_default().refusal = Some(refusal.clone());
        Ok(())
    }

    fn refusal(&self, model: &str) -> Result<Option<Refusal>, StoreError> {
        Ok(self.models().get(model).and_then(|stored| stored.refusal.clone()))
    }
}
