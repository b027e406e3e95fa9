//! What a reading had to leave out.

/// Counts of what was left out while reading, and the places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Blocks (lines in JSON) that a crash cut short at the end of a part.
    pub cut: u64,
    /// Damaged stretches of a part: blocks, lines or headers.
    pub damaged: u64,
    /// Records seen before, in this part or an earlier one.
    pub duplicates: u64,
    /// The first [`Losses::NAMED`] of them that were cut or damaged.
    pub named: Vec<Loss>,
}

/// One stretch of a part that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason} at byte {offset}")]
pub struct Loss {
    /// Name of the part.
    pub place: String,
    /// Where the stretch begins, in bytes.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl Losses {
    /// How many losses are named; the rest is counted.
    pub const NAMED: usize = 100;

    /// Whether every record there was has been read (duplicates are no loss).
    pub fn is_empty(&self) -> bool {
        self.cut + self.damaged == 0
    }
}
