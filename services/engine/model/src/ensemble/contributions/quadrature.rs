//! Gauss-Legendre rules on the interval from 0 to 1: `n` points integrate polynomials up to the degree `2n - 1` exactly.

use std::f64::consts::PI;

/// Points that are worked on together.
pub(super) const TOGETHER: usize = 4;

/// A number for each of some points: what fits into one register.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(32))]
pub(super) struct Each(pub(super) [f64; TOGETHER]);

impl Each {
    /// The same number for all.
    pub(super) fn of(number: f64) -> Self {
        Self([number; TOGETHER])
    }

    pub(super) fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self(self.0.map(of))
    }

    #[inline(always)]
    pub(super) fn times(self, other: Self) -> Self {
        Self(std::array::from_fn(|point| self.0[point] * other.0[point]))
    }

    #[inline(always)]
    pub(super) fn over(self, other: Self) -> Self {
        Self(std::array::from_fn(|point| self.0[point] / other.0[point]))
    }

    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|point| self.0[point] + other.0[point]))
    }

    #[inline(always)]
    pub(super) fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|point| self.0[point] - other.0[point]))
    }

    #[inline(always)]
    pub(super) fn sum(self) -> f64 {
        self.0.iter().sum()
    }
}

/// Some points of a rule, with their weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Points {
    pub(super) at: Each,
    pub(super) weights: Each,
}

/// A rule, its points in rising order.
#[derive(Debug, Default)]
pub(super) struct Rule(Vec<Points>);

impl Rule {
    /// Makes it exact for the shares of this number of columns: polynomials of one degree less.
    pub(super) fn integrate(&mut self, columns: usize) {
        let blocks = columns.div_ceil(2 * TOGETHER);
        if self.0.len() != blocks {
            let count = blocks * TOGETHER;
            let points = (0..count).map(|number| point(count, number)).collect::<Vec<_>>();
            let (blocks, _) = points.as_chunks::<TOGETHER>();
            let points = |block: &[(f64, f64); TOGETHER]| Points {
                at: Each(block.map(|(at, _)| at)),
                weights: Each(block.map(|(_, weight)| weight)),
            };
            self.0 = blocks.iter().map(points).collect();
        }
    }

    pub(super) fn points(&self) -> &[Points] {
        &self.0
    }
}

/// A root of the Legendre polynomial of a degree, by Newton's method from Tricomi's estimate, and its weight.
fn point(degree: usize, number: usize) -> (f64, f64) {
    let mut root = -(PI * (number as f64 + 0.75) / (degree as f64 + 0.5)).cos();
    let mut slope = 1.0;
    for _ in 0..8 {
        let (value, before) = legendre(degree, root);
        slope = degree as f64 * (root * value - before) / (root * root - 1.0);
        root -= value / slope;
    }
    ((root + 1.0) / 2.0, 1.0 / ((1.0 - root * root) * slope * slope))
}

/// The polynomials of a degree and of the one below it, at `x`.
fn legendre(degree: usize, x: f64) -> (f64, f64) {
    (1..=degree).fold((1.0, 0.0), |(value, before), n| {
        let n = n as f64;
        (((2.0 * n - 1.0) * x * value - (n - 1.0) * before) / n, value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_integrated_exactly_up_to_the_degree_that_is_asked_for() {
        let mut rule = Rule::default();
        for columns in [1, 2, 7, 8, 9, 16, 17, 100, 1001] {
            rule.integrate(columns);
            for degree in [0, columns / 2, columns - 1] {
                let area: f64 = rule.points().iter().map(|points| part(points, degree)).sum();
                assert!(
                    (area * (degree as f64 + 1.0) - 1.0).abs() < 1e-13,
                    "{columns} columns, degree {degree}: {area}"
                );
            }
        }
    }

    fn part(points: &Points, degree: usize) -> f64 {
        points.weights.times(points.at.map(|at| at.powi(degree as i32))).sum()
    }

    #[test]
    fn points_lie_within_and_rise() {
        let mut rule = Rule::default();
        rule.integrate(300);
        let at: Vec<f64> = rule.points().iter().flat_map(|points| points.at.0).collect();
        assert!(at.is_sorted() && at[0] > 0.0 && at[at.len() - 1] < 1.0);
    }
}
