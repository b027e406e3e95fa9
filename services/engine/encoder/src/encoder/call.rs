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
    news: Condvar,
}

struct Progress {
    fresh: Vec<(usize, Vector)>, // texts by their places, which the caller has not seen yet
    left: usize,                 // batches
    failed: Option<EncodeError>,
}

impl Call {
    /// A call of this number of batches.
    pub(super) fn new(batches: usize, by: Option<Instant>) -> Arc<Self> {
        let progress = Progress { fresh: Vec::new(), left: batches, failed: None };
        Arc::new(Self { by, progress: Mutex::new(progress), news: Condvar::new() })
    }

    /// Has the batches computed, and shows each text with its place as soon as it is.
    pub(super) fn answer(
        self: Arc<Self>,
        workers: &Workers,
        batches: Vec<Batch>,
        full: Full,
        mut show: impl FnMut(usize, Vector),
    ) -> Result<(), EncodeError> {
        workers
            .begin(batches, &self, full, || self.fresh().into_iter().for_each(|(place, vector)| show(place, vector)))?;
        loop {
            let mut progress = self.progress.lock();
            while progress.fresh.is_empty() && progress.left > 0 && progress.failed.is_none() {
                if let Err(error) = wait(&self.news, &mut progress, self.by) {
                    progress.fail(error);
                }
            }
            let (fresh, left, failed) = (mem::take(&mut progress.fresh), progress.left, progress.failed.clone());
            drop(progress);
            fresh.into_iter().for_each(|(place, vector)| show(place, vector));
            if let Some(error) = failed {
                workers.leave(&self); // what has not begun is left alone
                return Err(error);
            }
            if left == 0 {
                return Ok(());
            }
        }
    }

    fn fresh(&self) -> Vec<(usize, Vector)> {
        mem::take(&mut self.progress.lock().fresh)
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
                progress.fresh.extend(places.iter().copied().zip(vectors));
            }
            Ok(_) => {
                progress.fail(EncodeError::failed("the model gave another number of results than there are texts"))
            }
            Err(error) => progress.fail(error),
        }
        progress.left -= 1;
        self.news.notify_all();
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
