//! How good models are on a test split, each evaluated as serving evaluates it.

use crate::dataset::Dataset;
use crate::examination::{Curve, list_weight};
use crate::examples::Examples;
use crate::metric;
use crate::report::{Quality, Trained, WeightedQuality};
use rankwright_config::model::Metric;
use rankwright_model::{Column, Ensemble, Kind, ReadError, StoreError, Version, VersionId};
use std::collections::{BTreeMap, HashSet};
use std::io;

/// The version that serves while another one is trained.
#[derive(Debug)]
pub enum Running {
    /// It could be loaded.
    Version(Box<Version>),
    /// It is there, and cannot be read.
    Unreadable(StoreError),
}

/// A trained model that is not published, and how good the running version is on the same lists.
#[derive(Debug)]
pub struct Candidate {
    /// The model.
    pub trained: Trained,
    /// `None` where no version runs.
    pub running: Option<Measured>,
}

/// A running version on the lists that the new one is tested on.
#[derive(Debug)]
pub enum Measured {
    /// It reads the same columns.
    Quality {
        /// Which version.
        version: VersionId,
        /// Its metrics, in the order of the new one's.
        quality: Vec<Quality>,
    },
    /// It cannot be measured on them.
    Incomparable {
        /// Why not.
        reason: String,
    },
}

/// The lists to measure on.
pub(crate) struct Measure<'a> {
    pub eval: &'a [Metric],
    /// What serving puts into the columns of some features.
    pub served: &'a BTreeMap<String, f32>,
    pub columns: &'a [Column],
    pub dataset: &'a Dataset,
    /// Lists at its beginning that were trained on.
    pub first: usize,
    /// By which clicks are weighted.
    pub curve: Option<&'a Curve>,
    /// Ids of the lists whose labels are judgements, as their keys have them: these do not depend on positions.
    pub judged: &'a HashSet<u64>,
}

impl Measure<'_> {
    pub(crate) fn running(&self, running: Running) -> io::Result<Measured> {
        let incomparable = |reason: String| Ok(Measured::Incomparable { reason });
        let version = match running {
            Running::Version(version) => version,
            Running::Unreadable(error) => return incomparable(format!("the running version cannot be read: {error}")),
        };
        if let Err(mismatch) = version.check_columns(self.columns) {
            return incomparable(format!("the running {mismatch}"));
        }
        match ensemble(version.metadata().kind, version.body()) {
            Ok(ensemble) => Ok(Measured::Quality { version: version.id().clone(), quality: self.quality(&ensemble)? }),
            Err(error) => incomparable(format!("the running version cannot be read: {error}")),
        }
    }

    /// The configured metrics on the test split.
    pub(crate) fn quality(&self, ensemble: &Ensemble) -> io::Result<Vec<Quality>> {
        let (_, test) = self.dataset.split_at(self.first);
        let lists = test.lists;
        let of = |scores: &[f64]| metric::evaluate(self.eval, lists, scores);
        let shown: Vec<f64> = lists.positions().into_iter().map(|position| -f64::from(position)).collect();
        let (shown, random) = (of(&shown), metric::expected(self.eval, lists));
        let scored = scores(ensemble, test, &[])?;
        let constants = self.constants();
        let served = (!constants.is_empty()).then(|| scores(ensemble, test, &constants)).transpose()?;
        let weighted = self.curve.map(|curve| self.weighted(curve, served.as_ref().unwrap_or(&scored)));
        let (reranked, served) = (of(&scored), served.map(|scores| of(&scores)));
        let quality = |(index, &metric): (usize, &_)| Quality {
            metric: metric::name(metric),
            shown: shown[index],
            random: random[index],
            reranked: reranked[index],
            served: served.as_ref().map(|served| served[index]),
            weighted: weighted.as_ref().map(|weighted| weighted[index]),
        };
        Ok(self.eval.iter().enumerate().map(quality).collect())
    }

    /// Each metric, with clicks weighted by the examination of their positions, when these scores order the lists.
    fn weighted(&self, curve: &Curve, scores: &[f64]) -> Vec<WeightedQuality> {
        let (_, test) = self.dataset.split_at(self.first);
        let mut sums = vec![(0.0, 0.0); self.eval.len()];
        let (mut weights, mut squares) = (0.0, 0.0);
        let lists = test.lists.split(test.lists.labels).zip(test.lists.split(scores));
        for ((labels, scores), key) in lists.zip(&self.dataset.keys()[self.first..]) {
            let judged = if self.judged.contains(&key.id) { metric::unweighted(labels) } else { curve.judged(labels) };
            let weight = list_weight(&judged);
            for (sum, &metric) in sums.iter_mut().zip(self.eval) {
                sum.0 += weight * metric::of_ranked(metric, &judged);
                sum.1 += weight * metric::of_list(metric, &judged, scores);
            }
            (weights, squares) = (weights + weight, squares + weight * weight);
        }
        let effective_lists = weights * weights / squares;
        let mean = |(shown, served): (f64, f64)| (shown / weights, served / weights);
        let quality = |(shown, served)| WeightedQuality { shown, served, effective_lists };
        sums.into_iter().map(mean).map(quality).collect()
    }

    /// The columns that serving fills with a constant, and the constants.
    fn constants(&self) -> Vec<(usize, f32)> {
        let constant = |(place, column): (usize, &Column)| Some((place, *self.served.get(&column.feature)?));
        self.columns.iter().enumerate().filter_map(constant).collect()
    }
}

/// The evaluator of a trained model's bytes.
pub(crate) fn ensemble(kind: Kind, booster: &[u8]) -> Result<Ensemble, ReadError> {
    match kind {
        Kind::LightGbm => Ensemble::lightgbm(booster),
        _ => Ensemble::xgboost(booster), // says what is wrong with anything else
    }
}

/// Scores of all rows, with these constants in their columns.
fn scores(ensemble: &Ensemble, examples: Examples<'_>, constants: &[(usize, f32)]) -> io::Result<Vec<f64>> {
    let (mut scores, width) = (vec![0.0; examples.height()], examples.width());
    let mut blocks = examples.blocks();
    while let Some(block) = blocks.advance()? {
        for &(place, value) in constants {
            block.values.iter_mut().skip(place).step_by(width).for_each(|entry| *entry = value);
        }
        ensemble.score(block.values, width, &mut scores[block.row..][..block.values.len() / width]);
    }
    Ok(scores)
}
