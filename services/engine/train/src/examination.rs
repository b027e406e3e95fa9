//! How often visitors look at each position of a list, relative to the first one.
//!
//! The position-based model (Richardson, Dominowska and Ragno, "Predicting Clicks", WWW 2007): an item is clicked if its
//! position is looked at and the item pleases, `P(click) = examination(position) * appeal(item)`. What differs between
//! the same item at two positions is the examination alone. Such pairs are harvested from the click-throughs (Agarwal, Zaitsev,
//! Wang, Li, Najork and Joachims, "Estimating Position Bias without Intrusive Interventions", WSDM 2019), by one of three
//! [methods](Method), the first of which that applies needs the fewest assumptions.
//!
//! The likelihood of the counts (Poisson, with an appeal of its own for each item) has its maximum where neither the
//! examinations nor the appeals can be improved ([`fit`]). Click-throughs without an interaction are not stored, so all counts are
//! of lists with one. Which lists these are depends little on the position of one item, unless lists are very short. Intervals come from ten groups of visitors, each left out once.

mod fit;
mod harvest;

pub(crate) use harvest::is_judged;
pub use harvest::{Harvest, NoCurve};

use crate::metric::{Judged, gain};
use schemars::JsonSchema;
use serde::Serialize;

/// A position that is looked at less often than this counts as one that is looked at this often: no click counts for more
/// than twenty.
pub const FLOOR: f64 = 0.05;

/// What tells the examination of positions apart from the appeal of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExaminationMethod")]
pub enum Method {
    /// Lists in random order: what stands at a position is the same on average.
    Randomized,
    /// Several rankers, each of which put the same items at other positions.
    Rankers,
    /// Items that stood at several positions, whatever brought them there.
    Items,
}

/// How often each position is looked at.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExaminationCurve")]
pub struct Curve {
    /// What it was estimated from.
    pub method: Method,
    /// The same in a sentence.
    pub estimated_from: String,
    /// Items that stood at several positions (of lists in random order, lengths of lists).
    pub compared: usize,
    /// The positions, from the first one.
    pub points: Vec<Point>,
}

/// One position.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExaminationPoint")]
pub struct Point {
    /// From 1.
    pub position: usize,
    /// How often it is looked at: 1 for the first position.
    #[schemars(with = "Option<f64>")] // JSON has no NaN
    pub examination: f64,
    /// Where 95 % of such estimates lie; `None` where there are too few clicks.
    pub low: Option<f64>,
    /// The upper end of it.
    pub high: Option<f64>,
    /// How many items stood there.
    pub shown: u64,
    /// How many of them were clicked.
    pub clicks: u64,
}

impl Curve {
    /// What a click at a position counts, from 0: the inverse of its examination, 20 at most.
    pub fn weight(&self, position: usize) -> f64 {
        let point = self.points.get(position).or(self.points.last());
        point.map_or(1.0, |point| 1.0 / point.examination.max(FLOOR))
    }

    /// The items of a list as metrics take them, in the order in which they were shown.
    pub fn judged(&self, labels: &[f32]) -> Vec<Judged> {
        let item = |(position, &label): (usize, &f32)| Judged { label, weight: self.weight(position) };
        labels.iter().enumerate().map(item).collect()
    }
}

/// What a list counts in a weighted mean: the mean weight of its relevant items, by their gains; 0 where none is relevant.
///
/// With one click in each list, this is the weighting of Wang, Bendersky, Metzler and Najork, "Learning to Rank with Selection
/// Bias in Personal Search", SIGIR 2016. The sum of all weights divides the weighted sum (Swaminathan and Joachims, "The
/// Self-Normalized Estimator for Counterfactual Learning", NIPS 2015).
pub fn list_weight(list: &[Judged]) -> f64 {
    let gains: f64 = list.iter().map(|item| gain(item.label)).sum();
    let weighted: f64 = list.iter().map(|item| gain(item.label) * item.weight).sum();
    if gains > 0.0 { weighted / gains } else { 0.0 }
}

#[cfg(test)]
mod tests;
