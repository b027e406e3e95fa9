//! Click-throughs as the matrix that a model learns from.
//!
//! Records are streamed: besides the one at hand, what is known of each row but its values stays in memory (labels,
//! lengths, keys), and the values as far as there is [`Room`].

use crate::digest;
use crate::examples::Examples;
use crate::lists::Lists;
use crate::rows::{Room, Rows, RowsWriter, SpillError};
use crate::selector::{accepts, has_value, is_sampled};
use crate::split::Key;
use rankwright_clickthrough::{Clickthrough, Column as StoredColumn, Kind, Losses, Records};
use rankwright_config::model::{Selector, Split};
use rankwright_model::Column;
use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::Arc;

/// The most values a matrix may have: 32 GiB of them, in a file.
pub const MAX_VALUES: usize = 1 << 33;

/// The longest list that the boosters rank (LightGBM's limit).
pub const MAX_ITEMS: usize = 10_000;

/// Interactions without a ranking that are named.
const EXAMPLES: usize = 2;

/// Lists to learn from, with what a split has to know of each.
#[derive(Debug)]
pub struct Dataset {
    rows: Rows,
    starts: Vec<u64>,
    labels: Vec<f32>,
    lengths: Vec<u32>,
    keys: Vec<Key>,
}

/// What became of the records that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Rankings read, each once; of a sample, those in it.
    pub rankings: u64,
    /// Of them, those that the selector accepted.
    pub selected: u64,
    /// Selected ones left out because no item has a positive label.
    pub without_positive: u64,
    /// Selected ones left out because they have more than [`MAX_ITEMS`] items.
    pub too_long: u64,
    /// Selected ones left out because the field that splits has neither value.
    pub on_no_side: u64,
    /// Interactions that belong to no ranking.
    pub alone: u64,
    /// The ids of a few of them.
    pub examples: Vec<String>,
    /// Interactions that a recommender learns from.
    pub interactions: usize,
    /// Columns of the model that rankings were stored without (added, or defined otherwise, since), and in how many.
    /// Their values count as missing. By name and fingerprint: columns of several models may share a name.
    pub missing_columns: BTreeMap<(String, u64), u64>,
    /// What the store could not read.
    pub losses: Losses,
}

/// Why reading ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A part cannot be read.
    #[error(transparent)]
    Store(#[from] rankwright_clickthrough::Error),
    /// The values found no room.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// There are more values than the limit.
    #[error("more than {limit} feature values")]
    TooLarge {
        /// The most there may be.
        limit: usize,
    },
}

/// What is read, and how.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// Columns of the matrix. Stored ones are found by name and fingerprint.
    pub columns: &'a [Column],
    /// Which rankings.
    pub selector: &'a Selector,
    /// How many of them, as a part of all: 1 is all. Drawn apart from what the selector samples.
    pub share: f64,
    /// How they are parted later: a split by field leaves out those that have neither value.
    pub split: &'a Split,
    /// The model's seed, by which the selector takes samples.
    pub seed: u64,
    /// Weights of interaction types, which become labels.
    pub weights: &'a BTreeMap<String, f64>,
    /// The most values there may be, such as [`MAX_VALUES`].
    pub limit: usize,
    /// Where the values go.
    pub room: Room,
}

impl Query<'_> {
    /// Reads all rankings that a model is to learn from, and shows each to `seen`.
    pub fn read(
        &self,
        records: Records,
        mut seen: impl FnMut(&Reading, Option<&Clickthrough>),
    ) -> Result<(Dataset, Reading), ReadError> {
        self.read_all(records, |reading, record, fate| seen(reading, matches!(fate, Fate::Taken(_)).then_some(record)))
    }

    /// The same, and shows `seen` every record with what becomes of it.
    pub fn read_all(
        &self,
        mut records: Records,
        mut seen: impl FnMut(&Reading, &Clickthrough, Fate<'_>),
    ) -> Result<(Dataset, Reading), ReadError> {
        let mut dataset = Dataset::empty();
        let mut rows = RowsWriter::new(self.columns.len(), self.room.clone());
        let mut reading = Reading::default();
        let mut projection = Projection::default();
        for entry in records.by_ref() {
            let (columns, record) = entry?;
            let wanted = self.wants(&record, &mut reading);
            if let Wanted::Taken { labels, held_out } = &wanted {
                projection.adapt(&columns, self.columns);
                projection.count_missing();
                rows.push(projection.values(&record))?;
                dataset.push(&record, labels, *held_out);
            }
            if rows.len() > self.limit {
                return Err(ReadError::TooLarge { limit: self.limit });
            }
            seen(&reading, &record, wanted.fate());
        }
        dataset.rows = rows.finish()?;
        reading.losses = records.losses().clone();
        reading.missing_columns = projection.missing_columns(self.columns);
        Ok((dataset, reading))
    }

    /// Whether a record is to be learned from.
    fn wants(&self, record: &Clickthrough, reading: &mut Reading) -> Wanted {
        if record.kind != Kind::Ranking {
            reading.alone += 1;
            if reading.examples.len() < EXAMPLES {
                reading.examples.push(record.ranking.to_string());
            }
            return Wanted::LeftOut;
        }
        if !is_sampled(self.share, self.seed, record) {
            return Wanted::LeftOut;
        }
        reading.rankings += 1;
        if !accepts(self.selector, self.seed, record) {
            return Wanted::LeftOut;
        }
        reading.selected += 1;
        if record.items.len() > MAX_ITEMS {
            reading.too_long += 1;
            return Wanted::LeftOut;
        }
        let Some(held_out) = self.held_out(record) else {
            reading.on_no_side += 1;
            return Wanted::LeftOut;
        };
        let labels: Vec<f32> = record.labels(self.weights).into_iter().map(relevance).collect();
        let positive = labels.iter().any(|&label| label > 0.0);
        reading.without_positive += u64::from(!positive);
        if positive { Wanted::Taken { labels, held_out } } else { Wanted::Irrelevant }
    }

    /// Whether the field of a split by field says test; none where it has neither value.
    fn held_out(&self, record: &Clickthrough) -> Option<bool> {
        let Some(field) = self.split.field() else { return Some(false) };
        let is = |value: &String| has_value(record, &field.name, std::slice::from_ref(value));
        (is(&field.train) || is(&field.test)).then(|| is(&field.test))
    }
}

/// What becomes of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate<'a> {
    /// It is no ranking, or not one that is selected.
    LeftOut,
    /// It is selected, and no item has a positive label.
    Irrelevant,
    /// It is a list of the data set, with these labels.
    Taken(&'a [f32]),
}

/// The same, with what a data set keeps of it.
enum Wanted {
    LeftOut,
    Irrelevant,
    Taken {
        labels: Vec<f32>,
        /// Whether its field says test.
        held_out: bool,
    },
}

impl Wanted {
    fn fate(&self) -> Fate<'_> {
        match self {
            Self::LeftOut => Fate::LeftOut,
            Self::Irrelevant => Fate::Irrelevant,
            Self::Taken { labels, .. } => Fate::Taken(labels),
        }
    }
}

/// A label as a booster takes it: never negative (a dislike is as irrelevant as nothing), never `NaN`.
fn relevance(label: f64) -> f32 {
    label.max(0.0) as f32
}

impl Dataset {
    fn empty() -> Self {
        let (starts, labels, lengths, keys) = Default::default();
        Self { rows: Rows::in_memory(0, Vec::new()), starts, labels, lengths, keys }
    }

    /// A data set of given lists, in the order of their rows.
    pub fn from_lists(rows: Rows, lists: Lists<'_>, keys: Vec<Key>) -> Self {
        let end = |end: &mut u64, &length: &u32| Some(mem::replace(end, *end + u64::from(length)));
        let starts = lists.lengths.iter().scan(0, end).collect();
        Self { rows, starts, labels: lists.labels.to_vec(), lengths: lists.lengths.to_vec(), keys }
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// What a split has to know of each list.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// All lists with their rows.
    pub fn examples(&self) -> Examples<'_> {
        Examples::new(self.lists(), &self.rows, &self.starts)
    }

    /// All lists.
    pub fn lists(&self) -> Lists<'_> {
        Lists { labels: &self.labels, lengths: &self.lengths }
    }

    /// The first `first` lists, and the rest.
    pub fn split_at(&self, first: usize) -> (Examples<'_>, Examples<'_>) {
        self.examples().split_at(first)
    }

    /// The lists of these indices, in this order. Their rows stay where they are.
    pub fn arranged(mut self, order: &[u32]) -> Self {
        let first = self.lengths.iter().scan(0, |end, &length| Some(mem::replace(end, *end + length as usize)));
        let first: Vec<usize> = first.collect();
        let labels = order
            .iter()
            .flat_map(|&index| &self.labels[first[index as usize]..][..self.lengths[index as usize] as usize]);
        self.labels = labels.copied().collect();
        self.starts = order.iter().map(|&index| self.starts[index as usize]).collect();
        self.lengths = order.iter().map(|&index| self.lengths[index as usize]).collect();
        self.keys = order.iter().map(|&index| self.keys[index as usize]).collect();
        self
    }

    /// Adds a ranking, whose rows follow those of the ranking before.
    fn push(&mut self, record: &Clickthrough, labels: &[f32], held_out: bool) {
        self.starts.push(self.labels.len() as u64);
        self.labels.extend_from_slice(labels);
        self.lengths.push(labels.len() as u32);
        self.keys.push(key(record, held_out));
    }
}

/// What a list's key has as its id.
pub(crate) fn list_id(record: &Clickthrough) -> u64 {
    digest::of_text(digest::of_text(0, record.tenant.as_str()), record.ranking.as_str())
}

fn key(record: &Clickthrough, held_out: bool) -> Key {
    Key { time: record.timestamp.millis(), id: list_id(record), visitor: visitor(record), held_out }
}

/// Tells visitors apart: by tenant and user, else the session; without either, a list is a visitor's of its own.
pub(crate) fn visitor(record: &Clickthrough) -> u64 {
    let user = record.user.as_ref().map(|user| user.as_str());
    let visitor = user.or(record.session.as_ref().map(|session| session.as_str()));
    let of_tenant = |visitor| digest::of_text(digest::of_text(0, record.tenant.as_str()), visitor);
    visitor.map_or_else(|| list_id(record), of_tenant)
}

/// Where the rows of a part hold the columns of a model.
#[derive(Default)]
struct Projection {
    part: Option<Arc<[StoredColumn]>>,
    places: Vec<Option<usize>>,
    /// In how many records each column was missing.
    missing: Vec<u64>,
}

impl Projection {
    /// Looks the columns up again where a part has others than the one before.
    fn adapt(&mut self, part: &Arc<[StoredColumn]>, wanted: &[Column]) {
        if self.part.as_ref().is_some_and(|known| Arc::ptr_eq(known, part)) {
            return;
        }
        let places = part.iter().enumerate().rev(); // the first of equal ones stays
        let places: HashMap<_, usize> =
            places.map(|(place, stored)| ((stored.name.as_str(), stored.fingerprint), place)).collect();
        let place = |column: &Column| places.get(&(column.name.as_str(), column.fingerprint)).copied();
        self.places = wanted.iter().map(place).collect();
        self.part = Some(part.clone());
    }

    /// The values of a record's rows in the columns of the model, row after row. A number that was too large for an `f32`
    /// counts as the largest one: XGBoost learns from no set with an infinite value.
    fn values<'a>(&'a self, record: &'a Clickthrough) -> impl Iterator<Item = f32> + 'a {
        let value = |row: &'a [f32], place: Option<usize>| place.and_then(|place| row.get(place)).copied();
        let row = move |item| {
            let row = record.rows.row(item);
            self.places.iter().map(move |&place| value(row, place).unwrap_or(f32::NAN).clamp(f32::MIN, f32::MAX))
        };
        (0..record.items.len()).flat_map(row)
    }

    fn count_missing(&mut self) {
        self.missing.resize(self.places.len(), 0);
        self.missing.iter_mut().zip(&self.places).for_each(|(count, place)| *count += u64::from(place.is_none()));
    }

    /// Columns that were missing, and in how many records.
    fn missing_columns(&self, wanted: &[Column]) -> BTreeMap<(String, u64), u64> {
        let missing = wanted.iter().zip(&self.missing).filter(|(_, count)| **count > 0);
        missing.map(|(column, &count)| ((column.name.clone(), column.fingerprint), count)).collect()
    }
}

#[cfg(test)]
mod tests;
