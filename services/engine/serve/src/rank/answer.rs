//! The answer's text, written straight into its bytes.

use super::Explain;
use crate::ranker::FeatureColumns;
use rankwright_event::{Ranking, Timestamp};
use rankwright_model::Contributions;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// What an answer says.
pub(super) struct Answer<'a> {
    pub ranking: &'a Ranking,
    /// One for each item of the ranking.
    pub scores: &'a [f64],
    /// Indices of items, best first.
    pub order: &'a [usize],
    /// Where the request wants feature values.
    pub explained: Option<Explained<'a>>,
    /// Why this is the incoming order.
    pub fallback: Option<&'a str>,
}

/// Feature values of all items, and what they bring.
pub(super) struct Explained<'a> {
    features: &'a [FeatureColumns],
    width: usize,
    rows: &'a [f32],
    /// Whether the request asks what features bring.
    asks: bool,
    brought: Option<&'a Contributions>,
    /// When the newest of what each feature read of an item was stored.
    newest: &'a [BTreeMap<&'a str, Timestamp>],
}

/// Bytes of an item beside its id, about.
const BYTES_PER_ITEM: usize = 56;
/// Bytes of a feature value, or of what it brings, with its name, about.
const BYTES_PER_VALUE: usize = 40;

/// Said in place of contributions, where there are none.
const NOTHING_SCORED: &str = "nothing was scored: items keep their incoming order";
const NO_FEATURES: &str = "this model scores without features";

impl<'a> Explained<'a> {
    /// From rows, and what their columns bring, in the order of the ranking's items.
    pub(super) fn new(
        features: &'a [FeatureColumns],
        rows: &'a [f32],
        explain: Explain,
        brought: Option<&'a Contributions>,
    ) -> Option<Self> {
        let (asks, width) = (explain == Explain::Contributions, features.last().map_or(0, |last| last.columns.end));
        (explain != Explain::Nothing).then_some(Self { features, width, rows, asks, brought, newest: &[] })
    }

    /// With when the newest of what each feature read was stored.
    pub(super) fn with_newest(self, newest: &'a [BTreeMap<&'a str, Timestamp>]) -> Self {
        Self { newest, ..self }
    }

    /// Where no value could be read.
    pub(super) fn unknown(features: &'a [FeatureColumns], explain: Explain) -> Option<Self> {
        Self::new(features, &[], explain, None)
    }

    /// What each feature brings to an item's score, in their order; `None` where the model did not say.
    fn brought(&self, item: usize) -> Option<Vec<f64>> {
        let values = self.brought?.values.get(item * self.width..(item + 1) * self.width)?;
        Some(self.features.iter().map(|feature| values[feature.columns.clone()].iter().sum()).collect())
    }

    fn row(&self, item: usize) -> &'a [f32] {
        self.rows.get(item * self.width..(item + 1) * self.width).unwrap_or_default()
    }
}

impl Answer<'_> {
    /// The JSON text of an answer to a request that came at `began`.
    pub(super) fn write(&self, began: Instant) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.expected_len());
        text.extend_from_slice(b"{\"items\":[");
        for (place, &item) in self.order.iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            self.write_item(&mut text, item);
        }
        text.push(b']');
        if let Some(reason) = self.fallback {
            text.extend_from_slice(b",\"fallback\":");
            json(&mut text, reason);
        }
        if self.explained.as_ref().is_some_and(|explained| explained.asks && explained.brought.is_none()) {
            text.extend_from_slice(b",\"unexplained\":");
            json(&mut text, if self.fallback.is_some() { NOTHING_SCORED } else { NO_FEATURES });
        }
        text.extend_from_slice(b",\"took\":");
        json(&mut text, &(began.elapsed().as_millis() as u64));
        text.push(b'}');
        text
    }

    fn expected_len(&self) -> usize {
        let lists = |explained: &Explained<'_>| if explained.brought.is_some() { 2 } else { 1 };
        let values = self.explained.as_ref().map_or(0, |explained| lists(explained) * explained.width);
        let ids: usize = self.ranking.items.iter().map(|item| item.id.as_str().len()).sum();
        128 + ids + self.order.len() * (BYTES_PER_ITEM + values * BYTES_PER_VALUE)
    }

    fn write_item(&self, text: &mut Vec<u8>, item: usize) {
        text.extend_from_slice(b"{\"item\":");
        json(text, self.ranking.items[item].id.as_str());
        text.extend_from_slice(b",\"score\":");
        json(text, &self.scores[item]);
        if let Some(explained) = &self.explained {
            text.extend_from_slice(b",\"features\":[");
            write_features(text, explained.features, explained.row(item));
            text.push(b']');
            if let Some(brought) = explained.brought(item) {
                write_contributions(text, explained, item, &brought, self.scores[item]);
            }
        }
        text.push(b'}');
    }
}

/// The bias is the rest, so that all of them are the score: it holds the rounding of scores in single precision.
fn write_contributions(text: &mut Vec<u8>, explained: &Explained<'_>, item: usize, brought: &[f64], score: f64) {
    let newest = explained.newest.get(item);
    text.extend_from_slice(b",\"contributions\":[");
    for (place, (feature, value)) in explained.features.iter().zip(brought).enumerate() {
        text.extend_from_slice(if place > 0 { b",{\"name\":" } else { b"{\"name\":" });
        json(text, feature.name.as_str());
        text.extend_from_slice(b",\"value\":");
        json(text, value);
        if let Some(time) = newest.and_then(|newest| newest.get(feature.name.as_str())) {
            text.extend_from_slice(b",\"time\":");
            json(text, &time.millis());
        }
        text.push(b'}');
    }
    text.extend_from_slice(b"],\"bias\":");
    json(text, &(score - brought.iter().sum::<f64>()));
}

fn write_features(text: &mut Vec<u8>, features: &[FeatureColumns], row: &[f32]) {
    for (place, feature) in features.iter().enumerate() {
        text.extend_from_slice(if place > 0 { b",{\"name\":" } else { b"{\"name\":" });
        json(text, feature.name.as_str());
        text.extend_from_slice(b",\"value\":");
        let value = |column| finite(row.get(column).copied().unwrap_or(f32::NAN));
        match feature.columns.clone() {
            columns if columns.len() == 1 => json(text, &value(columns.start)),
            columns => json(text, &columns.map(value).collect::<Vec<_>>()),
        }
        text.push(b'}');
    }
}

/// A number that JSON can tell; none is NaN, which it tells as null. To a tree the largest number is as good as a larger one.
fn finite(value: f32) -> f32 {
    value.clamp(f32::MIN, f32::MAX)
}

/// Appends a value; numbers that are not finite become null.
fn json(text: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // strings and numbers always serialise, and a vector takes any number of bytes
    let _ = serde_json::to_writer(text, value);
}
