//! LambdaMART: trees that order the items of a ranking, fitted by a booster to what visitors did.

use crate::booster::{self, Fitted, Iteration, Task};
use crate::dataset::{Dataset, Fate, MAX_ITEMS, MAX_VALUES, Query, ReadError, Reading, list_id};
use crate::error::Error;
use crate::examination::{Curve, Harvest, NoCurve, is_judged};
use crate::examples::Examples;
use crate::metric;
use crate::quality::{Candidate, Measure, Running, ensemble};
use crate::report::{Answer, Quality, Trained, weights};
use crate::rows::Room;
use crate::settings;
use crate::split::{self, Sides};
use crate::spreads;
use crate::train::{Progress, model_columns};
use crate::warmup::Sample;
use rankwright_clickthrough::ClickthroughStore;
use rankwright_config::model::{Booster, LambdaMart, Metric};
use rankwright_event::Timestamp;
use rankwright_model::{Column, Kind, LearningCurve, Metadata, TrainedOn, TrainingRecord, Version};
use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::thread;

/// A ranking model to be trained.
pub(crate) struct Trees<'a> {
    pub(crate) name: &'a str,
    pub(crate) config: &'a LambdaMart,
    pub(crate) columns: &'a [Column],
    pub(crate) served: &'a BTreeMap<String, f32>,
    /// The part of all click-throughs that is read, drawn at random; 1 is all.
    pub(crate) share: f64,
    pub(crate) now: Timestamp,
}

/// What there is to learn from.
pub(crate) struct Read {
    pub(crate) dataset: Dataset,
    pub(crate) reading: Reading,
    pub(crate) sample: Sample,
    /// By which clicks are weighted, where the gate asks for it.
    pub(crate) curve: Option<Result<Curve, NoCurve>>,
    /// Ids of the lists whose labels are judgements.
    pub(crate) judged: HashSet<u64>,
}

impl Trees<'_> {
    /// As [`Training::candidate`](crate::Training::candidate).
    pub(crate) fn candidate(
        &self,
        store: &dyn ClickthroughStore,
        running: Option<Running>,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Candidate, Error> {
        let columns = model_columns(self.name, self.config, self.columns)?;
        let Read { dataset, reading, sample, curve, judged } = self.read(&columns, store, progress)?;
        let (dataset, first) = self.split(dataset)?;
        let (train, test) = dataset.split_at(first);
        let fitted = self.fit(&columns, train, test, progress)?;
        let (curve, unweighted) = match curve {
            Some(Ok(curve)) => (Some(curve), None),
            Some(Err(error)) => (None, Some(format!("the examination of positions cannot be estimated: {error}"))),
            None => (None, None),
        };
        let (eval, curve, judged) = (&self.config.eval, curve.as_ref(), &judged);
        let measure = Measure { eval, served: self.served, columns: &columns, dataset: &dataset, first, curve, judged };
        let ensemble = ensemble(kind(fitted.booster), &fitted.model);
        let ensemble = ensemble.map_err(|source| Error::Evaluate { model: self.name.to_owned(), source })?;
        let unreadable = |source| Error::Rows { model: self.name.to_owned(), source };
        let quality = measure.quality(&ensemble).map_err(unreadable)?;
        let running = running.map(|running| measure.running(running)).transpose().map_err(unreadable)?;
        let mut answer = Answer::of(&fitted, &columns);
        let times = || dataset.keys()[..first].iter().map(|key| Timestamp::from_millis(key.time));
        let trained_on = TrainedOn {
            rankings: train.lists.lengths.len(),
            items: train.height(),
            first: times().min(),
            last: times().max(),
            tested: Some(test.lists.lengths.len()),
        };
        let values = spreads::of(train, &columns, &fitted.gains).map_err(unreadable)?;
        let record = TrainingRecord { curve: Some(self.curve(&fitted)), values, gate: None };
        let (trees, train, test) = (fitted.kept, trained_on.rankings, test.lists.lengths.len());
        let learned_nothing = !ensemble.splits();
        let version = self.version(fitted, columns, &quality, sample, (trained_on, record))?;
        answer.warnings = match learned_nothing {
            true => vec![version.metadata().learned_nothing()],
            false => quality.first().and_then(Quality::complaint).into_iter().collect(),
        };
        Ok(Candidate {
            trained: Trained {
                answer,
                quality,
                version,
                reading,
                train,
                test,
                trees,
                learned_nothing,
                few: None,
                unweighted,
            },
            running,
        })
    }

    /// Reads what there is to learn from.
    pub(crate) fn read(
        &self,
        columns: &[Column],
        store: &dyn ClickthroughStore,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Read, Error> {
        let mut sample = Sample::of(self.config.warmup.map_or(0, |warmup| warmup.sampled_requests));
        let LambdaMart { weights, split, .. } = self.config;
        let selector = &self.config.learning.selector;
        let seed = self.config.backend.seed.unwrap_or(0);
        let mut harvest = self.config.learning.gate.weighting.as_ref().map(Harvest::new);
        let mut judged = HashSet::new();
        let (share, limit, room) = (self.share, MAX_VALUES, Room::default());
        let query = Query { columns, selector, share, split, seed, weights, limit, room };
        let read = query.read_all(store.read()?, |reading, record, fate| {
            let labels = match fate {
                Fate::Taken(labels) => Some(labels),
                Fate::Irrelevant | Fate::LeftOut => None,
            };
            if labels.is_some() {
                sample.offer(record);
            }
            if let Some(harvest) = harvest.as_mut().filter(|_| fate != Fate::LeftOut) {
                harvest.see(record, labels);
                if is_judged(record) {
                    judged.insert(list_id(record));
                }
            }
            if reading.rankings.is_multiple_of(1024) {
                progress(Progress::Reading { rankings: reading.rankings });
            }
        });
        let (dataset, reading) = read.map_err(|error| read_error(self.name, error))?;
        if dataset.is_empty() {
            let none_sampled = reading.rankings == 0 && self.share < 1.0;
            let model = self.name.to_owned();
            return Err(match none_sampled {
                true => Error::NoneSampled { model, share: self.share },
                false => nothing(self.name, self.config, &reading),
            });
        }
        let curve = harvest.map(|harvest| harvest.curve());
        Ok(Read { dataset, reading, sample, curve, judged })
    }

    /// Puts what is trained on first, and says how many lists that are.
    pub(crate) fn split(&self, dataset: Dataset) -> Result<(Dataset, usize), Error> {
        let sides = sides(self.name, self.config, &dataset)?;
        Ok((dataset.arranged(&[sides.train.as_slice(), &sides.test].concat()), sides.train.len()))
    }

    fn fit(
        &self,
        columns: &[Column],
        train: Examples<'_>,
        test: Examples<'_>,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Fitted, Error> {
        let backend = &self.config.backend;
        let categorical = categorical(columns);
        let seed = backend.seed.unwrap_or_else(|| RandomState::new().hash_one(self.name));
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let room = &Room::default();
        let task = Task { backend, seed, threads, categorical: &categorical, room, train, test };
        let mut report = |iteration: &Iteration| progress(Progress::Fitting { iteration, limit: backend.iterations });
        booster::fit(&task, &mut report).map_err(|source| Error::Fit { model: self.name.to_owned(), source })
    }

    fn curve(&self, fitted: &Fitted) -> LearningCurve {
        let metric = metric::name(Metric::Ndcg(Some(self.config.backend.ndcg_cutoff)));
        let rounds = fitted.iterations.iter().map(|iteration| (iteration.test_metric, iteration.train_metric));
        LearningCurve::new(metric, rounds, fitted.kept)
    }

    /// The version of a fitted model; not published yet.
    fn version(
        &self,
        fitted: Fitted,
        columns: Vec<Column>,
        quality: &[Quality],
        sample: Sample,
        (trained_on, record): (TrainedOn, TrainingRecord),
    ) -> Result<Version, Error> {
        let metadata = Metadata {
            model: self.name.to_owned(),
            kind: kind(fitted.booster),
            created_at: self.now,
            metrics: quality.iter().map(|quality| (quality.metric.clone(), quality.reranked)).collect(),
            iterations: fitted.kept,
            weights: weights(&fitted.gains, &columns),
            columns,
            trained_on: Some(trained_on),
            settings: settings::of_trees(self.config),
            replaced: None,
            record,
        };
        let version = Version::new(metadata, sample.encode(), fitted.model);
        version.map_err(|error| Error::Publish { model: self.name.to_owned(), source: error.into() })
    }
}

/// Places of the columns that hold categories.
pub(crate) fn categorical(columns: &[Column]) -> Vec<usize> {
    (0..columns.len()).filter(|&column| columns[column].categorical).collect()
}

/// Why rankings could not be read.
pub(crate) fn read_error(model: &str, error: ReadError) -> Error {
    let model = model.to_owned();
    match error {
        ReadError::Store(error) => Error::Read(error),
        ReadError::Spill(source) => Error::Spill { model, source },
        ReadError::TooLarge { limit } => Error::TooLarge { model, limit },
    }
}

/// Why there is nothing to learn from.
pub(crate) fn nothing(model: &str, config: &LambdaMart, reading: &Reading) -> Error {
    let model = model.to_owned();
    match *reading {
        Reading { rankings: 0, ref losses, .. } if !losses.is_empty() => {
            Error::Damaged { model, damaged: losses.cut + losses.damaged }
        }
        Reading { rankings: 0, alone: 0, .. } => Error::Empty { model },
        Reading { rankings: 0, alone: interactions, ref examples, .. } => {
            Error::Alone { model, interactions, examples: examples.clone() }
        }
        Reading { rankings, selected: 0, .. } => Error::NoneSelected { model, rankings },
        Reading { selected: rankings, too_long, .. } if too_long == rankings => {
            Error::TooLong { model, rankings, most: MAX_ITEMS }
        }
        Reading { selected, too_long, on_no_side, .. } if too_long + on_no_side == selected => {
            Error::NoSide { model, split: config.split.to_string(), rankings: on_no_side }
        }
        Reading { selected, too_long, on_no_side, .. } => {
            let rankings = selected - too_long - on_no_side;
            let counts = config.weights.iter().filter(|(_, weight)| **weight > 0.0);
            let weights: Vec<_> = counts.map(|(kind, _)| kind.clone()).collect();
            match weights.is_empty() {
                true => Error::NoWeights { model, rankings },
                false => Error::NoPositives { model, rankings, weights },
            }
        }
    }
}

/// What is trained on, and what is tested on; neither is empty.
pub(crate) fn sides(model: &str, config: &LambdaMart, dataset: &Dataset) -> Result<Sides, Error> {
    let split = &config.split;
    let sides = split::split(split, config.backend.seed.unwrap_or(0), dataset.keys());
    let side = match (sides.train.as_slice(), sides.test.as_slice()) {
        ([], _) => "train on",
        (_, []) => "test on",
        _ => return Ok(sides),
    };
    let advice = match split.field() {
        None => "give it another ratio, or import more events",
        Some(_) => "import rankings whose field has the other value",
    };
    let (model, split) = (model.to_owned(), split.to_string());
    Err(Error::EmptySide { model, split, rankings: dataset.len(), side, advice })
}

fn kind(booster: Booster) -> Kind {
    match booster {
        Booster::XgBoost => Kind::XgBoost,
        Booster::LightGbm => Kind::LightGbm,
    }
}
