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
    // cells of items that stood at one value are gone, and their clicks with them
    let left = clicks_of(&cells, count);
    let known: Vec<bool> =
        reached(&cells, count).into_iter().zip(&left).map(|(reached, &clicks)| reached && clicks >= LEAST).collect();
    let too_few = (left.iter().sum::<f64>() as u64, LEAST as u64);
    if !known[0] || known.iter().filter(|&&known| known).count() < 2 {
        return Err(too_few);
    }
    let start = vec![1.0; count];
    let mut values = solve(&cells, None, &start);
    let without: Vec<Vec<f64>> = (0..GROUPS).map(|group| solve(&cells, Some(group), &values)).collect();
    let mut intervals: Vec<_> = (0..count).map(|bin| interval(values[bin], &without, bin)).collect();
    let unknown = |bin: &usize| !known[*bin];
    (0..count).filter(unknown).for_each(|bin| intervals[bin] = None);
    let between: Vec<(usize, f64)> =
        (0..count).filter(unknown).map(|bin| (bin, between(&values, &known, bin))).collect();
    between.into_iter().for_each(|(bin, value)| values[bin] = value);
    if !values.iter().all(|value| value.is_finite()) {
        return Err(too_few);
    }
    let units = cells.chunk_by(|left, right| left.unit == right.unit).count();
    Ok(Fitted { bins, values, intervals, units })
}

/// Which value each position has: neighbours are taken together until they have enough clicks. `None` where that makes one.
fn bins(cells: &[Cell]) -> Option<Vec<usize>> {
    let longest = cells.iter().map(|cell| usize::from(cell.position) + 1).max()?;
    let clicks = clicks_of(cells, longest.min(POSITIONS));
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

/// Clicks at each value.
fn clicks_of<'c>(cells: impl IntoIterator<Item = &'c Cell>, count: usize) -> Vec<f64> {
    let mut clicks = vec![0.0; count];
    cells.into_iter().for_each(|cell| clicks[usize::from(cell.position)] += cell.clicks);
    clicks
}

/// A value that nothing compares with others, or too few clicks do: on a line between its neighbours, of logarithms; behind the
/// last one, that one.
fn between(values: &[f64], known: &[bool], bin: usize) -> f64 {
    let before = (0..bin).rev().find(|&bin| known[bin]).unwrap_or(0);
    match (bin..values.len()).find(|&bin| known[bin]) {
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
    let clicks = clicks_of(cells.iter().filter(counts), start.len());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Items at positions from 1, with how often they were shown and clicked there.
    fn cells(counts: &[(u64, u16, f64, f64)]) -> Vec<Cell> {
        let cell = |&(unit, position, shown, clicks)| Cell {
            unit,
            position: position - 1,
            group: (unit % 10) as u8,
            shown,
            clicks,
        };
        counts.iter().map(cell).collect()
    }

    #[test]
    fn clicks_on_items_that_tell_nothing_apart_do_not_count_as_enough() {
        // the first two positions are one, where the first item says nothing: 0 clicks are left there
        let few = cells(&[(1, 1, 100.0, 10.0), (1, 2, 100.0, 20.0), (2, 1, 5.0, 0.0), (2, 3, 100.0, 30.0)]);
        assert_eq!(fit(few).map(|fitted| fitted.values), Err((30, 25)));
        let one = cells(&[(1, 1, 100.0, 10.0), (1, 2, 100.0, 20.0), (2, 1, 5.0, 1.0), (2, 3, 100.0, 30.0)]);
        assert_eq!(fit(one).map(|fitted| fitted.values), Err((31, 25)));
    }

    #[test]
    fn a_position_that_lost_its_clicks_lies_between_its_neighbours() {
        let lost = [
            (1, 1, 100.0, 80.0),
            (1, 5, 100.0, 20.0),
            (2, 2, 100.0, 20.0),
            (2, 3, 100.0, 20.0),
            (3, 3, 5.0, 0.0),
            (3, 5, 100.0, 40.0),
        ];
        let fitted = fit(cells(&lost)).expect("two positions have enough");
        assert_eq!(fitted.bins, [0, 1, 1, 2, 2]);
        let (value, interval) = fitted.at(1);
        assert!((value - (0.25f64).sqrt()).abs() < 1e-6 && interval.is_none(), "{fitted:?}");
    }
}
