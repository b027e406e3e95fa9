//! One training, from click-throughs to a published version.

use crate::booster::{self, Fitted, Iteration, Task};
use crate::dataset::{Dataset, MAX_VALUES, Query, ReadError, Reading};
use crate::error::{Error, strategy_name};
use crate::lists::Lists;
use crate::report::{Answer, Quality, Trained, weights};
use crate::warmup::Sample;
use crate::{digest, metric, split};
use rankwright_clickthrough::ClickthroughStore;
use rankwright_config::model::{Booster, LambdaMart};
use rankwright_event::Timestamp;
use rankwright_model::{Column, Ensemble, Kind, Metadata, Version, VersionStore};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::thread;

/// Versions of a model that are kept, the new one included: enough to roll back.
pub const VERSIONS_KEPT: usize = 10;

/// Keeps the random order apart from other uses of a ranking's digest.
const SALT: u64 = 0x04de_4000;

/// How far a training has come.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// Click-throughs are being read.
    Reading {
        /// Rankings read so far.
        rankings: u64,
    },
    /// A round of boosting has ended.
    Fitting {
        /// The round.
        iteration: &'a Iteration,
        /// The most rounds there will be.
        limit: usize,
    },
}

/// What is to be trained.
#[derive(Debug, Clone, Copy)]
pub struct Training<'a> {
    /// Name of the model.
    pub name: &'a str,
    /// Its configuration.
    pub config: &'a LambdaMart,
    /// All columns there are; the model's own are those of its features.
    pub columns: &'a [Column],
    /// What serving puts into the columns of some features, such as a `position` feature's constant, by feature name.
    pub served: &'a BTreeMap<String, f32>,
    /// Time of the version.
    pub now: Timestamp,
}

/// Trains a model on a store's click-throughs, and publishes it as the current version.
///
/// Runs for seconds and uses all cores: call it on a thread of its own.
///
/// # Errors
/// Says what is missing where there is nothing to learn from; nothing is published then.
pub fn train_model(
    name: &str,
    config: &LambdaMart,
    columns: &[Column],
    store: &dyn ClickthroughStore,
    versions: &dyn VersionStore,
    now: Timestamp,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Trained, Error> {
    Training { name, config, columns, served: &BTreeMap::new(), now }.run(store, versions, progress)
}

/// The columns of a model's features, in the order of the features.
///
/// # Errors
/// Names a feature that no column belongs to.
pub fn model_columns(name: &str, config: &LambdaMart, columns: &[Column]) -> Result<Vec<Column>, Error> {
    let mut chosen = Vec::new();
    for feature in &config.features {
        let before = chosen.len();
        chosen.extend(columns.iter().filter(|column| &column.feature == feature).cloned());
        if chosen.len() == before {
            return Err(Error::UnknownFeature { model: name.to_owned(), feature: feature.clone() });
        }
    }
    Ok(chosen)
}

impl Training<'_> {
    /// As [`train_model`].
    ///
    /// # Errors
    /// As there.
    pub fn run(
        &self,
        store: &dyn ClickthroughStore,
        versions: &dyn VersionStore,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Trained, Error> {
        let columns = model_columns(self.name, self.config, self.columns)?;
        let (dataset, reading, sample) = self.read(&columns, store, progress)?;
        let (dataset, first) = self.split(dataset)?;
        let (train, test) = dataset.split_at(first);
        let fitted = self.fit(&columns, train, test, progress)?;
        let quality = self.quality(&fitted, &columns, &dataset, first)?;
        let answer = Answer::of(&fitted, &columns);
        let (trees, train, test) = (fitted.kept, train.lengths.len(), test.lengths.len());
        let version = self.publish(fitted, columns, &quality, sample, versions)?;
        Ok(Trained { answer, quality, version, reading, train, test, trees })
    }

    /// Reads what there is to learn from.
    fn read(
        &self,
        columns: &[Column],
        store: &dyn ClickthroughStore,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<(Dataset, Reading, Sample), Error> {
        let mut sample = Sample::of(self.config.warmup.map_or(0, |warmup| warmup.sampled_requests));
        let (selector, weights) = (&self.config.selector, &self.config.weights);
        let query = Query { columns, selector, weights, limit: MAX_VALUES };
        let read = query.read(store.read()?, |reading, taken| {
            if let Some(record) = taken {
                sample.offer(record);
            }
            if reading.rankings.is_multiple_of(1024) {
                progress(Progress::Reading { rankings: reading.rankings });
            }
        });
        let (dataset, reading) = read.map_err(|error| match error {
            ReadError::Store(error) => Error::Read(error),
            ReadError::TooLarge { limit } => Error::TooLarge { model: self.name.to_owned(), limit },
        })?;
        if dataset.is_empty() { Err(self.nothing(&reading)) } else { Ok((dataset, reading, sample)) }
    }

    /// Why there is nothing to learn from.
    fn nothing(&self, reading: &Reading) -> Error {
        let model = self.name.to_owned();
        match *reading {
            Reading { rankings: 0, ref losses, .. } if !losses.is_empty() => {
                Error::Damaged { model, stretches: losses.cut + losses.damaged }
            }
            Reading { rankings: 0, .. } => Error::Empty { model },
            Reading { rankings, selected: 0, .. } => Error::NoneSelected { model, rankings },
            Reading { selected: rankings, .. } => {
                Error::NoPositives { model, rankings, weights: self.config.weights.keys().cloned().collect() }
            }
        }
    }

    /// Puts what is trained on first, and says how many lists that are.
    fn split(&self, dataset: Dataset) -> Result<(Dataset, usize), Error> {
        let sides = split::split(self.config.split, self.config.backend.seed.unwrap_or(0), dataset.keys());
        let side = match (sides.train.as_slice(), sides.test.as_slice()) {
            ([], _) => "train on",
            (_, []) => "test on",
            _ => return Ok((dataset.arranged(&[sides.train.as_slice(), &sides.test].concat()), sides.train.len())),
        };
        let split = self.config.split;
        let strategy = format!("{}={}%", strategy_name(split.strategy), split.ratio * 100.0);
        Err(Error::EmptySide { model: self.name.to_owned(), strategy, rankings: dataset.len(), side })
    }

    fn fit(
        &self,
        columns: &[Column],
        train: Lists<'_>,
        test: Lists<'_>,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Fitted, Error> {
        let backend = &self.config.backend;
        let categorical: Vec<usize> = (0..columns.len()).filter(|&column| columns[column].categorical).collect();
        let seed = backend.seed.unwrap_or_else(|| RandomState::new().hash_one(self.name));
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let task = Task { backend, seed, threads, categorical: &categorical, train, test };
        let mut report = |iteration: &Iteration| progress(Progress::Fitting { iteration, limit: backend.iterations });
        booster::fit(&task, &mut report).map_err(|source| Error::Fit { model: self.name.to_owned(), source })
    }

    /// The configured metrics on the test split, the model evaluated as serving evaluates it.
    fn quality(
        &self,
        fitted: &Fitted,
        columns: &[Column],
        dataset: &Dataset,
        first: usize,
    ) -> Result<Vec<Quality>, Error> {
        let ensemble = match fitted.booster {
            Booster::XgBoost => Ensemble::xgboost(&fitted.model),
            Booster::LightGbm => Ensemble::lightgbm(&fitted.model),
        };
        let ensemble = ensemble.map_err(|source| Error::Evaluate { model: self.name.to_owned(), source })?;
        let (_, test) = dataset.split_at(first);
        let of = |scores: &[f64]| metric::evaluate(&self.config.eval, test, scores);
        let shown: Vec<f64> = test.positions().into_iter().map(|position| -f64::from(position)).collect();
        let (shown, random) = (of(&shown), of(&random_scores(dataset, first)));
        let reranked = of(&scores(&ensemble, test.rows, test));
        let served = self.as_served(columns, test).map(|rows| of(&scores(&ensemble, &rows, test)));
        let quality = |(index, &metric): (usize, &_)| {
            let served = served.as_ref().map(|served| served[index]);
            Quality {
                metric: metric::name(metric),
                shown: shown[index],
                random: random[index],
                reranked: reranked[index],
                served,
            }
        };
        Ok(self.config.eval.iter().enumerate().map(quality).collect())
    }

    /// The rows with the constants of serving in them; `None` where no column has one.
    fn as_served(&self, columns: &[Column], test: Lists<'_>) -> Option<Vec<f32>> {
        let constant = |(place, column): (usize, &Column)| Some((place, *self.served.get(&column.feature)?));
        let constants: Vec<(usize, f32)> = columns.iter().enumerate().filter_map(constant).collect();
        let mut rows = (!constants.is_empty()).then(|| test.rows.to_vec())?;
        for row in rows.chunks_exact_mut(test.width) {
            constants.iter().for_each(|&(place, value)| row[place] = value);
        }
        Some(rows)
    }

    fn publish(
        &self,
        fitted: Fitted,
        columns: Vec<Column>,
        quality: &[Quality],
        sample: Sample,
        versions: &dyn VersionStore,
    ) -> Result<Version, Error> {
        let kind = match fitted.booster {
            Booster::XgBoost => Kind::XgBoost,
            Booster::LightGbm => Kind::LightGbm,
        };
        let metadata = Metadata {
            model: self.name.to_owned(),
            kind,
            created_at: self.now,
            metrics: quality.iter().map(|quality| (quality.metric.clone(), quality.reranked)).collect(),
            iterations: fitted.kept,
            weights: weights(&fitted.gains, &columns),
            columns,
        };
        let failed = |source| Error::Publish { model: self.name.to_owned(), source };
        let version = Version::new(metadata, sample.encode(), fitted.model).map_err(|error| failed(error.into()))?;
        versions.publish(&version).map_err(failed)?;
        if let Err(error) = versions.keep(self.name, VERSIONS_KEPT) {
            tracing::warn!(model = self.name, %error, "failed to remove old versions");
        }
        Ok(version)
    }
}

fn scores(ensemble: &Ensemble, rows: &[f32], lists: Lists<'_>) -> Vec<f64> {
    let mut scores = vec![0.0; lists.height()];
    ensemble.score(rows, lists.width, &mut scores);
    scores
}

/// Scores of chance, the same for the same rankings.
fn random_scores(dataset: &Dataset, first: usize) -> Vec<f64> {
    let (_, test) = dataset.split_at(first);
    let lists = test.lengths.iter().zip(&dataset.keys()[first..]);
    lists
        .flat_map(|(&length, key)| (0..length).map(|place| digest::uniform(digest::mix(key.id, SALT), place.into())))
        .collect()
}

#[cfg(test)]
mod tests;
