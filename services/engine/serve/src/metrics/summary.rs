//! A summary: count, sum and quantiles of what was observed lately.
//!
//! The Prometheus crate has none. As other Prometheus clients do, quantiles are those of a sliding window (10 minutes)
//! that moves on in steps (2 minutes); count and sum are those of the whole life of the process. Each step has an HDR
//! histogram with three significant digits, and reading adds the histograms up.

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// The quantiles that are shown.
pub const QUANTILES: [f64; 6] = [0.5, 0.8, 0.9, 0.95, 0.98, 0.99];
const STEPS: usize = 5;
const STEP: Duration = Duration::from_secs(120);
/// Durations are counted in tenths of a microsecond.
const UNIT_NANOS: f64 = 100.0;
/// Longer ones count as this long (an hour): it bounds the memory of a histogram, which grows with its largest value.
const LONGEST: u64 = 36_000_000_000;

/// Durations, as observed.
pub struct Summary {
    state: Mutex<State>,
}

/// What a summary shows at one moment; seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Observations since the start.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// One value for each of [`QUANTILES`]; NaN where the window is empty.
    pub quantiles: [f64; QUANTILES.len()],
}

struct State {
    steps: [Histogram<u32>; STEPS],
    current: usize,
    began: Instant,
    count: u64,
    sum: f64,
}

impl Summary {
    /// An empty summary, whose first step begins at `now`.
    pub fn new(now: Instant) -> Self {
        let steps =
            std::array::from_fn(|_| Histogram::new(3).expect("three digits are a precision that histograms have"));
        Self { state: Mutex::new(State { steps, current: 0, began: now, count: 0, sum: 0.0 }) }
    }

    /// Adds one observation, made at `now`.
    pub fn observe(&self, now: Instant, value: Duration) {
        let units = (value.as_nanos() as f64 / UNIT_NANOS) as u64;
        let mut state = self.state.lock();
        state.advance(now);
        let current = state.current;
        // fails only for values that no histogram can hold, and those were cut
        let _ = state.steps[current].record(units.min(LONGEST));
        state.count += 1;
        state.sum += value.as_secs_f64();
    }

    /// What it shows at `now`.
    pub fn show(&self, now: Instant) -> Shown {
        let mut state = self.state.lock();
        state.advance(now);
        let mut window = state.steps[0].clone();
        for step in &state.steps[1..] {
            window += step;
        }
        let value = |quantile| if window.is_empty() { f64::NAN } else { seconds(window.value_at_quantile(quantile)) };
        Shown { count: state.count, sum: state.sum, quantiles: QUANTILES.map(value) }
    }
}

impl State {
    /// Leaves steps behind that are over, and empties those that begin.
    fn advance(&mut self, now: Instant) {
        let passed = (now.saturating_duration_since(self.began).as_nanos() / STEP.as_nanos()) as u32;
        for _ in 0..passed.min(STEPS as u32) {
            self.current = (self.current + 1) % STEPS;
            self.steps[self.current].reset();
        }
        self.began += STEP * passed;
    }
}

fn seconds(units: u64) -> f64 {
    units as f64 * UNIT_NANOS / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(start: Instant, micros: impl IntoIterator<Item = u64>) -> Summary {
        let summary = Summary::new(start);
        micros.into_iter().for_each(|micros| summary.observe(start, Duration::from_micros(micros)));
        summary
    }

    /// The smallest value with at least this part of all values at or below it.
    fn exact(sorted: &[u64], quantile: f64) -> f64 {
        let rank = (quantile * sorted.len() as f64).ceil() as usize;
        sorted[rank.max(1) - 1] as f64 / 1e6
    }

    #[test]
    fn quantiles_are_the_exact_ones_within_a_thousandth() {
        // spread over five orders of magnitude, in no order
        let micros: Vec<u64> = (0..20_000_u64).map(|i| 1 + (i * 7919 % 20_000).pow(2) / 400).collect();
        let start = Instant::now();
        let shown = filled(start, micros.iter().copied()).show(start);
        let mut sorted = micros.clone();
        sorted.sort_unstable();
        for (quantile, found) in QUANTILES.iter().zip(shown.quantiles) {
            let wanted = exact(&sorted, *quantile);
            assert!((found - wanted).abs() <= wanted * 1e-3, "{quantile}: {found}, not {wanted}");
        }
        assert_eq!(shown.count, 20_000);
        let sum = micros.iter().sum::<u64>() as f64 / 1e6;
        assert!((shown.sum - sum).abs() < sum * 1e-9);
    }

    #[test]
    fn the_first_observation_is_every_quantile() {
        let start = Instant::now();
        let shown = filled(start, [1500]).show(start);
        assert!(shown.quantiles.iter().all(|value| (value - 0.0015).abs() < 2e-6), "{shown:?}");
    }

    #[test]
    fn observations_leave_the_window_and_stay_in_count_and_sum() {
        let start = Instant::now();
        let summary = filled(start, [1000; 10]);
        summary.observe(start + STEP * 3, Duration::from_micros(9000));
        let within = summary.show(start + STEP * 4 + STEP / 2);
        assert!((within.quantiles[0] - 0.001).abs() < 1e-5, "{within:?}");
        let after = summary.show(start + STEP * 5);
        assert!((after.quantiles[0] - 0.009).abs() < 1e-4, "the first ten are over: {after:?}");
        let empty = summary.show(start + STEP * 50);
        assert!(empty.quantiles.iter().all(|value| value.is_nan()));
        assert_eq!((after.count, empty.count), (11, 11));
    }

    #[test]
    fn a_clock_that_stands_still_or_steps_back_loses_nothing() {
        let start = Instant::now() + STEP;
        let summary = filled(start, [1000]);
        summary.observe(start - STEP / 2, Duration::from_micros(1000));
        assert_eq!(summary.show(start).count, 2);
    }
}
