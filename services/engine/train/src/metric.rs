//! How good an order is: NDCG, MAP and MRR, computed by us and equal to the boosters' own.
//!
//! - NDCG (Järvelin and Kekäläinen 2002) with the gain `2^label - 1` and the discount `1 / log2(place + 1)` (Burges et
//!   al. 2005), over that of the best order.
//! - MAP (Manning, Raghavan and Schütze 2008, section 8.4): the mean of the precisions at the places of the relevant
//!   items, over as many of them as the first `k` places could hold.
//! - MRR (Voorhees 1999): one over the place of the first relevant item.
//!
//! An item is relevant when its label is positive; items of equal score keep their order. A list without a relevant
//! item says nothing about an order and is left out of the mean. (LightGBM, and XGBoost by default, count such a list
//! as 1, which lifts every figure; on lists that all have a relevant item the values are the same.)
//!
//! Each item has a weight: 1, or the inverse of how often its position is looked at ([`crate::examination`]). A weight of 2
//! says that the item stands for two relevant ones, one of which visitors did not see. NDCG multiplies gains by weights, MAP
//! counts relevant items by their weights, both over the best order; MRR looks at one item, and at no weight.

mod chance;
mod rounds;

pub use chance::expected;
pub use rounds::NdcgOfRounds;

use crate::lists::Lists;
use rankwright_config::model::Metric;

/// The largest label whose gain is told apart from larger ones: gains stay finite as `f32`.
pub const MAX_LABEL: f32 = 100.0;

/// What is known of an item: how relevant it is, and what one relevant item counts there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Relevance, never negative.
    pub label: f32,
    /// 1, or more where visitors seldom look at the item's position.
    pub weight: f64,
}

impl Judged {
    fn is_relevant(&self) -> bool {
        self.label > 0.0
    }

    fn gain(&self) -> f64 {
        gain(self.label) * self.weight
    }
}

/// Labels of a list, each of weight 1.
pub fn unweighted(labels: &[f32]) -> Vec<Judged> {
    labels.iter().map(|&label| Judged { label, weight: 1.0 }).collect()
}

/// What an item of this label adds to a list's gain: `2^label - 1`, the label clamped to 0 to [`MAX_LABEL`].
pub fn gain(label: f32) -> f64 {
    f64::from(label.clamp(0.0, MAX_LABEL)).exp2() - 1.0
}

/// The metric's name, as configurations write it.
pub fn name(metric: Metric) -> String {
    match metric {
        Metric::Ndcg(None) => "NDCG".to_owned(),
        Metric::Ndcg(Some(k)) => format!("NDCG@{k}"),
        Metric::Map(None) => "MAP".to_owned(),
        Metric::Map(Some(k)) => format!("MAP@{k}"),
        Metric::Mrr => "MRR".to_owned(),
    }
}

/// Each metric's mean over the lists when these scores order them; `NaN` where no list has a relevant item.
///
/// One score a row; `NaN` counts as the lowest.
pub fn evaluate(metrics: &[Metric], lists: Lists<'_>, scores: &[f64]) -> Vec<f64> {
    let mut scores = lists.split(scores);
    mean(metrics, lists, |labels| {
        let ranked = ranked(&unweighted(labels), scores.next().unwrap_or_default());
        metrics.iter().map(|&metric| of_ranked(metric, &ranked)).collect()
    })
}

/// The mean of what `of` makes of the labels of each list, a value for each metric, over the lists that have a relevant item.
fn mean(metrics: &[Metric], lists: Lists<'_>, mut of: impl FnMut(&[f32]) -> Vec<f64>) -> Vec<f64> {
    let mut sums = vec![0.0; metrics.len()];
    let mut counted = 0usize;
    for labels in lists.split(lists.labels) {
        let values = of(labels);
        if labels.iter().any(|&label| label > 0.0) {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            counted += 1;
        }
    }
    sums.into_iter().map(|sum| sum / counted as f64).collect()
}

/// A metric of one list when these scores order its items; 0 where none is relevant.
pub fn of_list(metric: Metric, list: &[Judged], scores: &[f64]) -> f64 {
    of_ranked(metric, &ranked(list, scores))
}

/// The expectation of a metric of one list over random orders.
pub fn expected_of_list(metric: Metric, list: &[Judged]) -> f64 {
    chance::of_list(metric, list)
}

/// The items in falling order of their scores.
pub fn ranked(list: &[Judged], scores: &[f64]) -> Vec<Judged> {
    let mut pairs: Vec<(f64, Judged)> =
        scores.iter().map(|&score| comparable(score)).zip(list.iter().copied()).collect();
    pairs.sort_by(|(left, _), (right, _)| right.total_cmp(left)); // stable: equal scores keep their order
    pairs.into_iter().map(|(_, item)| item).collect()
}

/// A score whose total order is the numeric one: `-0.0` equals `0.0`, and `NaN` comes last.
fn comparable(score: f64) -> f64 {
    if score.is_nan() { f64::NEG_INFINITY } else { score + 0.0 }
}

/// A metric of one list by its items in ranked order.
pub fn of_ranked(metric: Metric, ranked: &[Judged]) -> f64 {
    match metric {
        Metric::Ndcg(cutoff) => over_best(ranked, cutoff, Judged::gain, discounted_gain),
        Metric::Map(cutoff) => over_best(ranked, cutoff, |item| item.weight, precisions),
        Metric::Mrr => relevant(ranked).next().map_or(0.0, |place| 1.0 / place as f64),
    }
}

/// What `of` makes of the first items, over what it makes of the best order: that of falling `worth`.
fn over_best(
    ranked: &[Judged],
    cutoff: Option<usize>,
    worth: impl Fn(&Judged) -> f64,
    of: impl Fn(&[Judged], usize) -> f64,
) -> f64 {
    let cutoff = cutoff.unwrap_or(usize::MAX);
    let ideal = of(&best(ranked, worth), cutoff);
    if ideal > 0.0 { of(ranked, cutoff) / ideal } else { 0.0 }
}

/// The best order: relevant items before others, those of more worth first.
fn best(list: &[Judged], worth: impl Fn(&Judged) -> f64) -> Vec<Judged> {
    let mut best: Vec<Judged> = list.iter().copied().filter(Judged::is_relevant).collect();
    best.sort_by(|left, right| worth(right).total_cmp(&worth(left)));
    best
}

fn discounted_gain(ranked: &[Judged], cutoff: usize) -> f64 {
    let discounted = |(index, item): (usize, &Judged)| item.gain() / (index as f64 + 2.0).log2();
    ranked.iter().take(cutoff).enumerate().map(discounted).sum()
}

/// The precisions at the places of relevant items, all together: relevant items up to there, by their weights, over the place.
fn precisions(ranked: &[Judged], cutoff: usize) -> f64 {
    let (mut hits, mut sum) = (0.0, 0.0);
    for (index, item) in ranked.iter().take(cutoff).enumerate().filter(|(_, item)| item.is_relevant()) {
        hits += item.weight;
        sum += item.weight * hits / (index as f64 + 1.0);
    }
    sum
}

/// Places, from 1, of the relevant items.
fn relevant(ranked: &[Judged]) -> impl Iterator<Item = usize> {
    ranked.iter().enumerate().filter(|(_, item)| item.is_relevant()).map(|(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(metric: Metric, labels: &[f32], scores: &[f64]) -> f64 {
        let lists = Lists { labels, lengths: &[labels.len() as u32] };
        evaluate(&[metric], lists, scores)[0]
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
    }

    #[test]
    fn ndcg_weighs_the_gain_by_the_logarithm_of_the_place() {
        let worst = (3.0 / 4f64.log2() + 1.0 / 3f64.log2()) / (3.0 + 1.0 / 3f64.log2());
        close(one(Metric::Ndcg(None), &[0.0, 1.0, 2.0], &[3.0, 2.0, 1.0]), worst);
        close(one(Metric::Ndcg(None), &[0.0, 1.0, 2.0], &[1.0, 2.0, 3.0]), 1.0);
    }

    #[test]
    fn ndcg_at_k_looks_at_the_first_k_places_alone() {
        close(one(Metric::Ndcg(Some(1)), &[1.0, 2.0], &[2.0, 1.0]), 1.0 / 3.0);
        close(one(Metric::Ndcg(Some(1)), &[0.0, 2.0], &[2.0, 1.0]), 0.0);
    }

    #[test]
    fn map_is_the_mean_precision_at_the_relevant_places() {
        close(one(Metric::Map(None), &[1.0, 0.0, 1.0], &[3.0, 2.0, 1.0]), (1.0 + 2.0 / 3.0) / 2.0);
        close(one(Metric::Map(Some(1)), &[1.0, 0.0, 1.0], &[3.0, 2.0, 1.0]), 1.0);
        close(one(Metric::Map(Some(2)), &[1.0, 0.0, 1.0], &[3.0, 2.0, 1.0]), 0.5);
    }

    #[test]
    fn mrr_is_one_over_the_place_of_the_first_relevant_item() {
        close(one(Metric::Mrr, &[0.0, 0.0, 5.0], &[3.0, 2.0, 1.0]), 1.0 / 3.0);
    }

    #[test]
    fn a_label_need_not_be_whole() {
        let gain = |label: f64| label.exp2() - 1.0;
        let expected = (gain(0.5) + gain(1.5) / 3f64.log2()) / (gain(1.5) + gain(0.5) / 3f64.log2());
        close(one(Metric::Ndcg(None), &[0.5, 1.5], &[2.0, 1.0]), expected);
    }

    #[test]
    fn items_of_equal_score_keep_their_order_and_nan_comes_last() {
        close(one(Metric::Mrr, &[0.0, 1.0], &[0.0, -0.0]), 0.5);
        close(one(Metric::Mrr, &[0.0, 1.0], &[f64::NAN, -9.0]), 1.0);
    }

    #[test]
    fn an_item_of_weight_two_counts_as_two_in_ndcg_and_map() {
        let judged = |label: f32, weight: f64| Judged { label, weight };
        let list = [judged(1.0, 1.0), judged(0.0, 9.0), judged(1.0, 2.0)];
        let shown = [3.0, 2.0, 1.0];
        close(of_list(Metric::Ndcg(None), &list, &shown), (1.0 + 2.0 / 2.0) / (2.0 + 1.0 / 3f64.log2()));
        close(of_list(Metric::Map(None), &list, &shown), (1.0 + 2.0 * 3.0 / 3.0) / (2.0 * 2.0 + 3.0 / 2.0));
        close(of_list(Metric::Map(Some(1)), &list, &shown), 1.0 / 4.0);
        close(of_list(Metric::Mrr, &list, &shown), 1.0);
        for metric in [Metric::Ndcg(Some(2)), Metric::Map(None), Metric::Mrr] {
            close(of_list(metric, &list, &[1.0, 0.0, 2.0]), 1.0);
        }
    }

    #[test]
    fn weights_that_are_all_the_same_change_nothing() {
        let labels = [0.0, 2.0, 0.0, 1.0, 1.0];
        let list = labels.map(|label| Judged { label, weight: 7.0 });
        for metric in [Metric::Ndcg(Some(3)), Metric::Map(None), Metric::Map(Some(2)), Metric::Mrr] {
            let scores = [1.0, 0.0, 3.0, 2.0, 5.0];
            close(of_list(metric, &list, &scores), of_list(metric, &unweighted(&labels), &scores));
        }
    }

    #[test]
    fn a_list_without_a_relevant_item_is_left_out_of_the_mean() {
        assert!(one(Metric::Mrr, &[0.0, 0.0], &[2.0, 1.0]).is_nan());
        let lists = Lists { labels: &[0.0, 0.0, 0.0, 1.0], lengths: &[2, 2] };
        close(evaluate(&[Metric::Mrr], lists, &[2.0, 1.0, 2.0, 1.0])[0], 0.5);
    }
}
