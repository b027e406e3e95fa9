//! Items in demand: interactions, weighted by type, that lose weight by the day.
//!
//! The score of an item is the sum over its interactions of `weight * decay ^ days`, where `days` are the whole days of 24
//! hours from the interaction to now. Interactions older than their type's window add nothing.

use crate::codec::{self, DecodeError};
use compact_str::CompactString;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::time::Duration;

const DAY: u64 = 24 * 60 * 60 * 1000; // in milliseconds
const MAGIC: &str = "RANKWTRD";
/// Parts of one in a sum.
const UNIT: f64 = (1_u128 << 64) as f64;

/// What an interaction of one type adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    /// What is left of it after a day.
    pub decay: f64,
    /// What it adds when it is new.
    pub weight: f64,
    /// Age up to which it counts.
    pub window: Duration,
}

impl Default for Weight {
    fn default() -> Self {
        Self { decay: 1.0, weight: 1.0, window: Duration::from_millis(30 * DAY) }
    }
}

/// Adds up interactions in any order; memory is that of the items' ids and sixteen bytes each.
pub struct TrendingBuilder {
    weights: Vec<Weight>,
    now: u64,
    /// Fixed-point numbers, in parts of `UNIT`: sums of them do not depend on the order.
    scores: HashMap<CompactString, i128, foldhash::fast::RandomState>,
}

/// Items in demand, best first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trending {
    items: Vec<(CompactString, f32)>,
    seen: u64,
}

impl TrendingBuilder {
    /// Scores as of `now`, in milliseconds since 1970; the place of a weight is the number of its type.
    pub fn new(weights: &[Weight], now: u64) -> Self {
        Self { weights: weights.to_vec(), now, scores: HashMap::default() }
    }

    /// Adds an interaction of an item, by the number of its type and its time in milliseconds. One that is later than now
    /// counts as new. One of a type without weight is left out.
    pub fn add(&mut self, item: &str, kind: usize, timestamp: u64) {
        let Some(added) = added(&self.weights, self.now, kind, timestamp) else { return };
        match self.scores.get_mut(item) {
            Some(score) => *score = score.saturating_add(added),
            None => drop(self.scores.insert(CompactString::new(item), added)),
        }
    }

    /// The items with the highest scores, `keep` at most; of equal scores, the lower id comes first.
    pub fn build(self, keep: usize) -> Trending {
        Trending::of(self.scores.into_iter().collect(), keep)
    }
}

/// What an interaction adds to a score; nothing where it has no weight or is too old.
pub(crate) fn added(weights: &[Weight], now: u64, kind: usize, timestamp: u64) -> Option<i128> {
    let weight = weights.get(kind)?;
    let age = now.saturating_sub(timestamp);
    if u128::from(age) > weight.window.as_millis() {
        return None;
    }
    let days = i32::try_from(age / DAY).unwrap_or(i32::MAX);
    // a conversion saturates, and makes 0 of what is no number
    Some((weight.weight * weight.decay.powi(days) * UNIT) as i128)
}

impl Trending {
    /// Items that are kept unless asked otherwise.
    pub const KEEP: usize = 10_000;

    /// Items with their scores in parts of one, in any order, each once.
    pub(crate) fn of(mut items: Vec<(CompactString, i128)>, keep: usize) -> Self {
        let seen = items.len() as u64;
        let order = |a: &(CompactString, i128), b: &(CompactString, i128)| -> Ordering {
            b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0))
        };
        if keep > 0 && keep < items.len() {
            items.select_nth_unstable_by(keep - 1, order);
        }
        items.truncate(keep);
        items.sort_unstable_by(order);
        let items = items.into_iter().map(|(item, score)| (item, (score as f64 / UNIT) as f32)).collect();
        Self { items, seen }
    }

    /// Scores of all interactions (item, number of its type, time in milliseconds) as of now.
    pub fn fit<'a>(
        interactions: impl IntoIterator<Item = (&'a str, usize, u64)>,
        weights: &[Weight],
        now: u64,
    ) -> Self {
        let mut builder = TrendingBuilder::new(weights, now);
        interactions.into_iter().for_each(|(item, kind, timestamp)| builder.add(item, kind, timestamp));
        builder.build(Self::KEEP)
    }

    /// The best items and their scores, best first, without those to exclude; `count` at most.
    pub fn top(&self, count: usize, exclude: impl Fn(&str) -> bool) -> Vec<(&str, f32)> {
        self.iter().filter(|(item, _)| !exclude(item)).take(count).collect()
    }

    /// All items that are kept and their scores, best first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, f32)> {
        self.items.iter().map(|(item, score)| (item.as_str(), *score))
    }

    /// How many items are kept.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether no item is.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many items had an interaction in a window, kept or not.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The items as one file.
    pub fn to_bytes(&self) -> Vec<u8> {
        codec::encode(MAGIC, self)
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// Any other bytes, each with its reason.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let trending: Self = codec::decode(MAGIC, bytes)?;
        let are_numbers = trending.iter().all(|(_, score)| score.is_finite());
        if are_numbers { Ok(trending) } else { Err(DecodeError::Invalid("scores are no numbers".to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 100 * DAY;

    fn weights() -> [Weight; 2] {
        let click = Weight { decay: 0.5, window: Duration::from_millis(3 * DAY), ..Weight::default() };
        [click, Weight { weight: 3.0, ..Weight::default() }]
    }

    fn nothing(_: &str) -> bool {
        false
    }

    #[test]
    fn interactions_lose_weight_by_whole_days_within_their_window() {
        let clicks = [
            ("a", 0, NOW),               // 1
            ("a", 0, NOW - DAY + 1),     // less than a day: 1
            ("a", 0, NOW - DAY),         // 1/2
            ("b", 0, NOW - 3 * DAY),     // 1/8
            ("b", 0, NOW - 3 * DAY - 1), // out of the window
            ("b", 1, NOW - 30 * DAY),    // a purchase: 3
            ("c", 0, NOW + DAY),         // ahead of now: 1
            ("d", 0, 0),                 // out of the window: not seen
            ("d", 2, NOW),               // a type without weight: not seen
        ];
        let trending = Trending::fit(clicks, &weights(), NOW);
        assert_eq!(trending.top(9, nothing), [("b", 3.125), ("a", 2.5), ("c", 1.0)]);
        assert_eq!(trending.top(1, |item| item == "b"), [("a", 2.5)]);
        assert_eq!((trending.len(), trending.seen()), (3, 3));
    }

    #[test]
    fn the_best_are_kept_and_equal_scores_come_by_id() {
        let mut builder = TrendingBuilder::new(&weights(), NOW);
        ["d", "c", "b", "a", "c"].iter().for_each(|item| builder.add(item, 0, NOW));
        let trending = builder.build(3);
        assert_eq!(trending.iter().collect::<Vec<_>>(), [("c", 2.0), ("a", 1.0), ("b", 1.0)]);
        assert_eq!(trending.seen(), 4);
        assert!(TrendingBuilder::new(&weights(), NOW).build(0).is_empty());
    }

    #[test]
    fn the_order_of_interactions_changes_no_bit() {
        let weights = [Weight { decay: 0.93, weight: 0.1, ..Weight::default() }];
        let mut clicks: Vec<_> =
            (0..1000).map(|click| (["a", "b"][click % 2], 0, NOW - click as u64 * 1_000_003)).collect();
        let expected = Trending::fit(clicks.iter().copied(), &weights, NOW);
        clicks.reverse();
        clicks.rotate_left(77);
        assert_eq!(Trending::fit(clicks, &weights, NOW), expected);
    }

    #[test]
    fn scores_that_are_no_numbers_harm_nothing() {
        for weight in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            let weights = [Weight { weight, ..Weight::default() }];
            let trending = Trending::fit([("a", 0, NOW), ("a", 0, NOW)], &weights, NOW);
            assert!(trending.iter().all(|(_, score)| score.is_finite()), "{weight}");
        }
    }

    #[test]
    fn scores_that_are_no_numbers_are_not_read() {
        for score in [f32::NAN, f32::INFINITY] {
            let trending = Trending { items: vec![("a".into(), 1.0), ("b".into(), score)], seen: 2 };
            let refused = DecodeError::Invalid("scores are no numbers".to_owned());
            assert_eq!(Trending::from_bytes(&trending.to_bytes()), Err(refused));
        }
    }

    #[test]
    fn bytes_become_the_same_items() {
        let trending = Trending::fit([("a", 0, NOW), ("é", 1, NOW)], &weights(), NOW);
        assert_eq!(Trending::from_bytes(&trending.to_bytes()), Ok(trending));
    }
}
