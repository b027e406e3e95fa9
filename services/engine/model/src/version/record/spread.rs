//! How the values of a column are spread: shares of a few bins, so that other values can be compared with them.

use serde::{Deserialize, Serialize};

/// The most bins of a column.
const BINS: usize = 10;
/// Shares are kept to this part of 1.
const GRAIN: f64 = 1e4;

/// How values are spread.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Spread {
    /// Share of rows without a value.
    pub missing: f64,
    /// Of amounts in rising order, of categories the most frequent first. Values outside of all of them are in none.
    pub bins: Vec<Bin>,
}

/// The values from one to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// The least value.
    pub from: f32,
    /// The greatest one.
    pub to: f32,
    /// How many of the rows with a value it has, as a part of 1.
    pub share: f64,
}

impl Spread {
    /// Of these values; NaN is missing. Each bin of amounts has about as many as another; a few different ones have a bin each.
    pub fn of(mut values: Vec<f32>, categorical: bool) -> Self {
        let all = values.len();
        present(&mut values);
        values.sort_unstable_by(f32::total_cmp);
        let missing = share(all - values.len(), all);
        Self { missing, bins: if categorical { frequent(&values) } else { rising(&values) } }
    }

    /// Of other values, in the same bins.
    pub fn like(&self, mut values: Vec<f32>) -> Self {
        let all = values.len();
        present(&mut values);
        let exact = self.bins.iter().all(|bin| bin.from == bin.to);
        let least = self.bins.first().map_or(f32::NAN, |bin| bin.from);
        let mut counts = vec![0; self.bins.len()];
        for &value in &values {
            let place = match exact {
                true => self.bins.iter().position(|bin| bin.from == value),
                false => self.bins.iter().position(|bin| value <= bin.to).filter(|_| value >= least),
            };
            place.into_iter().for_each(|place| counts[place] += 1);
        }
        let bin = |(bin, count): (&Bin, usize)| Bin { share: share(count, values.len()), ..*bin };
        Self { missing: share(all - values.len(), all), bins: self.bins.iter().zip(counts).map(bin).collect() }
    }
}

/// Leaves out what is missing; what JSON cannot tell becomes the number next to it.
fn present(values: &mut Vec<f32>) {
    values.retain(|value| !value.is_nan());
    values.iter_mut().for_each(|value| *value = value.clamp(f32::MIN, f32::MAX));
}

fn share(count: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { (count as f64 / of as f64 * GRAIN).round() / GRAIN }
}

/// Sorted values in bins of about a tenth each; equal ones lie in one.
fn rising(sorted: &[f32]) -> Vec<Bin> {
    let runs: Vec<_> = sorted.chunk_by(|left, right| left == right).take(BINS + 1).collect();
    if runs.len() <= BINS {
        return runs
            .iter()
            .map(|run| Bin { from: run[0], to: run[0], share: share(run.len(), sorted.len()) })
            .collect();
    }
    let (mut bins, mut start) = (Vec::new(), 0);
    while start < sorted.len() {
        let tenths = start * BINS / sorted.len() + 1;
        let to = sorted[(tenths * sorted.len()).div_ceil(BINS) - 1];
        let end = sorted.partition_point(|value| *value <= to);
        bins.push(Bin { from: sorted[start], to, share: share(end - start, sorted.len()) });
        start = end;
    }
    bins
}

/// The most frequent of sorted values, a bin each.
fn frequent(sorted: &[f32]) -> Vec<Bin> {
    let runs = sorted.chunk_by(|left, right| left == right);
    let mut runs: Vec<_> = runs.map(|run| (run[0], run.len())).collect();
    runs.sort_by_key(|(_, count)| std::cmp::Reverse(*count)); // stable: of equals the smaller number
    runs.truncate(BINS);
    runs.into_iter().map(|(value, count)| Bin { from: value, to: value, share: share(count, sorted.len()) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(spread: &Spread) -> Vec<(f32, f32, f64)> {
        spread.bins.iter().map(|bin| (bin.from, bin.to, bin.share)).collect()
    }

    #[test]
    fn a_few_different_values_have_a_bin_each() {
        let spread = Spread::of(vec![1.0, 0.0, f32::NAN, 0.0, 1.0, 0.0, 0.0, f32::NAN], false);
        assert_eq!((spread.missing, bins(&spread)), (0.25, vec![(0.0, 0.0, 0.6667), (1.0, 1.0, 0.3333)]));
    }

    #[test]
    fn many_values_lie_in_ten_bins_of_about_as_many_each() {
        let spread = Spread::of((0..1000).rev().map(|value| value as f32).collect(), false);
        assert_eq!(bins(&spread).len(), 10);
        assert_eq!(bins(&spread)[1], (100.0, 199.0, 0.1));
        assert_eq!(bins(&spread)[9], (900.0, 999.0, 0.1));
    }

    #[test]
    fn equal_values_stay_together() {
        let zeros_and_amounts = (0..1000).map(|value| if value < 750 { 0.0 } else { value as f32 });
        let spread = Spread::of(zeros_and_amounts.collect(), false);
        assert_eq!(bins(&spread)[..2], [(0.0, 0.0, 0.75), (750.0, 799.0, 0.05)]);
        assert_eq!(bins(&spread).len(), 4);
    }

    #[test]
    fn categories_are_those_that_are_most_frequent() {
        let values = (1..=30).flat_map(|value| vec![value as f32; if value == 17 { 80 } else { 1 }]);
        let spread = Spread::of(values.collect(), true);
        assert_eq!((bins(&spread).len(), bins(&spread)[0], bins(&spread)[1].0), (10, (17.0, 17.0, 0.7339), 1.0));
        let now = spread.like(vec![17.0, 30.0]);
        assert_eq!((bins(&now)[0].2, bins(&now).iter().map(|bin| bin.2).sum::<f64>()), (0.5, 0.5), "30 is in none");
    }

    #[test]
    fn other_values_are_counted_in_the_same_bins_and_what_is_beyond_them_in_none() {
        let spread = Spread::of((0..1000).map(|value| value as f32).collect(), false);
        let now = spread.like(vec![-1.0, 0.0, 99.5, 999.0, 1000.0, f32::NAN, f32::INFINITY, 5.0]);
        assert_eq!(now.missing, 0.125);
        let shares: Vec<f64> = now.bins.iter().map(|bin| bin.share).collect();
        assert_eq!(shares, [0.2857, 0.1429, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1429]);
        let flags = Spread::of(vec![0.0, 1.0], false).like(vec![0.0, 0.5]);
        assert_eq!(flags.bins.iter().map(|bin| bin.share).collect::<Vec<_>>(), [0.5, 0.0]);
    }

    #[test]
    fn no_values_have_no_bins() {
        for spread in [Spread::of(vec![], false), Spread::of(vec![], false).like(vec![1.0])] {
            assert_eq!(spread, Spread::default());
        }
        assert_eq!(Spread::of(vec![f32::NAN], true), Spread { missing: 1.0, bins: vec![] });
    }

    #[test]
    fn what_is_written_is_read_again() {
        let spread = Spread::of(vec![0.1, f32::INFINITY, f32::NEG_INFINITY, f32::NAN], false);
        let text = serde_json::to_string(&spread).expect("it is JSON");
        assert_eq!(serde_json::from_str::<Spread>(&text).expect("it was written"), spread);
    }
}
