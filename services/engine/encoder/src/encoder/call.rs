//! A call on its way: its batches, what they gave, and who waits for it.

use super::work::Workers;
use super::{EncodeError, Full};
use crate::model::Batch;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::mem;
use std::sync::Arc;
use std::time::Instant;

type Vector = Arc<[f32]>;

/// A call's texts on their way.
pub(super) struct Call {
    pub(super) by: Option<Instant>,
    progress: Mutex<Progress>,
    done: Condvar,
}

struct Progress {
    vectors: Vec<Option<Vector>>, // one for each text
    left: usize,                  // batches
    failed: Option<EncodeError>,
}

impl Call {
    /// Of so many texts in so many batches.
    pub(super) fn new(texts: usize, batches: usize, by: Option<Instant>) -> Arc<Self> {
        let progress = Progress { vectors: vec![None; texts], left: batches, failed: None };
        Arc::new(Self { by, progress: Mutex::new(progress), done: Condvar::new() })
    }

    /// Has the batches computed, and waits for it. Returns what there is of each text, all of it where nothing failed.
    pub(super) fn answer(
        self: Arc<Self>,
        workers: &Workers,
        batches: Vec<Batch>,
        full: Full,
    ) -> (Vec<Option<Vector>>, Result<(), EncodeError>) {
        if let Err(error) = workers.begin(batches, &self, full) {
            return (Vec::new(), Err(error));
        }
        let mut progress = self.progress.lock();
        while progress.left > 0 && progress.failed.is_none() {
            if let Err(error) = wait(&self.done, &mut progress, self.by) {
                progress.fail(error); // what has not begun is left alone
            }
        }
        let outcome = progress.failed.clone().map_or(Ok(()), Err);
        let vectors = mem::take(&mut progress.vectors);
        drop(progress);
        if outcome.is_err() {
            workers.leave(&self);
        }
        (vectors, outcome)
    }

    /// Whether it still waits for more.
    pub(super) fn wanted(&self) -> bool {
        self.by.is_none_or(|by| Instant::now() < by) && self.progress.lock().failed.is_none()
    }

    /// Takes what a batch gave, of the texts at these places.
    pub(super) fn settle(&self, places: &[usize], outcome: Result<Vec<Vector>, EncodeError>) {
        let mut progress = self.progress.lock();
        match outcome {
            Ok(vectors) if vectors.len() == places.len() => {
                for (&place, vector) in places.iter().zip(vectors) {
                    if let Some(slot) = progress.vectors.get_mut(place) {
                        *slot = Some(vector);
                    } // else the call has ended before
                }
            }
            Ok(_) => {
                progress.fail(EncodeError::failed("the model gave another number of results than there are texts"))
            }
            Err(error) => progress.fail(error),
        }
        progress.left -= 1;
        if progress.left == 0 || progress.failed.is_some() {
            self.done.notify_all();
        }
    }
}

impl Progress {
    /// The first error is the one that tells why.
    fn fail(&mut self, error: EncodeError) {
        self.failed.get_or_insert(error);
    }
}

/// Waits for news; refuses once the deadline has passed.
pub(super) fn wait<T>(news: &Condvar, guard: &mut MutexGuard<'_, T>, by: Option<Instant>) -> Result<(), EncodeError> {
    match by {
        None => news.wait(guard),
        Some(by) if news.wait_until(guard, by).timed_out() && Instant::now() >= by => {
            return Err(EncodeError::OutOfTime);
        }
        Some(_) => {}
    }
    Ok(())
}
