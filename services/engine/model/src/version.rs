//! A model version: one trained model with all that is known about it, as one immutable file.
//!
//! A version's id is its time and the checksum of its content, so that ids sort by time and two equal ones are one.

mod codec;
mod columns;
mod id;
mod record;

pub use codec::{DecodeError, EncodeError};
pub use columns::{Column, ColumnMismatch};
pub use id::{InvalidVersionId, VersionId};
pub use record::{Bin, LearningCurve, Refusal, Round, Spread, TrainingRecord, Verdict};

use rankwright_event::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

use crate::shuffle::Shuffle;

/// What a version is a version of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Kind {
    /// Trees of XGBoost, as UBJSON or JSON.
    XgBoost,
    /// Trees of LightGBM, as its text.
    LightGbm,
    /// A random order.
    Shuffle(Shuffle),
    /// The incoming order.
    Noop,
    /// Items with the directions of their vectors.
    Als,
    /// Items in demand.
    Trending,
    /// Items with the directions of their embeddings.
    Semantic,
}

impl Kind {
    /// What stands under `type` of a model whose versions are of this kind.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::XgBoost | Self::LightGbm => "lambdamart",
            Self::Shuffle(_) => "shuffle",
            Self::Noop => "noop",
            Self::Als => "als",
            Self::Trending => "trending",
            Self::Semantic => "semantic",
        }
    }

    /// The library whose file a version holds, if it is one's.
    pub fn library(&self) -> Option<&'static str> {
        match self {
            Self::XgBoost => Some("xgboost"),
            Self::LightGbm => Some("lightgbm"),
            _ => None,
        }
    }
}

/// What is known about a version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Name of the model in the configuration.
    pub model: String,
    /// What scores.
    pub kind: Kind,
    /// When it was trained.
    pub created_at: Timestamp,
    /// The columns of a row, in the order of training.
    pub columns: Vec<Column>,
    /// Metrics by name, as `NDCG@10` on the test split.
    #[serde(deserialize_with = "metrics")]
    pub metrics: BTreeMap<String, f64>,
    /// Number of trees.
    pub iterations: usize,
    /// How much each feature contributes.
    pub weights: Vec<FeatureWeight>,
    /// How much data it was trained on; `None` of versions that were trained before this was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trained_on: Option<TrainedOn>,
    /// What it was trained with: keys of the configuration with their values; empty of versions from before this was noted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Which version was current when this one was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<VersionId>,
    /// What its training leaves to look at.
    #[serde(default, skip_serializing_if = "TrainingRecord::is_empty")]
    pub record: TrainingRecord,
}

/// How much data a model was trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainedOn {
    /// Rankings, without those that it was tested on.
    pub rankings: usize,
    /// Their items, all together; of a recommender, the items that it knows.
    pub items: usize,
    /// Time of the first ranking, or of a recommender's first interaction; `None` of versions from before this was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    /// Time of the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// Rankings that it was tested on; of a recommender, visitors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested: Option<usize>,
}

impl Metadata {
    /// What to say of a version that [`Model::is_constant`](crate::Model::is_constant).
    pub fn learned_nothing(&self) -> String {
        let model = &self.model;
        let data = match self.trained_on {
            Some(TrainedOn { rankings, items, .. }) => format!("{rankings} rankings with {items} items"),
            None => "rankings".to_owned(),
        };
        format!(
            "model {model} has learned nothing: no feature tells items apart in the {data} that it was trained on; \
             import more events or add features, then train again"
        )
    }
}

/// A feature's share in the model: one number for each of its columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureWeight {
    /// Name of the feature in the configuration.
    pub name: String,
    /// Gain, as the booster reports it.
    #[serde(deserialize_with = "numbers")]
    pub weights: Vec<f64>,
}

/// JSON has no NaN: it is written as null.
fn metrics<'de, D: Deserializer<'de>>(json: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let found = BTreeMap::<String, Option<f64>>::deserialize(json)?;
    Ok(found.into_iter().map(|(name, value)| (name, value.unwrap_or(f64::NAN))).collect())
}

fn numbers<'de, D: Deserializer<'de>>(json: D) -> Result<Vec<f64>, D::Error> {
    let found = Vec::<Option<f64>>::deserialize(json)?;
    Ok(found.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

/// An immutable model version.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    id: VersionId,
    metadata: Metadata,
    warmup: Vec<u8>,
    body: Vec<u8>,
}

impl Version {
    /// Puts a version together; its id follows from its time and content.
    ///
    /// # Errors
    /// When a part is larger than 4 GiB.
    pub fn new(metadata: Metadata, warmup: Vec<u8>, body: Vec<u8>) -> Result<Self, EncodeError> {
        let content = codec::content(&metadata, &warmup, &body)?;
        let id = VersionId::new(metadata.created_at, crc32fast::hash(&content));
        Ok(Self { id, metadata, warmup, body })
    }

    /// The same, published in place of another one; its id is another one as well.
    ///
    /// # Errors
    /// As of [`new`](Self::new).
    pub fn in_place_of(self, replaced: VersionId) -> Result<Self, EncodeError> {
        Self::new(Metadata { replaced: Some(replaced), ..self.metadata }, self.warmup, self.body)
    }

    /// The same with what its gate decided; its id is another one as well.
    ///
    /// # Errors
    /// As of [`new`](Self::new).
    pub fn decided(self, gate: Verdict) -> Result<Self, EncodeError> {
        let record = TrainingRecord { gate: Some(gate), ..self.metadata.record };
        Self::new(Metadata { record, ..self.metadata }, self.warmup, self.body)
    }

    /// When it was made, and a checksum.
    pub fn id(&self) -> &VersionId {
        &self.id
    }

    /// What is known about it.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Rankings to replay before serving; empty when there are none. Opaque here.
    pub fn warmup(&self) -> &[u8] {
        &self.warmup
    }

    /// The booster's or recommender's own bytes; empty for baselines.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Whether rows of these columns are what the model was trained on.
    ///
    /// # Errors
    /// Names the columns that differ.
    pub fn check_columns(&self, wanted: &[Column]) -> Result<(), ColumnMismatch> {
        columns::check(&self.metadata.columns, wanted)
    }
}

#[cfg(test)]
mod tests;
