//! Sums over the lists of a visitor, which are drawn together.

use std::collections::BTreeMap;

/// More visitors than this share sums: their lists are drawn together, which widens no interval on average.
pub(super) const MOST: u64 = 20_000;

/// What the lists of a visitor, or of some visitors, come to.
#[derive(Debug, Clone, Default)]
pub(super) struct Cluster {
    pub(super) lists: f64,
    /// The weights of the lists, all together.
    pub(super) weight: f64,
    /// Their squares.
    pub(super) squares: f64,
    /// Of each metric and order, all together: as they are, and each times the weight of its list.
    pub(super) plain: Vec<f64>,
    pub(super) weighted: Vec<f64>,
}

/// All visitors.
#[derive(Debug, Clone, Default)]
pub(super) struct Clusters(BTreeMap<u64, Cluster>);

impl Clusters {
    /// Adds a list of a visitor, with the figures of each metric and order.
    pub(super) fn add(&mut self, visitor: u64, weight: f64, plain: &[f64], weighted: &[f64]) {
        let cluster = self.0.entry(visitor).or_default();
        cluster.lists += 1.0;
        cluster.weight += weight;
        cluster.squares += weight * weight;
        add(&mut cluster.plain, plain, 1.0);
        add(&mut cluster.weighted, weighted, weight);
    }

    /// Number of visitors, or of groups of them that share sums.
    pub(super) fn groups(&self) -> usize {
        self.0.len()
    }

    pub(super) fn lists(&self) -> usize {
        self.all().map(|cluster| cluster.lists).sum::<f64>() as usize
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Cluster> {
        self.0.values()
    }

    /// How many lists of equal weight say as much (Kish, "Survey Sampling", 1965).
    pub(super) fn effective(&self) -> f64 {
        let (weight, squares) = self.all().fold((0.0, 0.0), |sum, one| (sum.0 + one.weight, sum.1 + one.squares));
        weight * weight / squares
    }
}

/// Adds values, each multiplied by `times`.
pub(super) fn add(sums: &mut Vec<f64>, values: &[f64], times: f64) {
    sums.resize(values.len(), 0.0);
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * times);
}
