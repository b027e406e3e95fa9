//! The queue of commits of one process.
//!
//! Its closer and its writers change the same counters all the time, and would refuse each other's batches. So a commit builds on
//! what those before it will leave. It is encoded while they are carried out, and sent when the last of them ends or gives up.
//! Where one of them had to be merged again, those behind it build on what it has left in the end. Where one failed, no key has
//! the stamp that it was to leave: the script finds that the key has moved, as it does with the commits of other processes.

use super::cache::Known;
use super::change::Change;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio::sync::{Mutex, MutexGuard};

#[derive(Default)]
pub(super) struct Line {
    /// Told when the last one in the line is over.
    end: Mutex<Option<Receiver<Renewed>>>,
    left: parking_lot::Mutex<HashMap<Vec<u8>, Left, RandomState>>,
    /// How often a server has refused what was sent, as a key had moved.
    refused: AtomicU64,
    /// How many have been put together.
    joined: AtomicU64,
}

/// What lies under keys that ended commits of the line had to merge again. Commits behind them were built on what these were
/// to leave at first.
type Renewed = HashMap<Vec<u8>, Anew, RandomState>;

struct Anew {
    known: Known,
    /// The last one that may have been put together on what was there before.
    concerns: u64,
}

/// What the last one in the line that changes a key will leave there.
struct Left {
    known: Known,
    /// Whose it is.
    turn: u64,
}

/// The end of the line: its holder is the next one in it, and may build its commit.
pub(super) struct End<'l> {
    line: &'l Line,
    turn: u64,
    end: MutexGuard<'l, Option<Receiver<Renewed>>>,
}

/// A place in the line.
pub(super) struct Place<'l> {
    line: &'l Line,
    before: Option<Receiver<Renewed>>,
    /// Goes up from one to the next.
    turn: u64,
    names: Vec<Vec<u8>>,
    renewed: Renewed,
    /// Tells the one behind.
    over: Option<Sender<Renewed>>,
}

impl Line {
    pub(super) async fn end(&self) -> End<'_> {
        let end = self.end.lock().await;
        End { line: self, turn: self.joined.fetch_add(1, Ordering::AcqRel) + 1, end }
    }

    /// What will lie under a key, if a commit in the line changes it.
    pub(super) fn leaves(&self, name: &[u8]) -> Option<Known> {
        self.left.lock().get(name).map(|left| left.known.clone())
    }

    /// How often a server has refused what was sent.
    #[cfg(test)]
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Whether no commit in it changes anything.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.left.lock().is_empty()
    }
}

impl<'l> End<'l> {
    /// Stands in the line with these changes.
    pub(super) fn join(mut self, changes: &[Change]) -> Place<'l> {
        let (over, told) = channel();
        let before = self.end.replace(told);
        let names = changes.iter().map(|change| change.name.clone()).collect();
        let place =
            Place { line: self.line, before, turn: self.turn, names, renewed: Renewed::default(), over: Some(over) };
        place.note(changes);
        place
    }
}

impl Place<'_> {
    /// Waits for those before. The changes rest on what these have left in the end.
    pub(super) async fn is_next(&mut self, changes: &mut [Change]) {
        let Some(before) = self.before.take() else { return };
        self.renewed = before.await.unwrap_or_default(); // it is over, whatever became of it
        if self.renewed.is_empty() {
            return;
        }
        let mut merged = Vec::new();
        for change in changes.iter_mut() {
            if change.is_first() {
                continue; // nothing may lie there, whatever an earlier commit was to leave
            }
            if let Some(anew) = self.renewed.get_mut(&change.name).filter(|anew| anew.concerns >= self.turn) {
                change.rest_on(anew.known.take());
                merged.push(&*change);
            }
        }
        self.note_renewed(&merged);
    }

    fn note(&self, changes: &[Change]) {
        let mut left = self.line.left.lock();
        for (name, change) in self.names.iter().zip(changes) {
            left.insert(name.clone(), Left { known: change.leaves(), turn: self.turn });
        }
    }

    /// Notes what changes will leave that a server has refused, and that were merged again.
    pub(super) fn renew<'c>(&mut self, changes: impl Iterator<Item = &'c Change>) {
        self.line.refused.fetch_add(1, Ordering::Relaxed);
        self.note_renewed(&changes.collect::<Vec<_>>());
    }

    /// Notes what is left now for those who have not come yet, and after that who has: they may have looked before.
    fn note_renewed(&mut self, changes: &[&Change]) {
        let mut left = self.line.left.lock();
        for change in changes {
            if let Some(left) = left.get_mut(&change.name).filter(|left| left.turn == self.turn) {
                left.known = change.leaves();
            }
        }
        drop(left);
        let concerns = self.line.joined.load(Ordering::Acquire);
        let anew = |change: &&Change| (change.name.clone(), Anew { known: change.leaves(), concerns });
        self.renewed.extend(changes.iter().map(anew));
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut left = self.line.left.lock();
        for name in &self.names {
            if left.get(name).is_some_and(|left| left.turn == self.turn) {
                left.remove(name);
            }
        }
        drop(left);
        if let Some(over) = self.over.take() {
            self.renewed.retain(|_, anew| anew.concerns > self.turn);
            let _ = over.send(std::mem::take(&mut self.renewed)); // it fails where no commit is behind it
        }
    }
}
