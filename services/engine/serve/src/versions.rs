//! What is known of the stored versions of models, and which of them serves.

use crate::models::Slot;
use parking_lot::Mutex;
use rankwright_model::{Metadata, StoreError, Version, VersionId, VersionStore};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A model with its versions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ModelVersions {
    name: String,
    /// As the configuration says.
    kind: &'static str,
    /// The version that answers here.
    serving: Option<String>,
    /// The version that is the current one where versions are stored.
    current: Option<String>,
    /// The version that the configuration names.
    pinned: Option<String>,
    /// From the oldest on.
    versions: Vec<StoredVersion>,
    /// Versions that cannot be read.
    damaged: Vec<String>,
}

/// What is known of a version.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct StoredVersion {
    version: String,
    /// When it was trained, in milliseconds since 1970.
    trained: i64,
    /// On the test split.
    #[schemars(with = "BTreeMap<String, Option<f64>>")] // JSON has no NaN
    metrics: BTreeMap<String, f64>,
    /// Those with most gain first.
    features: Vec<Gain>,
    /// What it was trained on.
    data: Option<Data>,
    settings: BTreeMap<String, String>,
    trees: usize,
    bytes: usize,
    /// The version in whose place it came.
    replaced: Option<String>,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Gain {
    name: String,
    #[schemars(with = "Option<f64>")] // JSON has no NaN
    gain: f64,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Data {
    rankings: usize,
    items: usize,
    /// In milliseconds since 1970.
    first: Option<i64>,
    last: Option<i64>,
    tested: Option<usize>,
}

/// The versions of a model, as they are stored.
pub(crate) struct Listed {
    current: Option<VersionId>,
    versions: Vec<StoredVersion>,
    damaged: Vec<String>,
}

/// Versions that were looked at once: one may be large, and never changes.
#[derive(Default)]
pub(crate) struct Known(Mutex<BTreeMap<String, BTreeMap<VersionId, StoredVersion>>>);

/// Why a version cannot become the current one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("model '{model}' has no version before the current one")]
    First { model: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a version current: the given one, or the one that was current before. The thread waits for the store.
pub(crate) fn select(store: &dyn VersionStore, model: &str, id: Option<VersionId>) -> Result<VersionId, Error> {
    let id = match id {
        Some(id) => id,
        None => store.previous(model)?.ok_or_else(|| Error::First { model: model.to_owned() })?,
    };
    store.select(model, &id)?;
    Ok(id)
}

impl Known {
    /// Versions of a model. The thread waits for the store.
    pub(crate) fn of(&self, model: &str, store: &dyn VersionStore) -> Result<Listed, StoreError> {
        let known = self.0.lock().get(model).cloned().unwrap_or_default();
        let (mut found, mut damaged) = (BTreeMap::new(), Vec::new());
        for id in store.list(model)? {
            match known.get(&id) {
                Some(version) => drop(found.insert(id, version.clone())),
                None => match store.load(model, Some(&id)) {
                    Ok(Some(version)) => drop(found.insert(id, StoredVersion::of(&version))),
                    Ok(None) | Err(StoreError::Unknown { .. }) => {} // it was removed meanwhile
                    Err(error @ (StoreError::Redis(_) | StoreError::Io { .. })) => return Err(error),
                    Err(_) => damaged.push(id.to_string()),
                },
            }
        }
        let versions = found.values().cloned().collect();
        self.0.lock().insert(model.to_owned(), found);
        Ok(Listed { current: store.current(model)?, versions, damaged })
    }
}

impl ModelVersions {
    /// A model with its stored versions.
    pub(crate) fn of(slot: &Slot, listed: Listed) -> Self {
        let Listed { current, versions, damaged } = listed;
        let (name, kind, serving, pinned) = (slot.name().to_owned(), slot.kind(), slot.version(), slot.pinned());
        Self { name, kind, serving, current: current.map(|id| id.to_string()), pinned, versions, damaged }
    }
}

impl StoredVersion {
    fn of(version: &Version) -> Self {
        let Metadata { created_at, metrics, weights, trained_on, settings, iterations, replaced, .. } =
            version.metadata();
        let gain = |weights: &[f64]| weights.iter().sum::<f64>();
        let mut features: Vec<_> =
            weights.iter().map(|feature| Gain { name: feature.name.clone(), gain: gain(&feature.weights) }).collect();
        features.sort_by(|left, right| right.gain.total_cmp(&left.gain));
        let data = trained_on.map(|on| Data {
            rankings: on.rankings,
            items: on.items,
            first: on.first.map(|time| time.millis()),
            last: on.last.map(|time| time.millis()),
            tested: on.tested,
        });
        Self {
            version: version.id().to_string(),
            trained: created_at.millis(),
            metrics: metrics.clone(),
            features,
            data,
            settings: settings.clone(),
            trees: *iterations,
            bytes: version.body().len(),
            replaced: replaced.as_ref().map(ToString::to_string),
        }
    }
}
