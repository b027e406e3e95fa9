//! The lists of a test split, with what a comparison has to know of each.

use super::report::Lists;
use super::{EvaluateError, Evaluation};
use crate::dataset::{Dataset, Fate, MAX_VALUES, Query, Reading};
use crate::examination::{Curve, Harvest, NoCurve, is_judged};
use crate::examples::Examples;
use crate::fields::text_of;
use crate::rows::Room;
use crate::train::Progress;
use crate::trees::{nothing, read_error, sides};
use rankwright_clickthrough::{Clickthrough, ClickthroughStore};
use rankwright_config::model::SplitStrategy;
use rankwright_event::{RankingId, Tenant, Timestamp};
use rankwright_model::Column;
use std::collections::{HashMap, HashSet};

/// The most values of a field whose values are looked at one by one.
const MOST_VALUES: usize = 100_000;

/// Lists that no model has to have learned from.
pub(super) struct Tested {
    dataset: Dataset,
    /// Number of lists before the first one.
    train: usize,
    pub(super) infos: Vec<Info>,
    /// Values of the field that lists are told apart by.
    pub(super) values: Vec<Option<String>>,
    reading: Reading,
    pub(super) curve: Result<Curve, NoCurve>,
}

/// A list.
#[derive(Debug, Clone)]
pub(super) struct Info {
    pub(super) ranking: RankingId,
    pub(super) tenant: Tenant,
    pub(super) time: Timestamp,
    pub(super) visitor: u64,
    /// Decides what is random, as in serving.
    pub(super) seed: u64,
    /// Which value the field has.
    pub(super) value: u32,
    /// Whether its labels are judgements, which do not depend on positions.
    pub(super) judged: bool,
}

impl Tested {
    pub(super) fn read(
        evaluation: &Evaluation<'_>,
        columns: &[Column],
        store: &dyn ClickthroughStore,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Self, EvaluateError> {
        let (model, config) = (evaluation.model, evaluation.config);
        let seed = config.backend.seed.unwrap_or(0);
        let (selector, weights) = (&config.learning.selector, &config.weights);
        let query = Query {
            columns,
            selector,
            share: 1.0,
            split: &config.split,
            seed,
            weights,
            limit: MAX_VALUES,
            room: Room::default(),
        };
        let (mut harvest, mut infos, mut values) = (Harvest::new(evaluation.weighting), Vec::new(), Values::default());
        let read = query.read_all(store.read().map_err(crate::Error::Read)?, |reading, record, fate| {
            match fate {
                Fate::LeftOut => {}
                Fate::Irrelevant => harvest.see(record, None),
                Fate::Taken(labels) => {
                    harvest.see(record, Some(labels));
                    infos.push(info(record, values.number(evaluation.by.and_then(|field| text_of(record, field)))));
                }
            }
            if reading.rankings.is_multiple_of(1024) {
                progress(Progress::Reading { rankings: reading.rankings });
            }
        });
        let (dataset, reading) = read.map_err(|error| read_error(model, error))?;
        if dataset.is_empty() {
            return Err(nothing(model, config, &reading).into());
        }
        let sides = sides(model, config, &dataset)?;
        for (info, key) in infos.iter_mut().zip(dataset.keys()) {
            info.visitor = key.visitor;
        }
        let infos: Vec<Info> = sides.test.iter().map(|&list| infos[list as usize].clone()).collect();
        let values = values.checked(evaluation.by, &infos)?;
        let dataset = dataset.arranged(&[sides.train.as_slice(), &sides.test].concat());
        Ok(Self { dataset, train: sides.train.len(), infos, values, reading, curve: harvest.curve() })
    }

    /// The lists with their rows.
    pub(super) fn examples(&self) -> Examples<'_> {
        self.dataset.split_at(self.train).1
    }

    pub(super) fn lists(&self) -> Lists {
        let times = || self.infos.iter().map(|info| info.time);
        Lists {
            train: self.train,
            test: self.infos.len(),
            items: self.examples().height(),
            visitors: self.visitors(|_| true),
            from: times().min(),
            to: times().max(),
            without_relevant: self.reading.without_positive,
        }
    }

    /// Number of visitors that such lists are of.
    pub(super) fn visitors(&self, are_of: impl Fn(&Info) -> bool) -> usize {
        let infos = self.infos.iter().filter(|info| are_of(info));
        infos.map(|info| info.visitor).collect::<HashSet<_>>().len()
    }

    /// The values that most lists have, the most first, and how many further values there are.
    pub(super) fn most_frequent(&self, most: usize) -> (Vec<u32>, usize) {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        self.infos.iter().for_each(|info| *counts.entry(info.value).or_default() += 1);
        let mut values: Vec<(u32, usize)> = counts.into_iter().collect();
        let name = |value: u32| self.values.get(value as usize);
        values.sort_by(|(left, one), (right, other)| other.cmp(one).then_with(|| name(*left).cmp(&name(*right))));
        let others = values.len().saturating_sub(most);
        (values.into_iter().take(most).map(|(value, _)| value).collect(), others)
    }

    /// What to know before the figures are believed.
    pub(super) fn notes(&self, evaluation: &Evaluation<'_>) -> Vec<String> {
        let mut notes = Vec::new();
        for ranker in evaluation.rankers {
            let missing = ranker.columns.iter().filter_map(|column| {
                let rankings = self.reading.missing_columns.get(&(column.name.clone(), column.fingerprint))?;
                Some(format!("{} in {rankings}", column.name))
            });
            let missing: Vec<String> = missing.collect();
            if !missing.is_empty() {
                let (name, all) = (&ranker.name, self.infos.len() + self.train);
                notes.push(format!(
                    "{name} reads columns that rankings were stored without, where they count as missing: {} of {all} rankings",
                    missing.join(", ")
                ));
            }
            notes.extend(self.seen_before(ranker, evaluation));
        }
        if evaluation.config.split.strategy != SplitStrategy::Time
            && evaluation.rankers.iter().any(|ranker| ranker.version.is_some())
        {
            notes.push(format!(
                "the split {} draws other lists when click-throughs come in: a version that was trained before has learned from some of \
                 the test lists, and its figures are too good",
                evaluation.config.split
            ));
        }
        let losses = &self.reading.losses;
        if losses.cut + losses.damaged > 0 {
            notes.push(format!("damaged parts of the click-throughs were left out: {}", losses.cut + losses.damaged));
        }
        notes
    }

    /// What to say of a model that learned from lists which it is tested on.
    fn seen_before(&self, ranker: &super::Ranker, evaluation: &Evaluation<'_>) -> Option<String> {
        let until = ranker.trained_until.filter(|_| evaluation.config.split.strategy == SplitStrategy::Time)?;
        let seen = self.infos.iter().filter(|info| info.time < until).count();
        let (name, all) = (&ranker.name, self.infos.len());
        (seen > 0).then(|| {
            format!(
                "{name} learned from rankings up to {until}, and {seen} of {all} test lists are older: it may have learned from them, \
                 and its figures are too good"
            )
        })
    }
}

fn info(record: &Clickthrough, value: u32) -> Info {
    Info {
        ranking: record.ranking.clone(),
        tenant: record.tenant.clone(),
        time: record.timestamp,
        visitor: 0,
        seed: record.ranking.digest(),
        value,
        judged: is_judged(record),
    }
}

/// Values of a field, numbered.
#[derive(Default)]
struct Values {
    numbers: HashMap<Option<String>, u32>,
    values: Vec<Option<String>>,
    too_many: bool,
}

impl Values {
    fn number(&mut self, value: Option<String>) -> u32 {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        if self.values.len() == MOST_VALUES {
            self.too_many = true;
            return 0;
        }
        let number = self.values.len() as u32;
        self.numbers.insert(value.clone(), number);
        self.values.push(value);
        number
    }

    fn checked(self, field: Option<&str>, tested: &[Info]) -> Result<Vec<Option<String>>, EvaluateError> {
        let Some(field) = field.map(str::to_owned) else { return Ok(self.values) };
        if self.too_many {
            return Err(EvaluateError::TooManySegments { field, most: MOST_VALUES });
        }
        if tested.iter().all(|info| self.values[info.value as usize].is_none()) {
            return Err(EvaluateError::NoSegments { field });
        }
        Ok(self.values)
    }
}
