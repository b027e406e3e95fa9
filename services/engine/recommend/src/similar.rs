//! Items like those of a context, by the directions of their vectors: what a server holds and asks.

mod wire;

use crate::item_vectors::ItemVectors;
use crate::neighbours::{Build, Neighbours};
use crate::vectors::Vectors;
use compact_str::CompactString;

/// Items and their vectors, of length one, with what finds the nearest. Immutable; share it between threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Similar {
    ids: Vec<CompactString>, // ascending
    near: Neighbours,
}

/// Why ids and vectors are no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidVectors {
    /// One vector belongs to each id.
    #[error("{ids} items have {vectors} vectors")]
    Lengths {
        /// How many ids there are.
        ids: usize,
        /// How many vectors there are.
        vectors: usize,
    },
    /// Which of its vectors would it be?
    #[error("item {0} has two vectors")]
    Twice(CompactString),
    /// More items than can be numbered.
    #[error("{0} items are too many, at most {max} have room", max = u32::MAX)]
    TooMany(usize),
}

/// Recommended items.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<'a> {
    /// Ids and cosine similarities to the context, from -1 to 1, best first.
    pub items: Vec<(&'a str, f32)>,
    /// Items of the context that have no vector.
    pub unknown: usize,
    /// Why there are no items; `None` where there are, or where none were asked for.
    pub nothing: Option<NoAnswer>,
}

/// Why a context has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NoAnswer {
    /// The context has no item.
    #[error("the request names no item")]
    EmptyContext,
    /// No item of the context has a vector.
    #[error("the model knows none of the items")]
    UnknownItems,
    /// The vectors of the context are zero, or cancel each other out.
    #[error("the items have nothing in common")]
    NoDirection,
    /// All other items are excluded, or there are none.
    #[error("no other item is left")]
    AllExcluded,
}

impl Similar {
    /// A model of items and their vectors, in any order. The same items give the same model.
    ///
    /// # Errors
    /// When ids and vectors do not belong together.
    pub fn from_vectors(ids: Vec<CompactString>, vectors: Vectors, build: &Build) -> Result<Self, InvalidVectors> {
        if ids.len() != vectors.len() {
            return Err(InvalidVectors::Lengths { ids: ids.len(), vectors: vectors.len() });
        }
        if ids.len() >= u32::MAX as usize {
            return Err(InvalidVectors::TooMany(ids.len()));
        }
        let (ids, vectors) = if ids.is_sorted() { (ids, vectors) } else { sorted(&ids, &vectors) };
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(InvalidVectors::Twice(twice[0].clone()));
        }
        Ok(Self { ids, near: Neighbours::build(vectors, build) })
    }

    /// As [`from_vectors`](Self::from_vectors), of items that were collected.
    ///
    /// # Errors
    /// As there.
    pub fn of(items: ItemVectors, build: &Build) -> Result<Self, InvalidVectors> {
        Self::from_vectors(items.ids, items.vectors, build)
    }

    /// Items nearest to the mean direction of a context, without those of the context and those to exclude; `count` of
    /// them, or as many as there are.
    pub fn recommend(&self, context: &[impl AsRef<str>], exclude: impl Fn(&str) -> bool, count: usize) -> Answer<'_> {
        let mut known: Vec<usize> = context.iter().filter_map(|item| self.number(item.as_ref())).collect();
        let unknown = context.len() - known.len();
        let nothing = |reason| Answer { items: Vec::new(), unknown, nothing: Some(reason) };
        if context.is_empty() {
            return nothing(NoAnswer::EmptyContext);
        }
        if known.is_empty() {
            return nothing(NoAnswer::UnknownItems);
        }
        let query = self.mean(&known);
        if query.iter().all(|&number| number == 0.0) {
            return nothing(NoAnswer::NoDirection);
        }
        known.sort_unstable(); // thousands may be given
        let skip = |number: usize| known.binary_search(&number).is_ok() || exclude(&self.ids[number]);
        let found = self.near.search(&query, count, skip);
        let items: Vec<_> = found.into_iter().map(|(number, score)| (self.ids[number].as_str(), score)).collect();
        let nothing = (items.is_empty() && count > 0).then_some(NoAnswer::AllExcluded);
        Answer { items, unknown, nothing }
    }

    /// The mean of vectors of length one.
    fn mean(&self, items: &[usize]) -> Vec<f32> {
        let mut sum = vec![0.0_f64; self.near.vectors().width()];
        for &item in items {
            sum.iter_mut().zip(self.near.vectors().row(item)).for_each(|(sum, number)| *sum += f64::from(*number));
        }
        sum.into_iter().map(|sum| (sum / items.len() as f64) as f32).collect()
    }

    fn number(&self, item: &str) -> Option<usize> {
        self.ids.binary_search_by(|id| id.as_str().cmp(item)).ok()
    }

    /// Whether an item has a vector.
    pub fn knows(&self, item: &str) -> bool {
        self.number(item).is_some()
    }

    /// Ids of all items, ascending.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.ids.iter().map(CompactString::as_str)
    }

    /// Vectors of all items, in the order of their ids, and what finds the nearest.
    pub fn neighbours(&self) -> &Neighbours {
        &self.near
    }

    /// The share of the ten nearest items that a search finds, from 0 to 1.
    pub fn recall(&self) -> f32 {
        self.near.recall()
    }
}

/// Ids ascending, and their vectors in that order.
fn sorted(ids: &[CompactString], vectors: &Vectors) -> (Vec<CompactString>, Vectors) {
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by_key(|&place| &ids[place]);
    let mut rows = Vectors::new(vectors.width());
    order.iter().for_each(|&place| rows.push(vectors.row(place)));
    (order.iter().map(|&place| ids[place].clone()).collect(), rows)
}

#[cfg(test)]
mod tests;
