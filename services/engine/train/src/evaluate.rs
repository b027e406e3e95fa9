//! Several orders of the same lists, compared: models, the order as it was shown, and a random one.
//!
//! The lists are the test split of a model's click-throughs, ordered as serving would order them. Each metric comes with an
//! interval by bootstrap over visitors, and each pair of orders with the difference and its interval. Where the examination of
//! positions can be estimated ([`crate::examination`]), all comes weighted by its inverse as well.

mod bootstrap;
mod clusters;
mod measure;
mod ranker;
mod report;
mod tested;

pub use ranker::Ranker;
pub use report::{
    Difference, Figure, Kind, Lists, RankerReport, Report, Score, Segment, Segments, Weighted, Worst, WorstList,
};

use crate::error::Error;
use crate::examination::NoCurve;
use crate::train::Progress;
use clusters::Clusters;
use measure::Measure;
use rankwright_clickthrough::ClickthroughStore;
use rankwright_config::model::{LambdaMart, Weighting};
use rankwright_model::Column;
use std::collections::BTreeMap;
use tested::Tested;

/// Segments that are shown; the rest is counted.
const MOST_SEGMENTS: usize = 20;

/// What is compared, on which lists.
pub struct Evaluation<'a> {
    /// The model whose click-throughs, split, labels and metrics are used.
    pub model: &'a str,
    /// Its definition.
    pub config: &'a LambdaMart,
    /// The models to compare, each with a name of its own.
    pub rankers: &'a [Ranker],
    /// What serving puts into the columns of some features, by feature name.
    pub served: &'a BTreeMap<String, f32>,
    /// A ranking field whose values are looked at one by one.
    pub by: Option<&'a str>,
    /// How the examination of positions is estimated.
    pub weighting: &'a Weighting,
    /// How often visitors are drawn.
    pub resamples: usize,
    /// Seed of these draws.
    pub seed: u64,
    /// How many of the worst lists of each model are named.
    pub worst: usize,
}

/// Why models cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// There are no lists to compare them on.
    #[error(transparent)]
    Lists(#[from] Error),
    /// The field that was named does not tell rankers apart.
    #[error("the examination of positions cannot be estimated")]
    NoCurve(#[from] NoCurve),
    /// No ranking has the field whose values were to be looked at one by one.
    #[error("no ranking of the test split has the field {field:?}")]
    NoSegments {
        /// Its name.
        field: String,
    },
    /// There are too many of them.
    #[error("the field {field:?} has more than {most} values: name one with fewer")]
    TooManySegments {
        /// Its name.
        field: String,
        /// The most there may be.
        most: usize,
    },
}

impl Evaluation<'_> {
    /// Reads the click-throughs and compares all orders.
    ///
    /// # Errors
    /// Says what is missing where there is nothing to compare them on.
    pub fn run(
        &self,
        store: &dyn ClickthroughStore,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Report, EvaluateError> {
        let columns = self.columns();
        let tested = Tested::read(self, &columns, store, progress)?;
        let curve = tested.curve.as_ref();
        if let (Err(error), true) = (curve, *self.weighting != Weighting::default()) {
            return Err(error.clone().into());
        }
        let measure = Measure { evaluation: self, columns: &columns, curve: curve.ok() };
        let measured = measure.run(&tested).map_err(|source| Error::Rows { model: self.model.to_owned(), source })?;
        Ok(self.report(&tested, measured))
    }

    /// The columns of all models, each once.
    fn columns(&self) -> Vec<Column> {
        let mut all: Vec<Column> = Vec::new();
        for column in self.rankers.iter().flat_map(|ranker| &ranker.columns) {
            if !all.iter().any(|known| is_same(known, column)) {
                all.push(column.clone());
            }
        }
        all
    }

    fn report(&self, tested: &Tested, measured: measure::Measured) -> Report {
        let order = self.names();
        let tables = |clusters: &Clusters| report::tables(self, &order, clusters, tested.curve.is_ok());
        let (scores, differences) = tables(&measured.all);
        let weighted = match &tested.curve {
            Ok(curve) => Weighted {
                curve: Some(curve.clone()),
                effective_lists: Some(measured.all.effective()),
                unavailable: None,
            },
            Err(why) => Weighted { curve: None, effective_lists: None, unavailable: Some(why.to_string()) },
        };
        let segments = self.by.map(|field| Segments {
            field: field.to_owned(),
            others: measured.others,
            segments: measured
                .segments
                .iter()
                .map(|measure::Segment { value, visitors, clusters }| {
                    let (scores, differences) = tables(clusters);
                    let effective_lists = tested.curve.is_ok().then(|| clusters.effective());
                    let (lists, visitors) = (clusters.lists(), *visitors);
                    Segment { value: value.clone(), lists, visitors, effective_lists, scores, differences }
                })
                .collect(),
        });
        Report {
            model: self.model.to_owned(),
            split: self.config.split.to_string(),
            resamples: self.resamples,
            seed: self.seed,
            lists: tested.lists(),
            metrics: self.config.eval.iter().map(|&metric| crate::metric::name(metric)).collect(),
            rankers: order,
            scores,
            differences,
            weighted,
            segments,
            worst: measured.worst,
            notes: tested.notes(self),
        }
    }

    /// All orders: the models, then what was shown, then a random one.
    fn names(&self) -> Vec<RankerReport> {
        let baseline = |name: &str, kind| RankerReport { name: name.to_owned(), kind, version: None };
        let models = self.rankers.iter().map(|ranker| RankerReport {
            name: ranker.name.clone(),
            kind: Kind::Model,
            version: ranker.version.as_ref().map(ToString::to_string),
        });
        models.chain([baseline("shown", Kind::Shown), baseline("random", Kind::Random)]).collect()
    }
}

fn is_same(left: &Column, right: &Column) -> bool {
    (&left.name, left.fingerprint) == (&right.name, right.fingerprint)
}

#[cfg(test)]
mod tests;
