//! The line in which the commits of one process stand.
//!
//! Its closer and its writers change the same counters all the time, and would refuse each other's batches. So a commit is put
//! together on what those before it will leave, is encoded while they are carried out, and is sent when the last of them is over or gives up.
//! Where one of them came to nothing, or had to be merged anew, no key has the stamp that it was to leave: the script finds that
//! the key has moved, as it does with the commits of other processes.

use super::cache::Known;
use super::change::Change;
use super::layout::Stamp;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio::sync::{Mutex, MutexGuard};

#[derive(Default)]
pub(super) struct Line {
    /// Told when the last one in the line is over.
    end: Mutex<Option<Receiver<()>>>,
    left: parking_lot::Mutex<HashMap<Vec<u8>, Left, RandomState>>,
}

/// What the last one in the line that changes a key will leave there.
struct Left {
    known: Known,
    /// Whose it is.
    place: Stamp,
}

/// The end of the line: whoever has it is the next one in it, and may put together what it commits.
pub(super) struct End<'l> {
    line: &'l Line,
    end: MutexGuard<'l, Option<Receiver<()>>>,
}

/// A place in the line.
pub(super) struct Place<'l> {
    line: &'l Line,
    before: Option<Receiver<()>>,
    number: Stamp,
    names: Vec<Vec<u8>>,
    /// Its end tells the one behind.
    _over: Sender<()>,
}

impl Line {
    pub(super) async fn end(&self) -> End<'_> {
        End { line: self, end: self.end.lock().await }
    }

    /// What will lie under a key, as far as somebody in the line changes it.
    pub(super) fn leaves(&self, name: &[u8]) -> Option<Known> {
        self.left.lock().get(name).map(|left| left.known.clone())
    }

    /// Whether nobody in it changes anything.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.left.lock().is_empty()
    }
}

impl<'l> End<'l> {
    /// Stands in the line with these changes.
    pub(super) fn join(mut self, number: Stamp, changes: &[Change]) -> Place<'l> {
        let (over, told) = channel();
        let before = self.end.replace(told);
        let names = changes.iter().map(|change| change.name.clone()).collect();
        let place = Place { line: self.line, before, number, names, _over: over };
        place.note(changes);
        place
    }
}

impl Place<'_> {
    /// Waits for those before.
    pub(super) async fn turn(&mut self) {
        if let Some(before) = self.before.take() {
            let _ = before.await; // it is over, whatever became of it
        }
    }

    fn note(&self, changes: &[Change]) {
        let mut left = self.line.left.lock();
        for (name, change) in self.names.iter().zip(changes) {
            left.insert(name.clone(), Left { known: change.leaves(), place: self.number });
        }
    }

    /// Notes what changes that were merged anew will leave, for those who have not come yet.
    pub(super) fn renew(&self, changes: &[Change]) {
        let mut left = self.line.left.lock();
        for change in changes {
            if let Some(left) = left.get_mut(&change.name).filter(|left| left.place == self.number) {
                left.known = change.leaves();
            }
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut left = self.line.left.lock();
        for name in &self.names {
            if left.get(name).is_some_and(|left| left.place == self.number) {
                left.remove(name);
            }
        }
    }
}
