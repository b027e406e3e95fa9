//! What a loaded version of a model does with a ranking.

use rankwright_event::{Ranking, Timestamp};
use rankwright_feature::{Encoded, Texts};
use rankwright_model::{Contributions, NoContributions};
use rankwright_state::{Fetched, Key};
use std::collections::BTreeMap;
use std::ops::Range;

/// Orders items. Plain functions: the caller fetches what they ask for.
pub trait Ranker: Send + Sync {
    /// The features that the model lists, in its order; empty for models that use none.
    fn features(&self) -> &[FeatureColumns];

    /// What to read in the first round trip; nothing where no state is needed.
    fn reads(&self, ranking: &Ranking) -> Vec<Key>;

    /// What to read in the second round trip, which depends on the first; in order, each once, usually nothing.
    fn follow(&self, ranking: &Ranking, fetched: &Fetched) -> Vec<Key>;

    /// Texts that models have to compute first, on threads that may wait; usually nothing.
    fn texts(&self, _ranking: &Ranking, _fetched: &Fetched) -> Texts {
        Texts::default()
    }

    /// One row per item, row-major; NaN is missing.
    fn rows(&self, ranking: &Ranking, fetched: &Fetched, encoded: &Encoded) -> Vec<f32>;

    /// For each item: when the newest of what each feature reads was stored; without those that read nothing stored.
    fn newest(&self, _ranking: &Ranking, _fetched: &Fetched) -> Vec<BTreeMap<&str, Timestamp>> {
        Vec::new()
    }

    /// Why its scores say nothing, where they do not: rankings then keep their incoming order.
    fn fallback(&self) -> Option<&str> {
        None
    }

    /// One finite score per item; higher is better.
    fn scores(&self, ranking: &Ranking, rows: &[f32]) -> Vec<f64>;

    /// What each column of each row brings to the scores of these rows; `None` where scores do not come from features.
    ///
    /// # Errors
    /// When the version does not hold what contributions are computed from.
    fn contributions(&self, _rows: &[f32]) -> Result<Option<Contributions>, NoContributions> {
        Ok(None)
    }
}

/// Where a feature lies in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureColumns {
    /// Its name in the configuration.
    pub name: String,
    /// Its columns.
    pub columns: Range<usize>,
}

impl FeatureColumns {
    /// Groups columns, given by the names of the features they belong to; those of one feature stand together.
    pub fn group<'a>(features: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (column, feature) in features.into_iter().enumerate() {
            match groups.last_mut().filter(|last| last.name == feature) {
                Some(last) => last.columns.end = column + 1,
                None => groups.push(Self { name: feature.to_owned(), columns: column..column + 1 }),
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_columns_of_one_feature_are_one_group() {
        let groups = FeatureColumns::group(["price", "ctr", "ctr", "age"]);
        let found: Vec<_> = groups.iter().map(|group| (group.name.as_str(), group.columns.clone())).collect();
        assert_eq!(found, [("price", 0..1), ("ctr", 1..3), ("age", 3..4)]);
    }
}
