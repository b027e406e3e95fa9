//! What a training leaves to look at: how its metric rose, how values of columns were spread, and what its gate decided.

mod curve;
mod spread;

pub use curve::{LearningCurve, Round};
pub use spread::{Bin, Spread};

use rankwright_event::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of a version's training; empty of versions from before this was noted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrainingRecord {
    /// How the metric of boosting went from round to round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<LearningCurve>,
    /// How values were spread over the rows that it learned from, by column; of many columns, of those with most gain.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Spread>,
    /// Why its gate let it pass; `None` where it was published without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Verdict>,
}

/// What a gate decided about a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Why, in a word, such as `NotWorse`.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
}

/// A version that its gate refused: it is not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// When it was trained.
    pub at: Timestamp,
    /// Why it was refused.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl TrainingRecord {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
