//! Why a text is no event, and where.

use std::fmt::{self, Write};

/// Why a text is no event, and where: `items[2].id: expected a string that is not empty, found null (line 1, column
/// 97)`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DecodeError {
    path: String,
    reason: String,
    line: usize,
    column: usize,
}

impl DecodeError {
    /// The path inside the event, `items[2].id`, or inside the batch, `[3].items[2].id`; empty for the whole.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is accepted and what was found; without the place.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The same for a text that begins behind this many bytes of its line.
    pub(super) fn behind(mut self, bytes: usize) -> Self {
        self.column += if self.line == 1 { bytes } else { 0 };
        self
    }

    /// Line inside the text that was decoded, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Byte inside the line, from 1.
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

/// An error on its way up, one pointer wide: results stay small.
#[derive(Debug)]
pub(super) struct Fault(Box<Details>);

#[derive(Debug)]
struct Details {
    offset: usize,
    reason: String,
    /// From the fault outwards.
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Key(&'static str),
    Index(usize),
}

impl Fault {
    #[cold]
    pub(super) fn new(offset: usize, reason: String) -> Self {
        Self(Box::new(Details { offset, reason, steps: Vec::new() }))
    }

    #[cold]
    fn below(mut self, step: Step) -> Self {
        self.0.steps.push(step);
        self
    }

    /// The error, with its place in the text.
    pub(super) fn seen_in(self, text: &[u8]) -> DecodeError {
        let before = &text[..self.0.offset.min(text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let column = 1 + before.len() - line_start;
        DecodeError { path: self.path(), reason: self.0.reason, line, column }
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for step in self.0.steps.iter().rev() {
            match step {
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => path.extend([".", key]),
                // writing to a string does not fail
                Step::Index(index) => write!(path, "[{index}]").unwrap_or_default(),
            }
        }
        path
    }
}

/// Says from below what an error comes.
pub(super) trait Within: Sized {
    fn at_key(self, key: &'static str) -> Self;
    fn at_index(self, index: usize) -> Self;
}

impl<T> Within for Result<T, Fault> {
    #[inline]
    fn at_key(self, key: &'static str) -> Self {
        self.map_err(|fault| fault.below(Step::Key(key)))
    }

    #[inline]
    fn at_index(self, index: usize) -> Self {
        self.map_err(|fault| fault.below(Step::Index(index)))
    }
}
