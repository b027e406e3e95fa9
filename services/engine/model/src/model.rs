//! One scoring interface for whatever ranks: trees or a baseline.

use crate::ensemble::{Contributions, Ensemble, NoContributions};
use crate::shuffle::Shuffle;
use crate::version::{Kind, Version};

/// A model, ready to score.
#[derive(Debug)]
pub enum Model {
    /// Trees of XGBoost or LightGBM.
    Ensemble(Ensemble),
    /// A random order.
    Shuffle(Shuffle),
    /// The incoming order.
    Noop,
}

/// Why a version cannot serve: its bytes are damaged, or it is of another kind.
#[derive(Debug, thiserror::Error)]
#[error("failed to load version {version} of model {model:?}")]
pub struct LoadError {
    /// Name of the model.
    pub model: String,
    /// Which version.
    pub version: String,
    /// What is wrong with its bytes.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl LoadError {
    pub(crate) fn new(version: &Version, source: Box<dyn std::error::Error + Send + Sync>) -> Self {
        Self { model: version.metadata().model.clone(), version: version.id().to_string(), source }
    }
}

impl Model {
    /// Makes a version ready to score.
    ///
    /// # Errors
    /// When the booster's bytes are no model that can be evaluated.
    pub fn load(version: &Version) -> Result<Self, LoadError> {
        let read = match version.metadata().kind {
            Kind::XgBoost => Ensemble::xgboost(version.body()).map(Self::Ensemble),
            Kind::LightGbm => Ensemble::lightgbm(version.body()).map(Self::Ensemble),
            Kind::Shuffle(shuffle) => Ok(Self::Shuffle(shuffle)),
            Kind::Noop => Ok(Self::Noop),
            Kind::Als | Kind::Trending | Kind::Semantic => return Err(LoadError::new(version, "it recommends".into())),
        };
        read.map_err(|source| LoadError::new(version, source.into()))
    }

    /// Whether it scores all items alike, as trees without a split do.
    pub fn is_constant(&self) -> bool {
        matches!(self, Self::Ensemble(ensemble) if !ensemble.splits())
    }

    /// Scores `count` items, whose rows of `width` columns follow each other in `rows` (NaN is missing); the higher the
    /// better. The seed, a digest of the ranking's id, decides whatever is random. Baselines do not look at the rows.
    ///
    /// # Panics
    /// When an ensemble is not given `count` rows of `width` columns.
    pub fn score(&self, request_seed: u64, rows: &[f32], width: usize, count: usize) -> Vec<f64> {
        match self {
            Self::Ensemble(ensemble) => {
                let mut scores = vec![0.0; count];
                ensemble.score(rows, width, &mut scores);
                scores
            }
            Self::Shuffle(shuffle) => shuffle.scores(request_seed, count),
            Self::Noop => fallback_scores(count),
        }
    }

    /// What each column of each row brings to the scores; `None` of baselines, which do not look at rows.
    ///
    /// # Errors
    /// As of [`Ensemble::contributions`].
    pub fn contributions(&self, rows: &[f32], width: usize) -> Result<Option<Contributions>, NoContributions> {
        match self {
            Self::Ensemble(ensemble) => ensemble.contributions(rows, width).map(Some),
            Self::Shuffle(_) | Self::Noop => Ok(None),
        }
    }
}

/// Scores that keep the incoming order: `count` to 1.
pub fn fallback_scores(count: usize) -> Vec<f64> {
    (1..=count).rev().map(|score| score as f64).collect()
}

/// Indices of items from the best to the worst score: equal ones keep the incoming order, NaN comes last.
pub fn rank_order(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&left, &right| {
        let (left, right) = (scores[left], scores[right]);
        right.partial_cmp(&left).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_best_score_comes_first_equal_ones_keep_their_order_and_nan_comes_last() {
        let scores = [1.0, f64::NAN, 3.0, 1.0, f64::NEG_INFINITY, 3.0, f64::NAN, 0.0, -0.0];
        assert_eq!(rank_order(&scores), [2, 5, 0, 3, 7, 8, 4, 1, 6]);
    }

    #[test]
    fn noop_returns_the_incoming_order() {
        assert_eq!(Model::Noop.score(1, &[], 0, 3), [3.0, 2.0, 1.0]);
        assert_eq!(rank_order(&fallback_scores(4)), [0, 1, 2, 3]);
        assert!(fallback_scores(0).is_empty());
    }

    proptest! {
        #[test]
        fn any_scores_give_an_order_of_all_items(scores in prop::collection::vec(any::<f64>(), 0..100)) {
            let mut order = rank_order(&scores);
            for pair in order.windows(2) {
                let (first, second) = (scores[pair[0]], scores[pair[1]]);
                prop_assert!(first >= second || second.is_nan());
            }
            order.sort_unstable();
            prop_assert_eq!(order, (0..scores.len()).collect::<Vec<_>>());
        }
    }
}
