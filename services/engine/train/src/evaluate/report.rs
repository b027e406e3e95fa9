//! What a comparison comes to.

use super::Evaluation;
use super::bootstrap::{Means, draws, interval, means};
use super::clusters::Clusters;
use crate::examination::Curve;
use rankwright_event::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A comparison of several orders.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EvaluationReport")]
pub struct Report {
    /// The model whose split, labels and metrics are used.
    pub model: String,
    /// How train and test are parted.
    pub split: String,
    /// How often visitors were drawn for intervals.
    pub resamples: usize,
    /// Seed of these draws.
    pub seed: u64,
    /// What the orders are compared on.
    pub lists: Lists,
    /// Names of the metrics.
    pub metrics: Vec<String>,
    /// The orders: models, `shown` and `random`.
    pub rankers: Vec<RankerReport>,
    /// Each metric of each order.
    pub scores: Vec<Score>,
    /// Each metric of each two orders but `random`, one less the other.
    pub differences: Vec<Difference>,
    /// How clicks are weighted.
    pub weighted: Weighted,
    /// The same by value of a ranking field.
    pub segments: Option<Segments>,
    /// The lists that each model ranks worst.
    pub worst: Vec<Worst>,
    /// What to know before the figures are believed.
    pub notes: Vec<String>,
}

/// The lists of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EvaluatedLists")]
pub struct Lists {
    /// Lists of the train side.
    pub train: usize,
    /// Lists that are tested on.
    pub test: usize,
    /// Their items, all together.
    pub items: usize,
    /// Their visitors.
    pub visitors: usize,
    /// Time of the first one.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub from: Option<Timestamp>,
    /// Time of the last one.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub to: Option<Timestamp>,
    /// Lists of both sides that are left out because no item is relevant.
    pub without_relevant: u64,
}

/// One order.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EvaluatedOrder")]
pub struct RankerReport {
    /// What it is called in all that follows.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Of a trained model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What an order comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OrderKind")]
pub enum Kind {
    /// A model.
    Model,
    /// Visitors saw it.
    Shown,
    /// The expectation over all orders.
    Random,
}

/// A figure, and where 95 % of such figures lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "EvaluatedFigure")]
pub struct Figure {
    /// The figure.
    #[schemars(with = "Option<f64>")] // JSON has no NaN
    pub value: f64,
    /// The lower end; `None` where there are too few visitors.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// A metric of an order.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EvaluatedScore")]
pub struct Score {
    /// Its name.
    pub metric: String,
    /// Name of the order.
    pub ranker: String,
    /// All lists count the same.
    #[serde(flatten)]
    pub figure: Figure,
    /// Clicks count by the inverse of the examination of their positions; `None` where that is not known.
    pub weighted: Option<Figure>,
}

/// A metric of an order, less that of another one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EvaluatedDifference")]
pub struct Difference {
    /// Its name.
    pub metric: String,
    /// Name of the order.
    pub ranker: String,
    /// Name of the other one.
    pub than: String,
    /// All lists count the same.
    #[serde(flatten)]
    pub figure: Figure,
    /// Clicks count by the inverse of the examination of their positions.
    pub weighted: Option<Figure>,
}

/// How clicks are weighted.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EvaluatedWeighting")]
pub struct Weighted {
    /// How often each position is looked at.
    pub curve: Option<Curve>,
    /// Number of lists of equal weight that would say as much.
    pub effective_lists: Option<f64>,
    /// Why there is no curve.
    pub unavailable: Option<String>,
}

/// The lists by value of a ranking field.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EvaluatedSegments")]
pub struct Segments {
    /// Name of the field.
    pub field: String,
    /// Values with the most lists first.
    pub segments: Vec<Segment>,
    /// Further values, which are not shown.
    pub others: usize,
}

/// The lists with one value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EvaluatedSegment")]
pub struct Segment {
    /// The value; `None` of lists without the field.
    pub value: Option<String>,
    /// How many lists.
    pub lists: usize,
    /// Of how many visitors.
    pub visitors: usize,
    /// As of all lists.
    pub effective_lists: Option<f64>,
    /// As of all lists.
    pub scores: Vec<Score>,
    /// As of all lists.
    pub differences: Vec<Difference>,
}

/// The lists that a model ranks worst.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorstLists")]
pub struct Worst {
    /// Name of the model.
    pub ranker: String,
    /// The worst first, by the first metric.
    pub lists: Vec<WorstList>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorstList {
    /// Id of the ranking.
    pub ranking: String,
    /// Whose it is.
    pub tenant: String,
    /// When it was shown.
    #[serde(serialize_with = "time_as_text")]
    #[schemars(with = "String")]
    pub time: Timestamp,
    /// Number of items.
    pub items: usize,
    /// How many of them are relevant.
    pub relevant: usize,
    /// The first metric, of the model.
    #[schemars(with = "Option<f64>")]
    pub value: f64,
    /// The same of the order as it was shown.
    #[schemars(with = "Option<f64>")]
    pub shown: f64,
    /// Value of the field that lists are told apart by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
}

fn as_text<S: Serializer>(time: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.to_string()).serialize(to)
}

fn time_as_text<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(time)
}

/// Scores and differences of some lists.
pub(super) fn tables(
    evaluation: &Evaluation<'_>,
    order: &[RankerReport],
    clusters: &Clusters,
    weighted: bool,
) -> (Vec<Score>, Vec<Difference>) {
    let all = means(clusters);
    let drawn = match clusters.groups() {
        0 | 1 => Vec::new(),
        _ => draws(clusters, evaluation.resamples, evaluation.seed),
    };
    let figure = |of: &dyn Fn(&Means) -> f64| {
        let (low, high) = interval(drawn.iter().map(of)).unzip();
        Figure { value: of(&all), low, high }
    };
    let pairs: Vec<(usize, usize)> =
        (0..order.len() - 1).flat_map(|one| (one + 1..order.len() - 1).map(move |other| (one, other))).collect();
    let (mut scores, mut differences) = (Vec::new(), Vec::new());
    for (number, &metric) in evaluation.config.eval.iter().enumerate() {
        let (name, first) = (crate::metric::name(metric), number * order.len());
        for (ranker, place) in order.iter().zip(first..) {
            scores.push(Score {
                metric: name.clone(),
                ranker: ranker.name.clone(),
                figure: figure(&|means| means.plain[place]),
                weighted: weighted.then(|| figure(&|means| means.weighted[place])),
            });
        }
        for &(one, other) in &pairs {
            let less = |figures: &[f64]| figures[first + one] - figures[first + other];
            differences.push(Difference {
                metric: name.clone(),
                ranker: order[one].name.clone(),
                than: order[other].name.clone(),
                figure: figure(&|means| less(&means.plain)),
                weighted: weighted.then(|| figure(&|means| less(&means.weighted))),
            });
        }
    }
    (scores, differences)
}
