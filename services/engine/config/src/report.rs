//! What reading a text brings to light. Readers go on after a mistake, so that all of them are found at once.

use crate::error::{Errors, Mistake, Warning};
use crate::tree::Place;
use std::cell::RefCell;

/// More mistakes than these help nobody.
const MOST: usize = 1000;

/// Mistakes and warnings so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    mistakes: RefCell<Vec<Mistake>>,
    warnings: RefCell<Vec<Warning>>,
}

impl Report {
    pub(crate) fn mistake(&self, mistake: Mistake) {
        let mut mistakes = self.mistakes.borrow_mut();
        // what an alias repeats is one mistake of its anchor
        let known = |other: &Mistake| {
            (other.line, other.column, &other.problem) == (mistake.line, mistake.column, &mistake.problem)
        };
        if mistakes.len() < MOST && !mistakes.iter().any(known) {
            mistakes.push(mistake);
        }
    }

    pub(crate) fn warning(&self, place: Place, path: &str, message: String) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.len() < MOST {
            warnings.push(Warning { line: place.line, path: path.to_owned(), message });
        }
    }

    /// `read`, if nothing was wrong with it.
    pub(crate) fn verdict<T>(self, place: &str, read: T) -> Result<(T, Vec<Warning>), Errors> {
        let mistakes = self.mistakes.into_inner();
        if !mistakes.is_empty() {
            return Err(Errors::new(place, mistakes));
        }
        let mut warnings = self.warnings.into_inner();
        warnings.sort_by(|a, b| (a.line, &a.path).cmp(&(b.line, &b.path)));
        Ok((read, warnings))
    }
}
