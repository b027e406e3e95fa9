//! What a training job writes as its termination message.

use serde::Deserialize;

/// All of a job.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// `published`, `kept`, `nothing` or `failed`.
    pub outcome: String,
    /// Why the job could not begin.
    #[serde(default)]
    pub message: String,
    /// When it began.
    #[serde(default)]
    pub started_at: String,
    /// Each model.
    #[serde(default)]
    pub models: Vec<ModelReport>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModelReport {
    /// Its name.
    pub model: String,
    /// As of the whole job.
    pub outcome: String,
    /// What was decided, and why.
    #[serde(default)]
    pub message: String,
    /// The version that was published.
    #[serde(default)]
    pub version: Option<String>,
    /// By what it was decided.
    #[serde(default)]
    pub decision: Option<Decision>,
}

/// What a gate has decided.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Decision {
    /// Why, in a word.
    #[serde(default)]
    pub reason: String,
    /// What was compared.
    #[serde(default)]
    pub metric: String,
    /// Of the new version.
    #[serde(default)]
    pub candidate: Option<f64>,
    /// Of the one before.
    #[serde(default)]
    pub running: Option<f64>,
}
