//! A model as bytes: ids, vectors, and the lists of an index; codes are computed again when it is read.

use super::Similar;
use crate::codec::{self, DecodeError};
use crate::neighbours::{Approximate, Neighbours};
use crate::vectors::Vectors;
use compact_str::CompactString;
use serde::{Deserialize, Serialize};

const MAGIC: &str = "RANKWSIM";
/// Numbers that a vector has at most.
const WIDEST: u32 = 1 << 16;
/// Numbers of a vector of length one are at most one, and a little more by rounding.
const LARGEST: f32 = 1.001;

#[derive(Serialize, Deserialize)]
struct Wire {
    ids: Vec<CompactString>,
    width: u32,
    vectors: Vec<f32>,
    index: Option<Index>,
}

#[derive(Serialize, Deserialize)]
struct Index {
    centroids: Vec<f32>,
    list_of: Vec<u32>,
    probes: u32,
    recall: f32,
}

impl Similar {
    /// The model as one file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers = |vectors: &Vectors| vectors.iter().flatten().copied().collect();
        let index = self.near.approximate().map(|index| Index {
            centroids: numbers(index.centroids()),
            list_of: index.list_of(),
            probes: index.probes() as u32,
            recall: index.recall(),
        });
        let vectors = self.near.vectors();
        let (ids, width) = (self.ids.clone(), vectors.width() as u32);
        codec::encode(MAGIC, &Wire { ids, width, vectors: numbers(vectors), index })
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// Any other bytes, each with its reason.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire: Wire = codec::decode(MAGIC, bytes)?;
        let invalid = |what: &str| DecodeError::Invalid(what.to_owned());
        if !wire.ids.is_sorted_by(|a, b| a < b) {
            return Err(invalid("ids do not ascend"));
        }
        let vectors = rows(&wire.vectors, wire.width).ok_or_else(|| invalid("vectors are not of length one"))?;
        if vectors.len() != wire.ids.len() || vectors.len() >= u32::MAX as usize {
            return Err(invalid("items and vectors differ in number"));
        }
        let approximate = match wire.index {
            None => None,
            Some(index) => {
                let checked = checked(&index, &vectors, wire.width);
                Some(checked.ok_or_else(|| invalid("the lists are not those of the vectors"))?)
            }
        };
        Ok(Self { ids: wire.ids, near: Neighbours::assemble(vectors, approximate) })
    }
}

/// Rows of a plausible width, if there are whole ones of plausible numbers.
fn rows(numbers: &[f32], width: u32) -> Option<Vectors> {
    let plausible = numbers.iter().all(|number| number.abs() <= LARGEST); // which no NaN is
    if !(1..=WIDEST).contains(&width) || !plausible || !numbers.len().is_multiple_of(width as usize) {
        return None;
    }
    let mut vectors = Vectors::new(width as usize);
    numbers.chunks_exact(width as usize).for_each(|row| vectors.push(row));
    Some(vectors)
}

/// An index whose parts fit each other and the vectors.
fn checked(index: &Index, vectors: &Vectors, width: u32) -> Option<Approximate> {
    let centroids = rows(&index.centroids, width)?;
    let lists = centroids.len();
    let fits = index.list_of.len() == vectors.len()
        && index.list_of.iter().all(|&list| (list as usize) < lists)
        && (index.probes as usize) <= lists
        && (0.0..=1.0).contains(&index.recall);
    fits.then(|| Approximate::assemble(vectors, centroids, &index.list_of, index.probes as usize, index.recall))
}
