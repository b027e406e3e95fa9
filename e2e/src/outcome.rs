//! What a service has come to, to be compared with what it should come to.

use crate::many::{click_throughs, import};
use crate::redis::Redis;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Everything that events leave behind.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// Values of features as they are stored.
    pub values: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Click-throughs by kind and id, with their interactions and labels.
    pub records: BTreeMap<String, Value>,
}

impl Outcome {
    /// Of a service whose click-throughs lie in these folders, under `parts`.
    pub fn of(redis: &Redis, service: &str, folders: &[PathBuf]) -> Self {
        Self { values: redis.values(service), records: click_throughs(folders) }
    }

    /// What one process makes of events while nothing happens to it.
    pub fn undisturbed(redis: &Redis, config: &str, events: &[Value], folder: &Path) -> Self {
        let (service, folder) = (redis.own_service("alone"), folder.join("alone"));
        import(config, &service, events, &folder);
        Self::of(redis, &service, &[folder])
    }

    /// Asserts that both are the same.
    ///
    /// # Panics
    /// When they are not, with the names of all click-throughs that differ and the first difference.
    pub fn assert_is(&self, expected: &Self) {
        let ids: BTreeSet<&String> = expected.records.keys().chain(self.records.keys()).collect();
        let other: Vec<&String> =
            ids.into_iter().filter(|id| self.records.get(*id) != expected.records.get(*id)).collect();
        if let Some(id) = other.first() {
            let (is, should) = (self.records.get(*id), expected.records.get(*id));
            assert_eq!(is, should, "another outcome, {} click-throughs: {other:?}", other.len());
        }
        for key in expected.values.keys().chain(self.values.keys()) {
            let (is, should) = (self.values.get(key), expected.values.get(key));
            assert!(is == should, "another outcome: {}: {is:x?} is not {should:x?}", key.escape_ascii());
        }
    }
}
