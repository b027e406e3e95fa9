//! Items near others in a space of vectors.

use crate::codec::{self, DecodeError};
use crate::neighbours::Neighbours;
use crate::vectors::Vectors;
use compact_str::CompactString;
use hashbrown::HashMap;
use std::collections::HashSet;

const MAGIC: [u8; 4] = *b"RKSI";

/// Items, each with the direction of its vector.
pub struct Similar {
    ids: Vec<CompactString>,
    places: HashMap<CompactString, u32>,
    neighbours: Neighbours,
}

/// Why nothing can be recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// There is no context.
    #[error("the request names no item")]
    NoItem,
    /// None of the items has a vector.
    #[error("the model knows none of the items")]
    Unknown,
}

impl Similar {
    /// From ids, and a vector for each in the same order. Those without a direction (zeros, or not finite) are left out.
    pub fn new(ids: &[CompactString], vectors: &Vectors) -> Self {
        let (mut kept, mut directions) = (Vec::new(), Vectors::new(vectors.width()));
        for (id, row) in ids.iter().zip(vectors.iter()) {
            if let Some(direction) = direction(row) {
                kept.push(id.clone());
                directions.push(&direction);
            }
        }
        Self::of(kept, directions)
    }

    fn of(ids: Vec<CompactString>, directions: Vectors) -> Self {
        let places = ids.iter().enumerate().map(|(place, id)| (id.clone(), place as u32)).collect();
        Self { ids, places, neighbours: Neighbours::new(directions) }
    }

    /// How many items have a vector.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The `count` items nearest to the mean direction of a context, none of it and none of those excluded, with their
    /// cosine similarity, best first; equal ones by name.
    ///
    /// # Errors
    /// Where the context is empty, or none of it is known.
    pub fn recommend(
        &self,
        context: &[&str],
        exclude: &HashSet<&str>,
        count: usize,
    ) -> Result<Vec<(&str, f32)>, NoAnswer> {
        if context.is_empty() {
            return Err(NoAnswer::NoItem);
        }
        let known: HashSet<u32> = context.iter().filter_map(|item| self.places.get(*item).copied()).collect();
        let mut mean = vec![0.0; self.neighbours.vectors().width()];
        let mut order: Vec<u32> = known.iter().copied().collect();
        order.sort_unstable(); // sums in one order
        for &place in &order {
            mean.iter_mut().zip(self.neighbours.vectors().row(place as usize)).for_each(|(sum, part)| *sum += part);
        }
        let mean = direction(&mean).ok_or(NoAnswer::Unknown)?;
        let excluded = exclude.iter().filter_map(|item| self.places.get(*item)).copied();
        let without: HashSet<u32> = known.iter().copied().chain(excluded).collect();
        let nearest = self.neighbours.nearest(&mean, count, &without);
        Ok(nearest.into_iter().map(|(place, score)| (self.ids[place as usize].as_str(), score)).collect())
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = codec::begin(MAGIC, self.ids.len());
        codec::put(&mut bytes, self.neighbours.vectors().width());
        codec::put_names(&mut bytes, self.ids.iter().map(CompactString::as_str));
        for row in self.neighbours.vectors().iter() {
            row.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        }
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// Any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (mut rest, count) = codec::open(bytes, MAGIC, "vectors of items")?;
        let width = codec::count(&mut rest)?;
        let ids = codec::names(&mut rest, count)?;
        let mut directions = Vectors::new(width.max(1));
        if width == 0 && count > 0 {
            return Err(rest.error("the vectors have no numbers"));
        }
        for _ in 0..count {
            let row = codec::numbers(&mut rest, width)?;
            if !row.iter().all(|number| number.is_finite()) {
                return Err(rest.error("a number is not finite"));
            }
            directions.push(&row);
        }
        codec::end(rest)?;
        Ok(Self::of(ids, directions))
    }
}

/// A vector of length 1; none for zeros, and for what is not finite.
fn direction(row: &[f32]) -> Option<Vec<f32>> {
    let length = row.iter().map(|&number| f64::from(number) * f64::from(number)).sum::<f64>().sqrt();
    let has_direction = length.is_finite() && length > 1e-12;
    has_direction.then(|| row.iter().map(|&number| (f64::from(number) / length) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Similar {
        let ids = ["north", "east", "northeast", "south", "nowhere"].map(CompactString::from);
        let mut vectors = Vectors::new(2);
        for row in [[0.0, 2.0], [3.0, 0.0], [1.0, 1.0], [0.0, -1.0], [0.0, 0.0]] {
            vectors.push(&row);
        }
        Similar::new(&ids, &vectors)
    }

    fn names(found: &[(&str, f32)]) -> Vec<String> {
        found.iter().map(|(name, score)| format!("{name} {score:.3}")).collect()
    }

    #[test]
    fn the_nearest_directions_come_first_without_the_context_and_what_is_excluded() {
        let (space, nothing) = (space(), HashSet::new());
        let found = space.recommend(&["north"], &nothing, 9).expect("it is known");
        assert_eq!(names(&found), ["northeast 0.707", "east 0.000", "south -1.000"]);
        let found = space.recommend(&["north", "east", "unknown"], &nothing, 1).expect("two are known");
        assert_eq!(names(&found), ["northeast 1.000"]);
        let found = space.recommend(&["north"], &HashSet::from(["northeast", "x"]), 1).expect("it is known");
        assert_eq!(names(&found), ["east 0.000"]);
    }

    #[test]
    fn an_unknown_context_has_a_reason_and_no_answer() {
        let nothing = HashSet::new();
        assert_eq!(space().recommend(&[], &nothing, 1), Err(NoAnswer::NoItem));
        assert_eq!(space().recommend(&["x", "nowhere"], &nothing, 1), Err(NoAnswer::Unknown));
        assert_eq!(space().recommend(&["north", "south"], &nothing, 1), Err(NoAnswer::Unknown), "they cancel out");
    }

    #[test]
    fn bytes_are_read_back_and_damaged_ones_are_refused() {
        let bytes = space().to_bytes();
        let read = Similar::from_bytes(&bytes).expect("they are whole");
        assert_eq!((read.len(), read.to_bytes()), (4, bytes.clone()));
        for cut in 0..bytes.len() {
            assert!(Similar::from_bytes(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        let mut wrong = bytes;
        wrong.extend([0]);
        assert!(Similar::from_bytes(&wrong).is_err());
    }
}
