//! The examination of positions that explains counts best.
//!
//! Clicks on item `u` at position `k` are Poisson with the mean `shown(u, k) * examination(k) * appeal(u)`. Where the likelihood
//! has its maximum, each examination is the clicks at its position over what the appeals let expect there, and each appeal the
//! clicks on its item over what the examinations do. Setting one after the other raises the likelihood in every step. The appeals
//! do not bias the examinations, however many there are (Wooldridge, "Distribution-free estimation of some nonlinear panel data
//! models", 1999).

use super::harvest::{GROUPS, POSITIONS};

/// Positions are pooled until they have this many clicks.
const LEAST: f64 = 25.0;
/// No logarithm changes by more when it is done.
const PRECISION: f64 = 1e-7;
const ROUNDS: usize = 2_000;
/// Of a normal distribution, 95 % lie this many standard deviations around the mean.
const NORMAL: f64 = 1.959_964;

/// An item at a position, as a group of visitors saw it. Those of an item stand together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) unit: u64,
    pub(super) position: u16,
    pub(super) group: u8,
    pub(super) shown: f64,
    pub(super) clicks: f64,
}

/// Examinations of positions, some of them taken together.
#[derive(Debug)]
pub(super) struct Fitted {
    /// The value of each position that was seen.
    bins: Vec<usize>,
    values: Vec<f64>,
    intervals: Vec<Option<(f64, f64)>>,
    pub(super) units: usize,
}

impl Fitted {
    /// Of a position from 0; behind the last one, that of the last one.
    pub(super) fn at(&self, position: usize) -> (f64, Option<(f64, f64)>) {
        let bin = self.bins.get(position).or(self.bins.last()).copied().unwrap_or(0);
        (self.values[bin], self.intervals[bin])
    }
}

/// Fits the examinations; the clicks that there are, and how many a position needs, where these are too few.
pub(super) fn fit(cells: Vec<Cell>) -> Result<Fitted, (u64, u64)> {
    let clicks: f64 = cells.iter().map(|cell| cell.clicks).sum();
    let too_few = (clicks as u64, LEAST as u64);
    let bins = bins(&cells).ok_or(too_few)?;
    let count = bins.last().map_or(0, |last| last + 1);
    let cells = connected(binned(cells, &bins), count);
    let reached = reached(&cells, count);
    if reached.iter().filter(|&&reached| reached).count() < 2 {
        return Err(too_few);
    }
    let start = vec![1.0; count];
    let mut values = solve(&cells, None, &start);
    let without: Vec<Vec<f64>> = (0..GROUPS).map(|group| solve(&cells, Some(group), &values)).collect();
    let mut intervals: Vec<_> = (0..count).map(|bin| interval(values[bin], &without, bin)).collect();
    let unknown = |bin: &usize| !reached[*bin];
    (0..count).filter(unknown).for_each(|bin| intervals[bin] = None);
    let between: Vec<(usize, f64)> =
        (0..count).filter(unknown).map(|bin| (bin, between(&values, &reached, bin))).collect();
    between.into_iter().for_each(|(bin, value)| values[bin] = value);
    let units = cells.chunk_by(|left, right| left.unit == right.unit).count();
    Ok(Fitted { bins, values, intervals, units })
}

/// Which value each position has: neighbours are taken together until they have enough clicks. `None` where that makes one.
fn bins(cells: &[Cell]) -> Option<Vec<usize>> {
    let longest = cells.iter().map(|cell| usize::from(cell.position) + 1).max()?;
    let mut clicks = vec![0.0; longest.min(POSITIONS)];
    cells.iter().for_each(|cell| clicks[usize::from(cell.position)] += cell.clicks);
    let (mut bins, mut bin, mut sum) = (Vec::with_capacity(clicks.len()), 0, 0.0);
    let mut rest: f64 = clicks.iter().sum();
    for clicks in clicks {
        bins.push(bin);
        (sum, rest) = (sum + clicks, rest - clicks);
        if sum >= LEAST && rest >= LEAST {
            (bin, sum) = (bin + 1, 0.0);
        }
    }
    (bin > 0).then_some(bins)
}

/// The same with values in place of positions.
fn binned(mut cells: Vec<Cell>, bins: &[usize]) -> Vec<Cell> {
    cells.iter_mut().for_each(|cell| cell.position = bins[usize::from(cell.position)] as u16);
    cells
}

/// The cells of items that have clicks, and stood at several of the values that are compared with the first one.
fn connected(cells: Vec<Cell>, count: usize) -> Vec<Cell> {
    let useful = |unit: &&[Cell]| {
        unit.iter().any(|cell| cell.clicks > 0.0) && unit.iter().any(|cell| cell.position != unit[0].position)
    };
    let units = |cells: &[Cell]| -> Vec<Cell> {
        cells.chunk_by(|left, right| left.unit == right.unit).filter(useful).flatten().copied().collect()
    };
    let cells = units(&cells);
    let reached = reached(&cells, count);
    cells.into_iter().filter(|cell| reached[usize::from(cell.position)]).collect()
}

/// Which values are compared with the first one, be it over others.
fn reached(cells: &[Cell], count: usize) -> Vec<bool> {
    let mut reached: Vec<bool> = (0..count).map(|bin| bin == 0).collect();
    loop {
        let before = reached.iter().filter(|&&reached| reached).count();
        for unit in cells.chunk_by(|left, right| left.unit == right.unit) {
            if unit.iter().any(|cell| reached[usize::from(cell.position)]) {
                unit.iter().for_each(|cell| reached[usize::from(cell.position)] = true);
            }
        }
        if reached.iter().filter(|&&reached| reached).count() == before {
            return reached;
        }
    }
}

/// A value that nothing compares with others: on a line between its neighbours, of logarithms; behind the last one, that one.
fn between(values: &[f64], reached: &[bool], bin: usize) -> f64 {
    let before = (0..bin).rev().find(|&bin| reached[bin]).unwrap_or(0);
    match (bin..values.len()).find(|&bin| reached[bin]) {
        Some(behind) => {
            let part = (bin - before) as f64 / (behind - before) as f64;
            (values[before].ln() * (1.0 - part) + values[behind].ln() * part).exp()
        }
        None => values[before],
    }
}

/// Where the likelihood has its maximum, but for one group of visitors; the first value is 1.
fn solve(cells: &[Cell], without: Option<u8>, start: &[f64]) -> Vec<f64> {
    let counts = |cell: &&Cell| Some(cell.group) != without;
    let mut clicks = vec![0.0; start.len()];
    cells.iter().filter(counts).for_each(|cell| clicks[usize::from(cell.position)] += cell.clicks);
    let mut values = start.to_vec();
    for _ in 0..ROUNDS {
        let mut expected = vec![0.0; values.len()];
        for unit in cells.chunk_by(|left, right| left.unit == right.unit) {
            let (mut clicks, mut seen) = (0.0, 0.0);
            for cell in unit.iter().filter(counts) {
                clicks += cell.clicks;
                seen += cell.shown * values[usize::from(cell.position)];
            }
            if clicks > 0.0 && seen > 0.0 {
                let appeal = clicks / seen;
                unit.iter().filter(counts).for_each(|cell| expected[usize::from(cell.position)] += cell.shown * appeal);
            }
        }
        let next: Vec<f64> = clicks.iter().zip(&expected).map(|(clicks, expected)| clicks / expected).collect();
        let next: Vec<f64> = next.iter().map(|value| value / next[0]).collect();
        let changes = next.iter().zip(&values).map(|(next, value)| (next / value).ln().abs());
        let change = changes.filter(|change| !change.is_nan()).fold(0.0, f64::max);
        values = next;
        if change < PRECISION {
            break;
        }
    }
    values
}

/// Jackknife over the groups, of the logarithm (Efron, "The Jackknife, the Bootstrap and Other Resampling Plans", 1982).
fn interval(value: f64, without: &[Vec<f64>], bin: usize) -> Option<(f64, f64)> {
    let logs: Vec<f64> = without.iter().map(|values| values[bin].ln()).collect();
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let variance = (count - 1.0) / count * logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
    let reach = NORMAL * variance.sqrt();
    (value.is_finite() && reach.is_finite()).then(|| (value * (-reach).exp(), value * reach.exp()))
}
