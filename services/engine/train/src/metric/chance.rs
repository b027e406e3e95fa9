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

use super::{gain, ideal};
use crate::lists::Lists;
use rankwright_config::model::Metric;

/// The expectation of each metric over random orders, as a mean over the lists; `NaN` where no list has a relevant item.
pub fn expected(metrics: &[Metric], lists: Lists<'_>) -> Vec<f64> {
    super::mean(metrics, lists, |labels| metrics.iter().map(|&metric| of_list(metric, labels)).collect())
}

/// The expectation of a metric for one list.
fn of_list(metric: Metric, labels: &[f32]) -> f64 {
    let relevant = labels.iter().filter(|&&label| label > 0.0).count();
    match metric {
        Metric::Ndcg(cutoff) => ndcg(labels, cutoff.unwrap_or(usize::MAX)),
        Metric::Map(cutoff) => average_precision(labels.len(), relevant, cutoff.unwrap_or(usize::MAX)),
        Metric::Mrr => reciprocal_rank(labels.len(), relevant),
    }
}

fn ndcg(labels: &[f32], cutoff: usize) -> f64 {
    let mean = labels.iter().map(|&label| gain(label)).sum::<f64>() / labels.len() as f64;
    let discounts: f64 = (0..labels.len().min(cutoff)).map(|place| 1.0 / (place as f64 + 2.0).log2()).sum();
    let ideal = ideal(labels, cutoff);
    if ideal > 0.0 { mean * discounts / ideal } else { 0.0 }
}

fn average_precision(count: usize, relevant: usize, cutoff: usize) -> f64 {
    let (items, hits) = (count as f64, relevant as f64);
    // how likely another place holds a relevant item where this one does
    let another = if count > 1 { (hits - 1.0) / (items - 1.0) } else { 0.0 };
    let precision = |place: usize| hits / items * (1.0 + (place - 1) as f64 * another) / place as f64;
    (1..=count.min(cutoff)).map(precision).sum::<f64>() / relevant.min(cutoff).max(1) as f64
}

fn reciprocal_rank(count: usize, relevant: usize) -> f64 {
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
    fn lists_without_a_relevant_item_do_not_count() {
        let lists = Lists { labels: &[0.0, 0.0, 0.0, 1.0], lengths: &[2, 2] };
        assert_eq!(expected(&[Metric::Mrr], lists), [0.75]);
        assert!(expected(&[Metric::Mrr], Lists { labels: &[0.0; 2], lengths: &[2] })[0].is_nan());
    }
}
