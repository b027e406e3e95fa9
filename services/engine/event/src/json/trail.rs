//! The path to what could not be read.

use std::cell::RefCell;
use std::fmt::Write;

/// Steps from the fault outwards, noted while an error travels up.
#[derive(Default)]
pub(super) struct Trail(RefCell<Vec<Step>>);

enum Step {
    Key(&'static str),
    Index(usize),
}

impl Trail {
    /// Passes a result on; an error in it came from below `key`.
    pub(super) fn key<T, E>(&self, key: &'static str, result: Result<T, E>) -> Result<T, E> {
        result.inspect_err(|_| self.0.borrow_mut().push(Step::Key(key)))
    }

    /// Passes a result on; an error in it came from below element `index`.
    pub(super) fn index<T, E>(&self, index: usize, result: Result<T, E>) -> Result<T, E> {
        result.inspect_err(|_| self.0.borrow_mut().push(Step::Index(index)))
    }

    /// The path as people write it: `items[2].fields[0].value`.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for step in self.0.borrow().iter().rev() {
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
