//! What features compute: a file for each type, with what it needs to be stored, what its numbers mean and how it is
//! made. A new type is such a file and its line in [`compiler::definition`].

mod boolean;
pub(crate) mod compiler;
mod diversity;
pub(crate) mod field;
pub(crate) mod field_match;
mod field_scope;
mod interacted_with;
mod interaction_count;
mod item_age;
mod list_size;
mod local_time;
mod number;
mod position;
mod random;
mod rate;
mod referer;
mod relevancy;
mod string;
mod tally;
mod time_diff;
mod user_agent;
mod vector;
mod window_count;
mod word_count;

use crate::candidates::Candidates;
use crate::encode::Texts;
use rankwright_event::Event;
use rankwright_state::{Entity, FieldValue, Key};
use std::sync::Arc;

/// A value that is not there.
pub(crate) const MISSING: f64 = f64::NAN;

/// Computes the columns of one feature.
pub(crate) trait Extractor: Send + Sync {
    /// What the files it was made with add to the meaning of its numbers.
    fn meaning(&self) -> String {
        String::new()
    }

    /// Whether it reads keys that depend on what was read first.
    fn follows(&self) -> bool {
        false
    }

    /// These keys, which the second round trip reads.
    fn follow(&self, _candidates: &Candidates<'_>, _keys: &mut Vec<Key>) {}

    /// Whether it needs texts computed by a model.
    fn encodes(&self) -> bool {
        false
    }

    /// These texts, of a ranking.
    fn texts(&self, _candidates: &Candidates<'_>, _texts: &mut Texts) {}

    /// Those that are known before an event is taken in: its effects, and rows of a ranking, need them.
    fn foreseen(&self, _event: &Event, _texts: &mut Texts) {}

    /// Fills this feature's columns of all rows.
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>);
}

/// The columns of one feature in a matrix of all.
pub(crate) struct Columns<'a> {
    pub(crate) rows: &'a mut [f32],
    pub(crate) width: usize,
    pub(crate) first: usize,
}

impl Columns<'_> {
    /// Sets a value; `column` counts from the feature's first one.
    pub(crate) fn set(&mut self, item: usize, column: usize, value: f64) {
        self.rows[item * self.width + self.first + column] = value as f32;
    }

    /// Sets one value in every row.
    pub(crate) fn set_all(&mut self, column: usize, value: f64) {
        for row in self.rows.chunks_exact_mut(self.width) {
            row[self.first + column] = value as f32;
        }
    }

    /// Sets the first `columns` columns of every row to 0.
    pub(crate) fn clear(&mut self, columns: usize) {
        for row in self.rows.chunks_exact_mut(self.width) {
            row[self.first..][..columns].fill(0.0);
        }
    }

    /// Fills the first column from each item's field; a value that many items share is computed once.
    pub(crate) fn map(
        &mut self,
        candidates: &Candidates<'_>,
        reader: &field::FieldReader,
        compute: impl Fn(Option<&FieldValue>) -> f64,
    ) {
        self.map_values(&reader.all(candidates), compute);
    }

    /// The same from values that were read before, one an item.
    pub(crate) fn map_values(&mut self, values: &[Option<&FieldValue>], compute: impl Fn(Option<&FieldValue>) -> f64) {
        let mut known: Option<(Option<&FieldValue>, f64)> = None;
        for (item, &value) in values.iter().enumerate() {
            let computed = match known {
                Some((before, computed)) if same(before, value) => computed,
                _ => compute(value),
            };
            known = Some((value, computed));
            self.set(item, 0, computed);
        }
    }
}

/// Whether both are the one value in memory, or both none.
fn same(left: Option<&FieldValue>, right: Option<&FieldValue>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => std::ptr::eq(left, right),
        (None, None) => true,
        _ => false,
    }
}

/// Entity of an owner, for one of the items.
pub(crate) fn entity<'c>(
    candidates: &Candidates<'c>,
    owner: crate::slot::Owner,
    item: usize,
) -> Option<&'c Arc<Entity>> {
    match owner {
        crate::slot::Owner::Global => candidates.global,
        crate::slot::Owner::Item => candidates.items[item],
        crate::slot::Owner::User => candidates.user,
        crate::slot::Owner::Session => candidates.session,
    }
}
