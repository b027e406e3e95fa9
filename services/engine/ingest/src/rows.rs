//! Rows of rankings, computed beside ingest.
//!
//! Effects are applied one event after the other, on one thread, which only keeps what a ranking's rows are computed from.
//! Other threads compute the rows meanwhile, and ingest helps when they fall behind.

use parking_lot::{Condvar, Mutex};
use rankwright_event::Ranking;
use rankwright_feature::{Encoded, Plan, Purpose};
use rankwright_state::Fetched;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

/// Most rankings that may wait, each with a hold on state that has moved on since.
const MOST_WAITING: usize = 64;
/// Fewer than these are not worth waking a thread.
const WORTH_WAKING: usize = 4;

/// Rows that will be there; `None` where computing them failed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Promise(Arc<OnceLock<Option<Vec<f32>>>>);

/// What rows are computed from.
struct Task {
    ranking: Arc<Ranking>,
    fetched: Fetched,
    encoded: Arc<Encoded>,
    promise: Promise,
}

/// Computes rows on threads of its own.
pub(crate) struct Workshop {
    plan: Arc<Plan>,
    queue: Arc<Queue>,
    helpers: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    tasks: VecDeque<Task>,
    over: bool,
}

impl Promise {
    /// Rows that are there already.
    pub(crate) fn kept(rows: Vec<f32>) -> Self {
        Self(Arc::new(OnceLock::from(Some(rows))))
    }

    /// Rows that are there already; none of those that are still computed.
    pub(crate) fn kept_rows(&self) -> &[f32] {
        self.0.get().and_then(Option::as_deref).unwrap_or_default()
    }

    /// Waits for the rows.
    ///
    /// # Panics
    /// When computing them did.
    pub(crate) fn take(self) -> Vec<f32> {
        self.0.wait();
        let rows = Arc::try_unwrap(self.0).map_or_else(|shared| shared.get().cloned(), OnceLock::into_inner);
        rows.flatten().expect("rows are there unless a feature panicked, which its thread has reported")
    }
}

impl Task {
    fn run(self, plan: &Plan) {
        let mut texts = plan.texts(&self.ranking, &self.fetched);
        let encoded = texts.among(&self.encoded).and(texts.encode(None));
        let rows = plan.rows_with(&self.ranking, &self.fetched, &encoded, Purpose::Training);
        self.promise.0.get_or_init(|| Some(rows));
    }
}

impl Drop for Task {
    /// A request whose rows panicked does not wait for ever.
    fn drop(&mut self) {
        self.promise.0.get_or_init(|| None);
    }
}

impl Queue {
    /// Waits for a task; `None` when there will be no more.
    fn next(&self) -> Option<Task> {
        let mut waiting = self.waiting.lock();
        loop {
            if let Some(task) = waiting.tasks.pop_front() {
                return Some(task);
            }
            if waiting.over {
                return None;
            }
            self.arrived.wait(&mut waiting);
        }
    }

    /// Adds a task; gives back the oldest one when too many wait.
    fn add(&self, task: Task, most: usize) -> Option<Task> {
        let mut waiting = self.waiting.lock();
        waiting.tasks.push_back(task);
        let oldest = if waiting.tasks.len() > most { waiting.tasks.pop_front() } else { None };
        let wake = waiting.tasks.len() >= WORTH_WAKING;
        drop(waiting);
        if wake {
            self.arrived.notify_one();
        }
        oldest
    }
}

impl Workshop {
    pub(crate) fn new(plan: Arc<Plan>) -> Self {
        Self { plan, queue: Arc::default(), helpers: Vec::new() }
    }

    /// Promises the rows of a ranking, with what models made of some of its texts.
    pub(crate) fn add(&mut self, ranking: Arc<Ranking>, fetched: Fetched, encoded: Arc<Encoded>) -> Promise {
        if self.helpers.is_empty() {
            self.hire();
        }
        let promise = Promise::default();
        let most = if self.helpers.is_empty() { 0 } else { MOST_WAITING };
        let task = Task { ranking, fetched, encoded, promise: promise.clone() };
        if let Some(oldest) = self.queue.add(task, most) {
            oldest.run(&self.plan);
        }
        promise
    }

    /// Sees to it that no task is left lying until the next one comes.
    pub(crate) fn nudge(&self) {
        self.queue.arrived.notify_all();
    }

    /// Starts a thread for each core but the one that ingest runs on.
    fn hire(&mut self) {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        for _ in 1..cores {
            let (plan, queue) = (self.plan.clone(), self.queue.clone());
            let work = move || {
                while let Some(task) = queue.next() {
                    // a panic is reported where it happened, and its promise says so; the other tasks are done
                    let _ = catch_unwind(AssertUnwindSafe(|| task.run(&plan)));
                }
            };
            self.helpers.extend(thread::Builder::new().name("rows".into()).spawn(work));
        }
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        self.queue.waiting.lock().over = true;
        self.nudge();
        for helper in self.helpers.drain(..) {
            let _ = helper.join();
        }
    }
}
