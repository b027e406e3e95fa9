//! Items with vectors that were computed elsewhere.

use crate::vectors::Vectors;
use compact_str::CompactString;

/// Items, in any order, each with its vector.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemVectors {
    pub(crate) ids: Vec<CompactString>,
    pub(crate) vectors: Vectors,
}

impl ItemVectors {
    /// None yet; vectors are of this width, at least one.
    pub fn new(width: usize) -> Self {
        Self { ids: Vec::new(), vectors: Vectors::new(width) }
    }

    /// Adds an item. A vector that is too short ends in zeros, of one that is too long the end is left out.
    pub fn push(&mut self, id: &str, vector: &[f32]) {
        self.ids.push(id.into());
        self.vectors.push(vector);
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}
