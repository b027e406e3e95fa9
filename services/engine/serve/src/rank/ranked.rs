//! What an answer's text says, for the description of the interface.

#![allow(dead_code, reason = "answers are written by hand")]

use schemars::JsonSchema;

/// Items, best first.
#[derive(JsonSchema)]
#[schemars(rename = "RankAnswer")]
#[cfg_attr(test, derive(Debug, serde::Deserialize), serde(deny_unknown_fields))]
pub(crate) struct Ranked {
    items: Vec<RankedItem>,
    /// Why the items keep their incoming order.
    #[schemars(skip_serializing_if = "Option::is_none")]
    fallback: Option<String>,
    /// Why there are no contributions.
    #[schemars(skip_serializing_if = "Option::is_none")]
    unexplained: Option<String>,
    /// Milliseconds from the arrival of the request's head.
    took: u64,
}

#[derive(JsonSchema)]
#[schemars(rename = "ScoredItem")]
#[cfg_attr(test, derive(Debug, serde::Deserialize), serde(deny_unknown_fields))]
struct RankedItem {
    item: String,
    score: f64,
    /// With `explain`.
    #[schemars(skip_serializing_if = "Option::is_none")]
    features: Option<Vec<FeatureValue>>,
    /// How much of the score each feature brings, with `explain=contributions`.
    #[schemars(skip_serializing_if = "Option::is_none")]
    contributions: Option<Vec<Contribution>>,
    /// The rest of the score.
    #[schemars(skip_serializing_if = "Option::is_none")]
    bias: Option<f64>,
}

#[derive(JsonSchema)]
#[cfg_attr(test, derive(Debug, serde::Deserialize), serde(deny_unknown_fields))]
struct FeatureValue {
    name: String,
    value: ColumnValues,
}

/// A number for a feature of one column, else a list; null is a missing value.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[cfg_attr(test, derive(Debug, serde::Deserialize), serde(untagged))]
enum ColumnValues {
    One(Option<f64>),
    Each(Vec<Option<f64>>),
}

#[derive(JsonSchema)]
#[cfg_attr(test, derive(Debug, serde::Deserialize), serde(deny_unknown_fields))]
struct Contribution {
    name: String,
    value: f64,
    /// When the newest stored value came that the feature read, in milliseconds since 1970; absent where it read none.
    #[schemars(skip_serializing_if = "Option::is_none")]
    time: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::Ranked;
    use crate::rank::Explain;
    use crate::rank::answer::{Answer, Explained};
    use crate::ranker::FeatureColumns;
    use rankwright_event::Timestamp;
    use rankwright_event::json::decode_ranking_request;
    use rankwright_model::Contributions;
    use std::collections::BTreeMap;
    use std::time::Instant;

    #[test]
    fn what_is_written_is_what_is_described() {
        let ranking = decode_ranking_request(br#"{"id": "r", "timestamp": 1, "items": [{"id": "a"}, {"id": "b"}]}"#)
            .expect("a valid request");
        let features = FeatureColumns::group(["price", "ctr", "ctr"]);
        let rows = [1.0, f32::NAN, 0.5, f32::NAN, 2.0, 3.0];
        let brought = Contributions { values: vec![0.1; 6], bias: 0.5 };
        for (explain, fallback) in [
            (Explain::Nothing, None),
            (Explain::Features, Some("not trained")),
            (Explain::Contributions, None),
            (Explain::Contributions, Some("not trained")),
        ] {
            let brought = Some(&brought).filter(|_| explain == Explain::Contributions && fallback.is_none());
            let newest = vec![BTreeMap::from([("ctr", Timestamp::from_millis(7))]); 2];
            let explained = Explained::new(&features, &rows, explain, brought).map(|known| known.with_newest(&newest));
            let answer = Answer { ranking: &ranking, scores: &[2.0, 1.0], order: &[0, 1], explained, fallback };
            let read: Ranked = serde_json::from_slice(&answer.write(Instant::now())).expect("it is as described");
            let scored = &read.items[0];
            assert_eq!(read.items.len(), 2);
            assert_eq!(scored.features.is_some(), explain != Explain::Nothing);
            assert_eq!((scored.contributions.is_some(), scored.bias.is_some()), (brought.is_some(), brought.is_some()));
            let times = scored.contributions.as_ref().map(|all| all.iter().map(|one| one.time).collect::<Vec<_>>());
            assert_eq!(times, brought.map(|_| vec![None, Some(7)]));
            assert_eq!(read.fallback.as_deref(), fallback);
            assert_eq!(read.unexplained.is_some(), explain == Explain::Contributions && brought.is_none());
        }
    }
}
