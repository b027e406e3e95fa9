//! A learning curve: the metric of boosting after each round, on both splits.

use serde::{Deserialize, Serialize};

/// Rounds that a curve keeps, beside the last and the best one.
const ROUNDS: usize = 60;
/// Metrics are kept to this part of 1.
const GRAIN: f64 = 1e6;

/// How a metric went from round to round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearningCurve {
    /// What was measured, such as `NDCG@10`.
    pub metric: String,
    /// Some of the rounds, in their order.
    pub rounds: Vec<Round>,
}

/// The metric after a round; `None` where no list has a relevant item.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Number of the round, from 1.
    pub round: usize,
    /// On the lists that it was tested on.
    pub test: Option<f64>,
    /// On the lists that it learned from.
    pub train: Option<f64>,
}

impl LearningCurve {
    /// Of a metric that was (test, train) after each round, and of the number of rounds after which it was best. Of many rounds, some
    /// stand for all.
    pub fn new(metric: String, rounds: impl ExactSizeIterator<Item = (f64, f64)>, best: usize) -> Self {
        let count = rounds.len();
        let step = count.div_ceil(ROUNDS).max(1);
        let round = |(place, (test, train)): (usize, (f64, f64))| {
            let round = place + 1;
            let kept = place % step == 0 || round == best || round == count;
            kept.then(|| Round { round, test: told(test), train: told(train) })
        };
        Self { metric, rounds: rounds.enumerate().filter_map(round).collect() }
    }
}

fn told(metric: f64) -> Option<f64> {
    metric.is_finite().then(|| (metric * GRAIN).round() / GRAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(rounds: usize, best: usize) -> Vec<usize> {
        let rounds = (0..rounds).map(|round| (round as f64, 0.5));
        LearningCurve::new("NDCG@10".into(), rounds, best).rounds.iter().map(|round| round.round).collect()
    }

    #[test]
    fn few_rounds_are_all_kept() {
        assert_eq!(curve(3, 2), [1, 2, 3]);
        assert_eq!(curve(60, 60).len(), 60);
        assert!(curve(0, 0).is_empty());
    }

    #[test]
    fn of_many_rounds_some_are_kept_with_the_best_and_the_last() {
        let kept = curve(3000, 1234);
        assert!(kept.len() <= ROUNDS + 2 && kept.is_sorted(), "{kept:?}");
        assert!([1, 51, 1234, 3000].iter().all(|round| kept.contains(round)), "{kept:?}");
    }

    #[test]
    fn what_was_not_measured_is_told_as_such() {
        let curve = LearningCurve::new("MRR".into(), [(f64::NAN, 1.0 / 3.0)].into_iter(), 1);
        assert_eq!(curve.rounds, [Round { round: 1, test: None, train: Some(0.333333) }]);
    }
}
