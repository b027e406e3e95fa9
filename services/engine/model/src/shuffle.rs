//! `shuffle`: a random order in which no item drifts far. A baseline to compare models with.

use serde::{Deserialize, Serialize};

/// A seeded shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shuffle {
    /// How far an item's final position may lie from its original one, to either side.
    pub max_position_change: usize,
    /// Mixed with the seed of the request, so that two models shuffle one ranking differently.
    pub seed: u64,
}

impl Shuffle {
    /// Scores `count` items, `count` for the first of the new order to 1 for its last. One seed gives one order.
    ///
    /// Item `i` draws a number evenly from `i` to `i + max + 1`, and the draws are sorted. So an item draws more than any
    /// that stood over `max` before it, and less than any that stood over `max` behind it, which bounds its drift.
    pub fn scores(&self, request_seed: u64, count: usize) -> Vec<f64> {
        let mut random = SplitMix(request_seed ^ self.seed.rotate_left(32));
        let reach = self.max_position_change.min(count) as f64 + 1.0;
        let draws: Vec<f64> = (0..count).map(|position| position as f64 + random.unit() * reach).collect();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&left, &right| draws[left].total_cmp(&draws[right])); // stable: equal draws keep their order
        let mut scores = vec![0.0; count];
        order.iter().enumerate().for_each(|(position, &item)| scores[item] = (count - position) as f64);
        scores
    }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Evenly from 0 to 1, without 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::rank_order;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_item_drifts_further_than_allowed(
            max_position_change in 0_usize..40, seed: u64, request: u64, count in 0_usize..200
        ) {
            let scores = Shuffle { max_position_change, seed }.scores(request, count);
            for (position, item) in rank_order(&scores).into_iter().enumerate() {
                prop_assert!(position.abs_diff(item) <= max_position_change);
            }
        }

        #[test]
        fn scores_fall_by_one_from_the_number_of_items(max_position_change: usize, seed: u64, count in 0_usize..200) {
            let scores = Shuffle { max_position_change, seed }.scores(seed, count);
            let ranked: Vec<f64> = rank_order(&scores).into_iter().map(|item| scores[item]).collect();
            let expected: Vec<f64> = (1..=count).rev().map(|score| score as f64).collect();
            prop_assert_eq!(ranked, expected);
        }
    }

    #[test]
    fn one_seed_gives_one_order_and_others_give_others() {
        let shuffle = Shuffle { max_position_change: 10, seed: 1 };
        assert_eq!(shuffle.scores(7, 50), shuffle.scores(7, 50));
        assert_ne!(shuffle.scores(7, 50), shuffle.scores(8, 50));
        assert_ne!(shuffle.scores(7, 50), Shuffle { seed: 2, ..shuffle }.scores(7, 50));
    }

    #[test]
    fn an_item_reaches_every_place_that_is_allowed() {
        let shuffle = Shuffle { max_position_change: 2, seed: 0 };
        let places: std::collections::BTreeSet<u64> =
            (0..2_000).map(|seed| 10 - shuffle.scores(seed, 10)[5] as u64).collect();
        assert_eq!(places.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
    }
}
