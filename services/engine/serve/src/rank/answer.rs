//! The answer's text, written straight into its bytes.

use crate::ranker::FeatureColumns;
use rankwright_event::Ranking;
use serde::Serialize;
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

/// Feature values of all items.
pub(super) struct Explained<'a> {
    features: &'a [FeatureColumns],
    width: usize,
    rows: &'a [f32],
}

/// Bytes of an item beside its id, about.
const BYTES_PER_ITEM: usize = 56;
/// Bytes of a feature value with its name, about.
const BYTES_PER_VALUE: usize = 40;

impl<'a> Explained<'a> {
    /// From rows in the order of the ranking's items.
    pub(super) fn new(features: &'a [FeatureColumns], rows: &'a [f32]) -> Self {
        Self { features, rows, width: features.last().map_or(0, |last| last.columns.end) }
    }

    /// Where no value could be read.
    pub(super) fn unknown(features: &'a [FeatureColumns]) -> Self {
        Self::new(features, &[])
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
        text.extend_from_slice(b",\"took\":");
        json(&mut text, &(began.elapsed().as_millis() as u64));
        text.push(b'}');
        text
    }

    fn expected_len(&self) -> usize {
        let values = self.explained.as_ref().map_or(0, |explained| explained.width);
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
        }
        text.push(b'}');
    }
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
