//! Calls, and the threads that compute their batches with them.

use super::call::{Call, wait};
use super::{EncodeError, Full};
use crate::model::{Batch, Graph};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

type Vector = Arc<[f32]>;

/// Graphs, a thread for each, and what waits for them. The threads end when this is dropped.
pub(super) struct Workers {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

struct Queue {
    limit: usize,
    threads: usize,
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
    pace: AtomicU64, // nanoseconds that a token took lately
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    idle: Vec<Graph>,
    closed: bool,
}

struct Job {
    batch: Batch,
    call: Arc<Call>,
}

impl Workers {
    pub(super) fn start(graphs: Vec<Graph>, limit: usize) -> io::Result<Self> {
        let count = graphs.len();
        let queue = Queue {
            limit,
            threads: count.max(1),
            state: Mutex::new(State { idle: graphs, ..State::default() }),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            pace: AtomicU64::new(0),
        };
        let mut workers = Self { queue: Arc::new(queue), threads: Vec::with_capacity(count) };
        for _ in 0..count {
            let queue = Arc::clone(&workers.queue);
            workers.threads.push(thread::Builder::new().name("encoder".to_owned()).spawn(move || queue.work())?);
        }
        Ok(workers)
    }

    /// Refuses where as many batches wait as may, or so much that another call's turn comes too late for it.
    pub(super) fn has_room(&self, by: Option<Instant>) -> Result<(), EncodeError> {
        let state = self.queue.state.lock();
        match state.jobs.len() {
            waiting if waiting < self.queue.limit && !self.queue.is_late(&state, by) => Ok(()),
            waiting => Err(EncodeError::Busy { waiting }),
        }
    }

    /// Batches that wait for a thread.
    pub(super) fn waiting(&self) -> usize {
        self.queue.state.lock().jobs.len()
    }

    /// Has a call's batches computed; the caller computes some of them here, where that is faster.
    pub(super) fn begin(&self, batches: Vec<Batch>, call: &Arc<Call>, full: Full) -> Result<(), EncodeError> {
        let queue = &self.queue;
        let jobs = batches.into_iter().map(|batch| Job { batch, call: Arc::clone(call) }).collect();
        let mut own = queue.take(jobs, call, full)?;
        while let Some((job, graph)) = own {
            let graph = queue.compute(job, graph);
            let mut state = queue.state.lock();
            state.idle.push(graph);
            own = queue.own(&mut state, call);
            if own.is_none() && !state.jobs.is_empty() {
                queue.filled.notify_one();
            }
        }
        Ok(())
    }
}

impl Queue {
    /// Takes all of a call's batches once fewer wait than may, so that a call of many is not kept from its end by others.
    /// Returns what the caller is to compute itself.
    fn take(&self, jobs: Vec<Job>, call: &Arc<Call>, full: Full) -> Result<Option<(Job, Graph)>, EncodeError> {
        let mut state = self.state.lock();
        if full == Full::Refuse && self.is_late(&state, call.by) {
            return Err(EncodeError::Busy { waiting: state.jobs.len() });
        }
        while state.jobs.len() >= self.limit {
            if full == Full::Refuse {
                return Err(EncodeError::Busy { waiting: state.jobs.len() });
            }
            wait(&self.emptied, &mut state, call.by)?;
        }
        state.jobs.extend(jobs);
        let own = self.own(&mut state, call);
        let able = state.jobs.len().min(state.idle.len());
        drop(state);
        (0..able).for_each(|_| _ = self.filled.notify_one());
        Ok(own)
    }

    /// Whether what waits takes all the time that there is, by how long tokens took lately. What is begun then ends for nothing.
    fn is_late(&self, state: &State, by: Option<Instant>) -> bool {
        let Some(by) = by.filter(|_| !state.jobs.is_empty()) else { return false };
        let tokens: usize = state.jobs.iter().map(|job| job.batch.ids.len()).sum();
        let nanoseconds = self.pace.load(Ordering::Relaxed).saturating_mul(tokens as u64) / self.threads as u64;
        Instant::now() + Duration::from_nanos(nanoseconds) > by
    }

    /// The next batch, where it is this call's, a graph is idle, and there is time: computing it here saves handing it over.
    fn own(&self, state: &mut State, call: &Arc<Call>) -> Option<(Job, Graph)> {
        let next = state.jobs.front().filter(|job| Arc::ptr_eq(&job.call, call))?;
        let usual = Duration::from_nanos(self.pace.load(Ordering::Relaxed).saturating_mul(next.batch.ids.len() as u64));
        if call.by.is_some_and(|by| Instant::now() + 2 * usual > by) {
            return None; // a thread of ours computes it, and this one is back in time
        }
        self.next(state)
    }

    fn next(&self, state: &mut State) -> Option<(Job, Graph)> {
        let graph = state.idle.pop()?;
        match state.jobs.pop_front() {
            Some(job) => {
                self.emptied.notify_all();
                Some((job, graph))
            }
            None => {
                state.idle.push(graph);
                None
            }
        }
    }

    /// Computes a batch, and gives back its graph.
    fn compute(&self, Job { batch, call }: Job, mut graph: Graph) -> Graph {
        let start = Instant::now();
        let outcome = if call.wanted() { run(&mut graph, &batch) } else { Err(EncodeError::OutOfTime) };
        if outcome.is_ok() {
            let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.pace.store(nanoseconds / batch.ids.len().max(1) as u64, Ordering::Relaxed);
        }
        call.settle(&batch.places, outcome);
        graph
    }

    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some((job, graph)) = self.next(&mut state) {
                drop(state);
                let graph = self.compute(job, graph);
                state = self.state.lock();
                state.idle.push(graph);
            } else if state.closed {
                return;
            } else {
                self.filled.wait(&mut state);
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.queue.state.lock().closed = true;
        self.queue.filled.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // it does not panic
        }
    }
}

fn run(graph: &mut Graph, batch: &Batch) -> Result<Vec<Vector>, EncodeError> {
    match catch_unwind(AssertUnwindSafe(|| graph.run(batch))) {
        Ok(outcome) => outcome.map_err(|error| EncodeError::failed(&error.to_string())),
        Err(_) => Err(EncodeError::failed("it panicked")),
    }
}
