//! Intervals by bootstrap: visitors are drawn again and again, with replacement (Efron and Tibshirani, "An Introduction to the
//! Bootstrap", 1993; percentile method). A visitor's lists depend on each other, so they are drawn together.

use super::clusters::{Cluster, Clusters, add};
use crate::digest;
use std::thread;

/// Means of all metrics and orders.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Means {
    pub(super) plain: Vec<f64>,
    pub(super) weighted: Vec<f64>,
}

impl Means {
    /// Of clusters, each of which counts as often as it was drawn.
    fn of<'c>(drawn: impl Iterator<Item = (&'c Cluster, f64)>) -> Self {
        let (mut lists, mut weight) = (0.0, 0.0);
        let (mut plain, mut weighted): (Vec<f64>, Vec<f64>) = Default::default();
        for (cluster, times) in drawn {
            lists += cluster.lists * times;
            weight += cluster.weight * times;
            add(&mut plain, &cluster.plain, times);
            add(&mut weighted, &cluster.weighted, times);
        }
        plain.iter_mut().for_each(|sum| *sum /= lists);
        weighted.iter_mut().for_each(|sum| *sum /= weight);
        Self { plain, weighted }
    }
}

/// The means as they are.
pub(super) fn means(clusters: &Clusters) -> Means {
    Means::of(clusters.all().map(|cluster| (cluster, 1.0)))
}

/// The means of `count` draws. The same seed gives the same draws, whatever the number of threads.
pub(super) fn draws(clusters: &Clusters, count: usize, seed: u64) -> Vec<Means> {
    let all: Vec<&Cluster> = clusters.all().collect();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(count.max(1));
    let numbers: Vec<usize> = (0..count).collect();
    let part = |numbers: &[usize]| numbers.iter().map(|&number| draw(&all, number as u64, seed)).collect::<Vec<_>>();
    thread::scope(|scope| {
        let chunk = count.div_ceil(threads).max(1);
        let parts: Vec<_> = numbers.chunks(chunk).map(|numbers| scope.spawn(|| part(numbers))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("drawing does not panic")).collect()
    })
}

fn draw(all: &[&Cluster], number: u64, seed: u64) -> Means {
    let mut times = vec![0u32; all.len()];
    let seed = digest::mix(number, seed);
    for index in 0..all.len() as u64 {
        // a number below 2^64 times the count, over 2^64: even but for one part in 10^14
        let place = (u128::from(digest::mix(index, seed)) * all.len() as u128) >> 64;
        times[place as usize] += 1;
    }
    let drawn = all.iter().zip(&times).filter(|(_, times)| **times > 0);
    Means::of(drawn.map(|(cluster, &times)| (*cluster, f64::from(times))))
}

/// Where 95 % of the draws lie; `None` where there are too few to tell.
pub(super) fn interval(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    (values.len() > 1).then(|| (quantile(&values, 0.025), quantile(&values, 0.975)))
}

/// Between two neighbours, in proportion.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let (below, share) = (place.floor() as usize, place.fract());
    let above = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + (above - sorted[below]) * share
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(values: impl Iterator<Item = f64>) -> Clusters {
        let mut clusters = Clusters::default();
        for (visitor, value) in (0..).zip(values) {
            clusters.add(visitor, 1.0, &[value], &[value]);
        }
        clusters
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_the_normal_distribution() {
        let uniform = clusters((0..2000).map(|index| digest::uniform(index, 5)));
        let means = draws(&uniform, 2000, 1);
        let (low, high) = interval(means.iter().map(|means| means.plain[0])).expect("there are draws");
        let expected = 2.0 * 1.96 * (1.0f64 / 12.0).sqrt() / 2000f64.sqrt();
        assert!(((high - low) / expected - 1.0).abs() < 0.1, "{low} to {high}, expected a width of {expected}");
    }

    #[test]
    fn the_same_seed_gives_the_same_draws_and_another_one_others() {
        let some = clusters((0..50).map(f64::from));
        assert_eq!(draws(&some, 10, 1), draws(&some, 10, 1));
        assert_ne!(draws(&some, 10, 1), draws(&some, 10, 2));
        assert_eq!(draws(&some, 3, 1), draws(&some, 10, 1)[..3], "the number of draws changes none of them");
    }

    #[test]
    fn lists_of_a_visitor_are_drawn_together() {
        let mut clusters = Clusters::default();
        for list in 0..1000 {
            clusters.add(list % 10, 1.0, &[(list % 10) as f64], &[0.0]);
        }
        let means = draws(&clusters, 1000, 1);
        let (low, high) = interval(means.iter().map(|means| means.plain[0])).expect("there are draws");
        assert!(high - low > 2.5, "ten visitors say little, however many lists they have: {low} to {high}");
    }

    #[test]
    fn a_weighted_mean_is_over_the_sum_of_the_weights() {
        let mut clusters = Clusters::default();
        clusters.add(1, 3.0, &[1.0], &[1.0]);
        clusters.add(2, 1.0, &[0.0], &[0.0]);
        assert_eq!(means(&clusters), Means { plain: vec![0.5], weighted: vec![0.75] });
        assert!((clusters.effective() - 1.6).abs() < 1e-12);
    }

    #[test]
    fn one_visitor_has_no_interval() {
        assert_eq!(interval([0.5].into_iter()), None);
        assert_eq!(interval([f64::NAN, 0.5].into_iter()), None);
        assert_eq!(interval((0..=40).map(f64::from)), Some((1.0, 39.0)));
    }
}
