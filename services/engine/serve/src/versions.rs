//! What is known of the stored versions of models, and which of them serves.

use crate::models::{Purpose, Slot};
use rankwright_model::{
    Metadata, Refusal, Round, StoreError, TrainingRecord, Verdict, Version, VersionId, VersionStore,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// A model with its versions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ModelVersions<'a> {
    name: &'a str,
    /// As the configuration says.
    kind: &'static str,
    purpose: Purpose,
    /// The version that answers here.
    serving: Option<String>,
    /// The version that is the current one where versions are stored.
    current: Option<String>,
    /// The version that the configuration names.
    pinned: Option<String>,
    /// From the oldest on.
    versions: Vec<&'a StoredVersion>,
    /// Versions that cannot be read.
    damaged: Vec<&'a str>,
    /// The newest version that its gate refused, unless one was trained since. It is not stored.
    refused: Option<GateRefusal>,
}

/// A version that its gate refused.
#[derive(Serialize, JsonSchema)]
struct GateRefusal {
    /// When it was trained, in milliseconds since 1970.
    trained: i64,
    #[serde(flatten)]
    gate: GateDecision,
}

/// What a gate decided.
#[derive(Serialize, JsonSchema)]
struct GateDecision {
    /// In a word, such as `NotWorse`.
    reason: String,
    message: String,
}

/// What is known of a version.
#[derive(Serialize, JsonSchema)]
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
    /// How the metric of boosting went; null of models without, and of versions from before this was noted.
    curve: Option<LearningCurve>,
    /// Why its gate let it pass; null where it was published without one.
    gate: Option<GateDecision>,
}

#[derive(Serialize, JsonSchema)]
struct LearningCurve {
    /// Such as `NDCG@10`.
    metric: String,
    /// Some of the rounds, with the last one and the one that the version ends with.
    rounds: Vec<CurveRound>,
}

#[derive(Serialize, JsonSchema)]
struct CurveRound {
    /// From 1.
    round: usize,
    /// On the lists that it was tested on; null where none has a relevant item.
    test: Option<f64>,
    /// On the lists that it learned from.
    train: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct Gain {
    name: String,
    #[schemars(with = "Option<f64>")] // JSON has no NaN
    gain: f64,
}

#[derive(Serialize, JsonSchema)]
struct Data {
    rankings: usize,
    items: usize,
    /// In milliseconds since 1970.
    first: Option<i64>,
    last: Option<i64>,
    tested: Option<usize>,
}

/// Versions of models that were looked at once: one may be large, and never changes.
#[derive(Default)]
pub(crate) struct Known(BTreeMap<String, Looked>);

/// What was found of each version of a model; nothing of one that cannot be read.
pub(crate) type Looked = BTreeMap<VersionId, Option<StoredVersion>>;

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
    /// Looks at the versions of a model that are new, and forgets those that are gone. The thread waits for the store.
    pub(crate) fn look(&mut self, model: &str, store: &dyn VersionStore) -> Result<(), StoreError> {
        let ids: BTreeSet<VersionId> = store.list(model)?.into_iter().collect();
        let known = self.0.entry(model.to_owned()).or_default();
        known.retain(|id, _| ids.contains(id));
        for id in ids {
            let Entry::Vacant(place) = known.entry(id) else { continue };
            match store.load(model, Some(place.key())) {
                Ok(Some(version)) => _ = place.insert(Some(StoredVersion::of(&version))),
                Ok(None) | Err(StoreError::Unknown { .. }) => {} // it was removed meanwhile
                Err(error @ (StoreError::Redis(_) | StoreError::Io { .. })) => return Err(error),
                Err(_) => _ = place.insert(None),
            }
        }
        Ok(())
    }

    /// What was found of a model when it was looked at last.
    pub(crate) fn of(&self, model: &str) -> Option<&Looked> {
        self.0.get(model)
    }
}

impl<'a> ModelVersions<'a> {
    /// A model with its stored versions.
    pub(crate) fn of(
        slot: &'a Slot,
        current: Option<VersionId>,
        refusal: Option<Refusal>,
        known: Option<&'a Looked>,
    ) -> Self {
        let found = || known.into_iter().flatten();
        let newest = found().filter_map(|(_, version)| Some(version.as_ref()?.trained)).max();
        let refusal = refusal.filter(|refusal| newest.is_none_or(|newest| newest < refusal.at.millis()));
        let refused = refusal.map(|Refusal { at, verdict }| GateRefusal { trained: at.millis(), gate: verdict.into() });
        Self {
            name: slot.name(),
            kind: slot.kind(),
            purpose: slot.purpose(),
            serving: slot.version(),
            current: current.map(|id| id.to_string()),
            pinned: slot.pinned(),
            versions: found().filter_map(|(_, version)| version.as_ref()).collect(),
            damaged: found().filter(|(_, version)| version.is_none()).map(|(id, _)| id.as_str()).collect(),
            refused,
        }
    }
}

impl StoredVersion {
    fn of(version: &Version) -> Self {
        let Metadata { created_at, metrics, weights, trained_on, settings, iterations, replaced, record, .. } =
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
            curve: LearningCurve::of(record),
            gate: record.gate.clone().map(Into::into),
        }
    }
}

impl LearningCurve {
    fn of(record: &TrainingRecord) -> Option<Self> {
        let curve = record.curve.as_ref()?;
        let rounds = curve.rounds.iter().map(|&Round { round, test, train }| CurveRound { round, test, train });
        Some(Self { metric: curve.metric.clone(), rounds: rounds.collect() })
    }
}

impl From<Verdict> for GateDecision {
    fn from(Verdict { reason, message }: Verdict) -> Self {
        Self { reason, message }
    }
}
