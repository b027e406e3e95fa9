//! What a reading had to leave out.

/// Counts of what was left out while reading, and the places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Blocks (lines in JSON) that a crash cut short at the end of a part.
    pub cut: u64,
    /// Damaged stretches of a part: blocks, lines or headers.
    pub damaged: u64,
    /// Records that were in them, as far as that can be told: a block says how many it holds, a line holds one.
    pub records: u64,
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

    /// Counts one loss, and names it if not too many are.
    pub(crate) fn add(&mut self, loss: Loss, cut: bool) {
        *(if cut { &mut self.cut } else { &mut self.damaged }) += 1;
        if self.named.len() < Self::NAMED {
            self.named.push(loss);
        }
    }

    /// Counts what was left out of another part as well.
    pub(crate) fn join(&mut self, other: &Self) {
        self.cut += other.cut;
        self.damaged += other.damaged;
        self.records += other.records;
        self.duplicates += other.duplicates;
        let room = Self::NAMED - self.named.len().min(Self::NAMED);
        self.named.extend(other.named.iter().take(room).cloned());
    }
}
