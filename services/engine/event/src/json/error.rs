//! Why a text is no event.

use super::trail::Trail;
use std::fmt;

/// Reasons quote what was found; they quote no more than this many bytes.
const LONGEST_REASON: usize = 400;

/// Why a text is no event, and where: `items[2].id: invalid type: null, expected a string that is not empty (line 1,
/// column 97)`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DecodeError {
    path: String,
    reason: String,
    line: usize,
    column: usize,
}

impl DecodeError {
    pub(super) fn new(trail: &Trail, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let mut reason = error.to_string();
        if let Some(bare) = reason.strip_suffix(&format!(" at line {line} column {column}")) {
            reason.truncate(bare.len());
        }
        Self { path: trail.path(), reason: cut(reason), line, column }
    }

    /// The same error, seen from a batch: event `index`, with so many lines above it.
    pub(super) fn inside(mut self, index: usize, lines_above: usize) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("[{index}]{dot}{}", self.path);
        self.line += lines_above;
        self
    }

    /// The path inside the event, `items[2].id`, or inside the batch, `[3].items[2].id`; empty for the whole.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What was found and what is accepted; without the place.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Line inside the text that was decoded, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Byte inside the line, from 1; 0 just before the first.
    pub fn column(&self) -> usize {
        self.column
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{} (line {}, column {})", self.reason, self.line, self.column)
    }
}

fn cut(mut reason: String) -> String {
    if reason.len() > LONGEST_REASON {
        // the end says what is accepted, the middle quotes the input
        let head = reason.floor_char_boundary(LONGEST_REASON / 2);
        let tail = reason.ceil_char_boundary(reason.len() - LONGEST_REASON / 2);
        reason.replace_range(head..tail, " ... ");
    }
    reason
}
