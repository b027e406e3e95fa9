//! What to expect of a random order: the mean of a metric over all orders of a list, each as likely as any other.
//!
//! All three are exact. Chance brings an item to a place with probability `1/n`, so the expectation of a sum over places
//! is the sum of what each place is expected to add (linearity; for NDCG see Valizadegan et al., "Learning to Rank by
//! Optimizing NDCG Measure", 2009; for MAP see Bestgen, "Exact Expected Average Precision of the Random Baseline for
//! System Evaluation", 2015). With `r` relevant items of `n`:
//!
//! - NDCG@k: the mean gain times the sum of the first `k` discounts, over the gain of the best order.
//! - MAP@k: the sum of `r/n * (1 + (p-1)(r-1)/(n-1)) / p` over the places `p` up to `k`, over `min(r, k)`.
//! - MRR: the sum of `1/p * P(the first relevant item is at p)`, which is the chance that the places before hold none
//!   of the `r` and this one does (hypergeometric).
//!
//! With weights the gains are weighted ones, and MAP@k is the sum of `(Q + (p-1)/(n-1) * (W^2 - Q)) / (n * p)` over these
//! places, over the best order's: `W` is the sum of the weights of relevant items, and `Q` that of their squares.

use super::{Judged, best, discounted_gain, precisions, unweighted};
use crate::lists::Lists;
use rankwright_config::model::Metric;

/// The expectation of each metric over random orders, as a mean over the lists; `NaN` where no list has a relevant item.
pub fn expected(metrics: &[Metric], lists: Lists<'_>) -> Vec<f64> {
    let of = |list: &[Judged]| metrics.iter().map(|&metric| of_list(metric, list)).collect();
    super::mean(metrics, lists, |labels| of(&unweighted(labels)))
}

/// The expectation of a metric for one list.
pub(super) fn of_list(metric: Metric, list: &[Judged]) -> f64 {
    match metric {
        Metric::Ndcg(cutoff) => ndcg(list, cutoff.unwrap_or(usize::MAX)),
        Metric::Map(cutoff) => average_precision(list, cutoff.unwrap_or(usize::MAX)),
        Metric::Mrr => reciprocal_rank(list.len(), list.iter().filter(|item| item.is_relevant()).count()),
    }
}

fn ndcg(list: &[Judged], cutoff: usize) -> f64 {
    let mean = list.iter().map(Judged::gain).sum::<f64>() / list.len() as f64;
    let discounts: f64 = (0..list.len().min(cutoff)).map(|place| 1.0 / (place as f64 + 2.0).log2()).sum();
    let ideal = discounted_gain(&best(list, Judged::gain), cutoff);
    if ideal > 0.0 { mean * discounts / ideal } else { 0.0 }
}

fn average_precision(list: &[Judged], cutoff: usize) -> f64 {
    let weights = || list.iter().filter(|item| item.is_relevant()).map(|item| item.weight);
    let (items, sum, squares) =
        (list.len() as f64, weights().sum::<f64>(), weights().map(|weight| weight * weight).sum::<f64>());
    // an item of its own, and the others where they stand before it
    let others = if list.len() > 1 { (sum * sum - squares) / (items - 1.0) } else { 0.0 };
    let precision = |place: usize| (squares + (place - 1) as f64 * others) / (items * place as f64);
    let ideal = precisions(&best(list, |item| item.weight), cutoff);
    if ideal > 0.0 { (1..=list.len().min(cutoff)).map(precision).sum::<f64>() / ideal } else { 0.0 }
}

fn reciprocal_rank(count: usize, relevant: usize) -> f64 {
    if relevant == 0 {
        return 0.0;
    }
    let (mut none_before, mut expected) = (1.0, 0.0);
    for place in 1..=count - relevant + 1 {
        let here = relevant as f64 / (count + 1 - place) as f64;
        expected += none_before * here / place as f64;
        none_before *= 1.0 - here;
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::evaluate;

    /// Every order of these labels.
    fn orders(labels: &[f32]) -> Vec<Vec<f32>> {
        if labels.is_empty() {
            return vec![Vec::new()];
        }
        let beginning_with = |first: usize| {
            let mut rest = labels.to_vec();
            let label = rest.remove(first);
            orders(&rest).into_iter().map(move |order| [vec![label], order].concat())
        };
        (0..labels.len()).flat_map(beginning_with).collect()
    }

    #[test]
    fn the_expectation_is_the_mean_over_all_orders() {
        let metrics = [
            Metric::Ndcg(None),
            Metric::Ndcg(Some(1)),
            Metric::Ndcg(Some(3)),
            Metric::Map(None),
            Metric::Map(Some(2)),
            Metric::Mrr,
        ];
        for labels in [&[1.0][..], &[1.0, 0.0], &[0.0, 0.5, 0.0, 3.0, 1.0], &[0.0, 0.0, 0.0, 0.0, 2.0, 1.0], &[1.0; 3]]
        {
            let (lengths, all) = ([labels.len() as u32], orders(labels));
            let scores: Vec<f64> = (0..labels.len()).map(|place| -(place as f64)).collect();
            let of = |order: &Vec<f32>| evaluate(&metrics, Lists { labels: order, lengths: &lengths }, &scores);
            let computed = expected(&metrics, Lists { labels, lengths: &lengths });
            for (index, computed) in computed.into_iter().enumerate() {
                let mean = all.iter().map(|order| of(order)[index]).sum::<f64>() / all.len() as f64;
                assert!((computed - mean).abs() < 1e-12, "{:?} of {labels:?}: {computed}, not {mean}", metrics[index]);
            }
        }
    }

    #[test]
    fn the_expectation_with_weights_is_the_mean_over_all_orders() {
        let labels = [0.0, 1.0, 2.0, 3.0, 0.0];
        let judged = |label: f32| Judged { label, weight: f64::from(label * label) + 0.5 };
        let scores: Vec<f64> = (0..labels.len()).map(|place| -(place as f64)).collect();
        for metric in [Metric::Ndcg(Some(2)), Metric::Map(None), Metric::Map(Some(3)), Metric::Mrr] {
            let all = orders(&labels);
            let of = |order: &Vec<f32>| {
                super::super::of_list(metric, &order.iter().copied().map(judged).collect::<Vec<_>>(), &scores)
            };
            let mean = all.iter().map(of).sum::<f64>() / all.len() as f64;
            let computed = of_list(metric, &labels.map(judged));
            assert!((computed - mean).abs() < 1e-12, "{metric:?}: {computed}, not {mean}");
        }
    }

    #[test]
    fn lists_without_a_relevant_item_do_not_count() {
        let lists = Lists { labels: &[0.0, 0.0, 0.0, 1.0], lengths: &[2, 2] };
        assert_eq!(expected(&[Metric::Mrr], lists), [0.75]);
        assert!(expected(&[Metric::Mrr], Lists { labels: &[0.0; 2], lengths: &[2] })[0].is_nan());
    }
}
