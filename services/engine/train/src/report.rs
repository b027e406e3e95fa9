//! What training has to say about a model.

use crate::booster::{Fitted, Iteration};
use crate::dataset::Reading;
use rankwright_model::{Column, FeatureWeight, Version};
use schemars::JsonSchema;
use serde::Serialize;

/// A published model, and how good it is.
#[derive(Debug, Clone)]
pub struct Trained {
    /// What `POST /train` answers.
    pub answer: Answer,
    /// The configured metrics on the test split.
    pub quality: Vec<Quality>,
    /// What was published.
    pub version: Version,
    /// What became of the click-throughs.
    pub reading: Reading,
    /// Rankings that the model learned from.
    pub train: usize,
    /// Rankings that it was tested on.
    pub test: usize,
    /// Number of trees, those up to the best round.
    pub trees: usize,
    /// Whether no tree splits: all items score the same.
    pub learned_nothing: bool,
    /// Why its metrics say nothing, where too few visitors were asked.
    pub few: Option<String>,
    /// Why its metrics are not weighted, where the gate asks for it.
    pub unweighted: Option<String>,
}

/// What `POST /train` answers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TrainAnswer")]
pub struct Answer {
    /// How much each feature contributes, in the order of the model's features.
    pub features: Vec<FeatureGain>,
    /// All rounds of boosting.
    pub iterations: Vec<Iteration>,
    /// Size of the model, as its booster writes it.
    pub size_bytes: usize,
    /// What is wrong with the model, and what to look at; a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How much a feature contributes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FeatureGain {
    /// Name of the feature.
    pub name: String,
    /// Total gain of the splits on it.
    pub weight: Weight,
}

/// A number for a feature of one column, else a list with one for each.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "FeatureWeight")]
pub enum Weight {
    /// Of its column.
    One(f64),
    /// Of its columns, in their order.
    Each(Vec<f64>),
}

/// One metric of several orders of the test split's lists; lists without a relevant item left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    /// Name of the metric, such as `NDCG@10`.
    pub metric: String,
    /// Of the order as it was shown.
    pub shown: f64,
    /// Expected of a random order.
    pub random: f64,
    /// Of the model's order.
    pub reranked: f64,
    /// Of the model's order when the features that serving fills with a constant (`position`) hold it, as they do
    /// in serving; `None` where the model has no such feature.
    pub served: Option<f64>,
    /// The same with clicks weighted by the examination of their positions, where the gate asks for it and it can be estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weighted: Option<WeightedQuality>,
}

/// A metric with clicks weighted by the inverse of the examination of their positions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WeightedQuality {
    /// Of the order as it was shown.
    pub shown: f64,
    /// Of the model's order as serving gives it.
    pub served: f64,
    /// Number of lists of equal weight that would say as much.
    pub effective_lists: f64,
}

impl Answer {
    pub(crate) fn of(fitted: &Fitted, columns: &[Column]) -> Self {
        let features = weights(&fitted.gains, columns).into_iter().map(FeatureGain::from).collect();
        let (iterations, size_bytes) = (fitted.iterations.clone(), fitted.model.len());
        Self { features, iterations, size_bytes, warnings: Vec::new() }
    }
}

impl Quality {
    /// Of the model's order as serving gives it.
    pub fn as_served(&self) -> f64 {
        self.served.unwrap_or(self.reranked)
    }

    /// What to say where the model is worse than the order as it was shown.
    pub(crate) fn complaint(&self) -> Option<String> {
        let Self { metric, shown, .. } = self;
        let served = self.as_served();
        (served < *shown).then(|| {
            format!(
                "{metric} {served:.4} as served is below {shown:.4} of the order as it was shown: clicks follow the position, \
                 and the features explain less of them; see docs/training.md, \"A model that is worse than what was shown\""
            )
        })
    }
}

/// Gains by feature; the columns of a feature stand together.
pub fn weights(gains: &[f64], columns: &[Column]) -> Vec<FeatureWeight> {
    let mut features: Vec<FeatureWeight> = Vec::new();
    for (column, &gain) in columns.iter().zip(gains) {
        match features.last_mut() {
            Some(feature) if feature.name == column.feature => feature.weights.push(gain),
            _ => features.push(FeatureWeight { name: column.feature.clone(), weights: vec![gain] }),
        }
    }
    features
}

impl From<FeatureWeight> for FeatureGain {
    fn from(feature: FeatureWeight) -> Self {
        let weight = match feature.weights.as_slice() {
            [one] => Weight::One(*one),
            _ => Weight::Each(feature.weights),
        };
        Self { name: feature.name, weight }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_of_several_columns_has_a_list_of_weights() {
        let column = |name: &str, feature: &str| Column {
            name: name.into(),
            feature: feature.into(),
            fingerprint: 1,
            categorical: false,
        };
        let columns = [column("price", "price"), column("ctr_7", "ctr"), column("ctr_30", "ctr")];
        let iteration = Iteration { id: 0, millis: 3, test_metric: 0.5, train_metric: 0.75 };
        let fitted = Fitted {
            booster: rankwright_config::model::Booster::LightGbm,
            model: vec![0; 10],
            gains: vec![45.0, 0.5, 0.0],
            iterations: vec![iteration],
            kept: 1,
        };
        let json = serde_json::to_value(Answer::of(&fitted, &columns)).expect("an answer is JSON");
        let expected = serde_json::json!({
            "features": [{"name": "price", "weight": 45.0}, {"name": "ctr", "weight": [0.5, 0.0]}],
            "iterations": [{"id": 0, "millis": 3, "testMetric": 0.5, "trainMetric": 0.75}],
            "sizeBytes": 10,
        });
        assert_eq!(json, expected);
    }
}
