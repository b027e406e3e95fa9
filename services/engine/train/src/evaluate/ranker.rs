//! A model that takes part in a comparison.

use super::is_same;
use rankwright_event::Timestamp;
use rankwright_model::{Column, LoadError, Model, Version, VersionId};
use std::collections::BTreeMap;

/// A model, ready to score.
#[derive(Debug)]
pub struct Ranker {
    /// What the report calls it.
    pub name: String,
    /// Which version; `None` of baselines.
    pub version: Option<VersionId>,
    /// What scores.
    pub model: Model,
    /// The columns of its rows.
    pub columns: Vec<Column>,
    /// Time of the newest ranking that it learned from, where that is known.
    pub trained_until: Option<Timestamp>,
}

impl Ranker {
    /// A version of a model.
    ///
    /// # Errors
    /// When it cannot be read, or recommends.
    pub fn of_version(name: &str, version: &Version) -> Result<Self, LoadError> {
        let metadata = version.metadata();
        Ok(Self {
            name: name.to_owned(),
            version: Some(version.id().clone()),
            model: Model::load(version)?,
            columns: metadata.columns.clone(),
            trained_until: metadata.trained_on.and_then(|on| on.last),
        })
    }

    /// A model that needs no training.
    pub fn baseline(name: &str, model: Model) -> Self {
        Self { name: name.to_owned(), version: None, model, columns: Vec::new(), trained_until: None }
    }

    /// Where its values come from, in rows of these columns.
    pub(super) fn sources(&self, all: &[Column], served: &BTreeMap<String, f32>) -> Vec<Source> {
        let source = |column: &Column| match served.get(&column.feature) {
            Some(&constant) => Source::Constant(constant),
            None => {
                let place = all.iter().position(|other| is_same(other, column));
                Source::Column(place.expect("the columns of all models are read"))
            }
        };
        self.columns.iter().map(source).collect()
    }

    /// Scores lists of these lengths, whose rows of `width` columns follow each other. The seeds decide what is random.
    pub(super) fn score(
        &self,
        sources: &[Source],
        rows: &[f32],
        width: usize,
        lists: impl Iterator<Item = (u64, usize)>,
    ) -> Vec<f64> {
        match &self.model {
            Model::Ensemble(ensemble) => {
                let own: Vec<f32> = match width {
                    0 => Vec::new(),
                    _ => rows.chunks_exact(width).flat_map(|row| sources.iter().map(|source| source.of(row))).collect(),
                };
                let mut scores = vec![0.0; lists.map(|(_, length)| length).sum()];
                ensemble.score(&own, sources.len(), &mut scores);
                scores
            }
            baseline => lists.flat_map(|(seed, length)| baseline.score(seed, &[], 0, length)).collect(),
        }
    }
}

/// Where a model's column has its value from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// Serving puts it there.
    Constant(f32),
    /// A column of the rows that were read.
    Column(usize),
}

impl Source {
    fn of(self, row: &[f32]) -> f32 {
        match self {
            Self::Constant(value) => value,
            Self::Column(place) => row[place],
        }
    }
}
