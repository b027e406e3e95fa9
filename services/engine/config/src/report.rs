//! What reading a text brings to light. Readers go on after a mistake, so that all of them are found at once.

use crate::error::{Errors, Mistake, Warning};
use crate::left_out::LeftOut;
use crate::trace::Trace;
use crate::tree::Place;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A longer list of mistakes does not help.
pub(crate) const MOST: usize = 1000;

/// Each time, keys come to light that stand under those which were misspelt the time before.
const MOST_TIMES: usize = 16;

/// Mistakes and warnings so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    mistakes: RefCell<Vec<Mistake>>,
    warnings: RefCell<Vec<Warning>>,
    /// Paths of misspelt keys that earlier readings found, and what is read in their place.
    meant: BTreeMap<String, &'static str>,
    /// The same, as this reading finds them.
    means: RefCell<BTreeMap<String, &'static str>>,
    /// What the reading before this one found wrong.
    before: Vec<Mistake>,
    times: usize,
    /// Keys that the text leaves out, by the path of their section, and what stands in their place.
    left_out: RefCell<BTreeMap<String, BTreeMap<&'static str, LeftOut>>>,
    /// Kept where there is no text, and readers tell what they would ask of it.
    trace: Option<Trace>,
}

impl Report {
    /// For readers without a text.
    pub(crate) fn tracing(trace: Trace) -> Self {
        Self { trace: Some(trace), ..Self::default() }
    }

    /// Where readers tell what they ask, without a text.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    pub(crate) fn into_trace(self) -> Option<Trace> {
        self.trace
    }

    /// The key that a misspelt one is to be read as.
    pub(crate) fn meant(&self, path: &str) -> Option<&'static str> {
        self.meant.get(path).copied()
    }

    /// Notes what a misspelt key is to be read as, the next time.
    pub(crate) fn means(&self, path: String, key: &'static str) {
        self.means.borrow_mut().insert(path, key);
    }

    /// Notes that a key of a section is left out, and what stands in its place.
    pub(crate) fn leaves_out(&self, section: &str, key: &'static str, what: impl FnOnce() -> LeftOut) {
        if self.trace.is_none() {
            self.left_out.borrow_mut().entry(section.to_owned()).or_default().insert(key, what());
        }
    }

    pub(crate) fn into_left_out(self) -> BTreeMap<String, BTreeMap<&'static str, LeftOut>> {
        self.left_out.into_inner()
    }

    /// For one more reading, if this one found a key that is to be read as another.
    pub(crate) fn again(&self) -> Option<Self> {
        let means = self.means.borrow();
        let more = means.iter().any(|(path, _)| !self.meant.contains_key(path)) && self.times < MOST_TIMES;
        let meant = || self.meant.iter().chain(means.iter()).map(|(path, &key)| (path.clone(), key)).collect();
        let before = || self.mistakes.borrow().clone();
        more.then(|| Self { meant: meant(), before: before(), times: self.times + 1, ..Self::default() })
    }

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

    /// Takes over what another reading found wrong at these places.
    pub(crate) fn adopt(&self, other: Self, places: &BTreeSet<Place>) {
        let there = |mistake: &Mistake| places.contains(&Place { line: mistake.line, column: mistake.column });
        other.into_mistakes().into_iter().filter(there).for_each(|mistake| self.mistake(mistake));
    }

    /// How many mistakes were found so far.
    pub(crate) fn mistakes(&self) -> usize {
        self.mistakes.borrow().len()
    }

    pub(crate) fn into_mistakes(self) -> Vec<Mistake> {
        self.mistakes.into_inner()
    }

    pub(crate) fn warning(&self, place: Place, path: &str, message: String) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.len() < MOST {
            warnings.push(Warning { line: place.line, path: path.to_owned(), message });
        }
    }

    /// `read`, if nothing was wrong with it.
    pub(crate) fn verdict<T>(self, place: &str, read: T) -> Result<(T, Vec<Warning>), Errors> {
        let found = self.mistakes.into_inner();
        // what was misspelt is wrong wherever reading it as another key leads
        let mistakes = if found.is_empty() { self.before } else { found };
        if !mistakes.is_empty() {
            return Err(Errors::new(place, mistakes));
        }
        let mut warnings = self.warnings.into_inner();
        warnings.sort_by(|a, b| (a.line, &a.path).cmp(&(b.line, &b.path)));
        Ok((read, warnings))
    }
}
