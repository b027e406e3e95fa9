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

mod chance;
mod rounds;

pub use chance::expected;
pub use rounds::NdcgOfRounds;

use crate::lists::Lists;
use rankwright_config::model::Metric;

/// The largest label whose gain is told apart from larger ones: gains stay finite as `f32`.
pub const MAX_LABEL: f32 = 100.0;

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
        let ranked = ranked(labels, scores.next().unwrap_or_default());
        metrics.iter().map(|&metric| of_list(metric, &ranked)).collect()
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

/// The labels in falling order of their scores.
fn ranked(labels: &[f32], scores: &[f64]) -> Vec<f32> {
    let mut pairs: Vec<(f64, f32)> =
        scores.iter().map(|&score| comparable(score)).zip(labels.iter().copied()).collect();
    pairs.sort_by(|(left, _), (right, _)| right.total_cmp(left)); // stable: equal scores keep their order
    pairs.into_iter().map(|(_, label)| label).collect()
}

/// A score whose total order is the numeric one: `-0.0` equals `0.0`, and `NaN` comes last.
fn comparable(score: f64) -> f64 {
    if score.is_nan() { f64::NEG_INFINITY } else { score + 0.0 }
}

/// A metric of one list by its labels in ranked order.
fn of_list(metric: Metric, ranked: &[f32]) -> f64 {
    match metric {
        Metric::Ndcg(cutoff) => ndcg(ranked, cutoff.unwrap_or(usize::MAX)),
        Metric::Map(cutoff) => average_precision(ranked, cutoff.unwrap_or(usize::MAX)),
        Metric::Mrr => relevant(ranked).next().map_or(0.0, |place| 1.0 / place as f64),
    }
}

fn ndcg(ranked: &[f32], cutoff: usize) -> f64 {
    let ideal = ideal(ranked, cutoff);
    if ideal > 0.0 { discounted_gain(ranked, cutoff) / ideal } else { 0.0 }
}

/// The discounted gain of the best order.
fn ideal(labels: &[f32], cutoff: usize) -> f64 {
    let mut best = labels.to_vec();
    best.sort_by(|left, right| right.total_cmp(left));
    discounted_gain(&best, cutoff)
}

fn discounted_gain(ranked: &[f32], cutoff: usize) -> f64 {
    let discounted = |(index, &label): (usize, &f32)| gain(label) / (index as f64 + 2.0).log2();
    ranked.iter().take(cutoff).enumerate().map(discounted).sum()
}

fn average_precision(ranked: &[f32], cutoff: usize) -> f64 {
    let hits = relevant(ranked).take_while(|&place| place <= cutoff).enumerate();
    let precisions: f64 = hits.map(|(index, place)| (index + 1) as f64 / place as f64).sum();
    precisions / relevant(ranked).count().min(cutoff).max(1) as f64
}

/// Places, from 1, of the relevant items.
fn relevant(ranked: &[f32]) -> impl Iterator<Item = usize> {
    ranked.iter().enumerate().filter(|&(_, &label)| label > 0.0).map(|(index, _)| index + 1)
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
    fn a_list_without_a_relevant_item_is_left_out_of_the_mean() {
        assert!(one(Metric::Mrr, &[0.0, 0.0], &[2.0, 1.0]).is_nan());
        let lists = Lists { labels: &[0.0, 0.0, 0.0, 1.0], lengths: &[2, 2] };
        close(evaluate(&[Metric::Mrr], lists, &[2.0, 1.0, 2.0, 1.0])[0], 0.5);
    }
}
