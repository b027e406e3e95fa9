//! What a model learns from, and what it is tested on.

use crate::digest;
use rankwright_config::model::{Split, SplitStrategy};
use std::collections::HashMap;

/// What a split has to know of a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When it was shown, in milliseconds since 1970.
    pub time: i64,
    /// Digest of its id.
    pub id: u64,
    /// Digest of its visitor: the user, else the session, else the ranking itself.
    pub visitor: u64,
    /// Whether the field of a split by field says test.
    pub held_out: bool,
}

/// Two sides of a data set, as indices of rankings, each side in order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides {
    /// What a model learns from.
    pub train: Vec<u32>,
    /// What it is tested on.
    pub test: Vec<u32>,
}

/// Parts rankings into train and test.
///
/// The result depends on the keys and the seed (which `random` alone uses), not on the order of the keys. `time` and
/// `random` put the whole number below `ratio * n` into train; `hold_last` does so visitor by visitor, and leaves at least a
/// visitor's first ranking in train. A split by field looks at nothing but the field.
pub fn split(split: &Split, seed: u64, keys: &[Key]) -> Sides {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by_key(|&index| keys[index as usize]);
    let in_train = match &split.strategy {
        SplitStrategy::Time => first_part(&order, split.ratio),
        SplitStrategy::Random => {
            let mut shuffled = order.clone();
            shuffled.sort_by_key(|&index| digest::mix(keys[index as usize].id, seed));
            first_part(&shuffled, split.ratio)
        }
        SplitStrategy::HoldLast => first_of_each(&order, keys, split.ratio),
        SplitStrategy::Field(_) => keys.iter().map(|key| !key.held_out).collect(),
    };
    let (train, test) = order.into_iter().partition(|&index| in_train[index as usize]);
    Sides { train, test }
}

/// Marks the first part of an order.
fn first_part(order: &[u32], ratio: f64) -> Vec<bool> {
    let mut marked = vec![false; order.len()];
    for &index in &order[..part(order.len(), ratio)] {
        marked[index as usize] = true;
    }
    marked
}

/// Marks the first part of each visitor's rankings, the first one always.
fn first_of_each(order: &[u32], keys: &[Key], ratio: f64) -> Vec<bool> {
    let mut visitors: HashMap<u64, Vec<u32>> = HashMap::new();
    for &index in order {
        visitors.entry(keys[index as usize].visitor).or_default().push(index);
    }
    let mut marked = vec![false; order.len()];
    for rankings in visitors.values() {
        for &index in &rankings[..part(rankings.len(), ratio).max(1)] {
            marked[index as usize] = true;
        }
    }
    marked
}

/// The whole number below `ratio * count` (or equal to it: 80 % of 5 is 4, whatever binary fractions say).
fn part(count: usize, ratio: f64) -> usize {
    ((count as f64 * ratio + 1e-9).floor() as usize).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(count: u64, visitors: u64) -> Vec<Key> {
        (0..count).map(|id| Key { time: (id * 10) as i64, id, visitor: id % visitors, held_out: id % 3 == 2 }).collect()
    }

    fn by(strategy: SplitStrategy, ratio: f64, keys: &[Key]) -> Sides {
        split(&Split { strategy, ratio }, 7, keys)
    }

    #[test]
    fn a_split_by_time_learns_from_the_earlier_part() {
        let sides = by(SplitStrategy::Time, 0.8, &keys(10, 1));
        assert_eq!((sides.train, sides.test), ((0..8).collect(), vec![8, 9]));
    }

    #[test]
    fn a_split_by_field_tests_on_what_the_field_holds_out() {
        let split: Split = "field=split:train:test".parse().expect("a split");
        let sides = super::split(&split, 7, &keys(10, 1));
        assert_eq!((sides.train, sides.test), (vec![0, 1, 3, 4, 6, 7, 9], vec![2, 5, 8]));
    }

    #[test]
    fn each_ranking_is_on_one_side() {
        for strategy in [SplitStrategy::Time, SplitStrategy::Random, SplitStrategy::HoldLast] {
            let sides = by(strategy, 0.7, &keys(101, 9));
            let mut all = [sides.train, sides.test].concat();
            all.sort_unstable();
            assert_eq!(all, (0..101).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_random_split_is_the_same_for_the_same_seed_and_keeps_each_side_in_order_of_time() {
        let keys = keys(100, 1);
        let sides = by(SplitStrategy::Random, 0.8, &keys);
        assert_eq!(sides, by(SplitStrategy::Random, 0.8, &keys));
        assert_ne!(sides, split(&Split { strategy: SplitStrategy::Random, ratio: 0.8 }, 8, &keys));
        assert_eq!((sides.train.len(), sides.test.len()), (80, 20));
        assert!(sides.test.iter().any(|&index| index < 50) && sides.test.is_sorted());
    }

    #[test]
    fn the_order_of_reading_does_not_matter() {
        for strategy in [SplitStrategy::Time, SplitStrategy::Random, SplitStrategy::HoldLast] {
            let forward = keys(50, 7);
            let backward: Vec<Key> = forward.iter().rev().copied().collect();
            let here = by(strategy.clone(), 0.8, &forward)
                .test
                .iter()
                .map(|&index| forward[index as usize])
                .collect::<Vec<_>>();
            let there =
                by(strategy, 0.8, &backward).test.iter().map(|&index| backward[index as usize]).collect::<Vec<_>>();
            assert_eq!(here, there);
        }
    }

    #[test]
    fn hold_last_tests_on_the_last_rankings_of_each_visitor() {
        let sides = by(SplitStrategy::HoldLast, 0.8, &keys(10, 2));
        assert_eq!(sides.test, [8, 9]);
        let pairs = by(SplitStrategy::HoldLast, 0.8, &keys(4, 2));
        assert_eq!((pairs.train, pairs.test), (vec![0, 1], vec![2, 3]));
    }

    #[test]
    fn hold_last_learns_from_a_visitor_with_one_ranking() {
        assert!(by(SplitStrategy::HoldLast, 0.8, &keys(5, 5)).test.is_empty());
    }

    #[test]
    fn a_ratio_of_one_leaves_nothing_to_test_on() {
        assert!(by(SplitStrategy::Time, 1.0, &keys(5, 1)).test.is_empty());
        assert!(by(SplitStrategy::Time, 0.0, &keys(5, 1)).train.is_empty());
        assert_eq!(by(SplitStrategy::Time, 0.8, &keys(5, 1)).test, [4]);
    }
}
