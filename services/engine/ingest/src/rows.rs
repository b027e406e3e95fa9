//! Rows of a batch's rankings, computed beside each other.
//!
//! Effects are applied one event after the other, on one thread; what a ranking's rows are computed from is only held
//! on to there. When the batch is through, all its rows are computed on all cores.

use rankwright_event::Ranking;
use rankwright_feature::{Plan, Purpose, Snapshot};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

/// Fewer rankings than this are not worth a thread.
const WORTH_A_THREAD: usize = 16;

/// Rows that will be there when the batch is through.
#[derive(Debug, Clone, Default)]
pub(crate) struct Promise(Arc<OnceLock<Vec<f32>>>);

/// What rows are computed from.
struct Task {
    ranking: Arc<Ranking>,
    snapshot: Snapshot,
    promise: Promise,
}

/// The promises of a batch.
#[derive(Default)]
pub(crate) struct Tasks(Vec<Task>);

impl Promise {
    /// Rows that are there already.
    pub(crate) fn kept(rows: Vec<f32>) -> Self {
        Self(Arc::new(OnceLock::from(rows)))
    }

    /// The rows; none before the batch is through.
    pub(crate) fn take(self) -> Vec<f32> {
        match Arc::try_unwrap(self.0) {
            Ok(rows) => rows.into_inner().unwrap_or_default(),
            Err(shared) => shared.get().cloned().unwrap_or_default(),
        }
    }
}

impl Tasks {
    /// Promises the rows of a ranking.
    pub(crate) fn add(&mut self, ranking: Arc<Ranking>, snapshot: Snapshot) -> Promise {
        let promise = Promise::default();
        self.0.push(Task { ranking, snapshot, promise: promise.clone() });
        promise
    }

    /// Keeps all promises.
    pub(crate) fn run(&mut self, plan: &Plan) {
        let tasks = std::mem::take(&mut self.0);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let helpers = (tasks.len() / WORTH_A_THREAD).min(cores - 1);
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let rows = plan.rows_of(&task.ranking, &task.snapshot, Purpose::Training);
                task.promise.0.get_or_init(|| rows);
            }
        };
        thread::scope(|scope| {
            (0..helpers).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    }
}
