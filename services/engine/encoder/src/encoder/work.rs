//! Calls, and the threads that compute their batches with them.
//!
//! Calls take turns, a batch each, so that a call of few texts is answered beside one of thousands.

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
    /// In the order of their turns, each with a batch at least.
    waiting: VecDeque<Waiting>,
    idle: Vec<Graph>,
    closed: bool,
}

/// What is left to compute of a call.
struct Waiting {
    call: Arc<Call>,
    batches: VecDeque<Batch>,
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

    /// Refuses a call with this number of batches where the queue before it is full, or where it would be late.
    pub(super) fn has_room(&self, batches: usize, by: Option<Instant>) -> Result<(), EncodeError> {
        let state = self.queue.state.lock();
        let before = state.before(batches).count();
        let has_room = before < self.queue.limit && !self.queue.is_late(&state, batches, by);
        has_room.then_some(()).ok_or(EncodeError::Busy { waiting: before })
    }

    /// Batches that wait for a thread.
    pub(super) fn waiting(&self) -> usize {
        self.queue.state.lock().left()
    }

    /// Has a call's batches computed; the caller computes some of them here, where that is faster, and takes note of what
    /// there is after each.
    pub(super) fn begin(
        &self,
        batches: Vec<Batch>,
        call: &Arc<Call>,
        full: Full,
        mut note: impl FnMut(),
    ) -> Result<(), EncodeError> {
        let queue = &self.queue;
        let mut own = queue.take(batches, call, full)?;
        while let Some((job, graph)) = own {
            let graph = queue.compute(job, graph);
            note();
            let mut state = queue.state.lock();
            state.idle.push(graph);
            own = queue.own(&mut state, call);
            if own.is_none() && !state.waiting.is_empty() {
                queue.filled.notify_one();
            }
        }
        Ok(())
    }

    /// Forgets what waits of a call that has ended.
    pub(super) fn leave(&self, call: &Arc<Call>) {
        self.queue.state.lock().waiting.retain(|waiting| !Arc::ptr_eq(&waiting.call, call));
        self.queue.emptied.notify_all();
    }
}

impl Queue {
    /// Takes all of a call's batches once fewer come before them than may. Returns what the caller is to compute itself.
    fn take(&self, batches: Vec<Batch>, call: &Arc<Call>, full: Full) -> Result<Option<(Job, Graph)>, EncodeError> {
        let count = batches.len();
        let mut state = self.state.lock();
        if full == Full::Refuse && self.is_late(&state, count, call.by) {
            return Err(EncodeError::Busy { waiting: state.before(count).count() });
        }
        loop {
            match state.before(count).count() {
                before if before < self.limit => break,
                waiting if full == Full::Refuse => return Err(EncodeError::Busy { waiting }),
                _ => wait(&self.emptied, &mut state, call.by)?,
            }
        }
        state.waiting.push_back(Waiting { call: Arc::clone(call), batches: batches.into() });
        let own = self.own(&mut state, call);
        let able = state.left().min(state.idle.len());
        drop(state);
        (0..able).for_each(|_| _ = self.filled.notify_one());
        Ok(own)
    }

    /// Whether what comes before a call with this number of batches takes all the time that there is, by how long tokens took
    /// lately. What is begun then ends for nothing.
    fn is_late(&self, state: &State, batches: usize, by: Option<Instant>) -> bool {
        let Some(by) = by.filter(|_| !state.waiting.is_empty()) else { return false };
        let tokens: usize = state.before(batches).map(|batch| batch.ids.len()).sum();
        let nanoseconds = self.pace.load(Ordering::Relaxed).saturating_mul(tokens as u64) / self.threads as u64;
        Instant::now() + Duration::from_nanos(nanoseconds) > by
    }

    /// The next batch, where it is this call's, a graph is idle, and there is time: computing it here saves handing it over.
    fn own(&self, state: &mut State, call: &Arc<Call>) -> Option<(Job, Graph)> {
        let next = state.waiting.front().filter(|waiting| Arc::ptr_eq(&waiting.call, call))?.batches.front()?;
        let usual = Duration::from_nanos(self.pace.load(Ordering::Relaxed).saturating_mul(next.ids.len() as u64));
        if call.by.is_some_and(|by| Instant::now() + 2 * usual > by) {
            return None; // a thread of ours computes it, and this one is back in time
        }
        self.next(state)
    }

    fn next(&self, state: &mut State) -> Option<(Job, Graph)> {
        let graph = state.idle.pop()?;
        match state.pop() {
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

impl State {
    /// Batches that wait.
    fn left(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.batches.len()).sum()
    }

    /// The batches that are computed before the last one of a call with this number, as it takes turns with those that wait.
    fn before(&self, batches: usize) -> impl Iterator<Item = &Batch> {
        self.waiting.iter().flat_map(move |waiting| waiting.batches.iter().take(batches))
    }

    /// The next batch, of the call whose turn it is.
    fn pop(&mut self) -> Option<Job> {
        let Waiting { call, mut batches } = self.waiting.pop_front()?;
        let batch = batches.pop_front()?;
        if !batches.is_empty() {
            self.waiting.push_back(Waiting { call: Arc::clone(&call), batches });
        }
        Some(Job { batch, call })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Encoded, split};

    /// Calls with these numbers of batches; a batch is known by its width.
    fn waiting(calls: &[usize]) -> State {
        let call = |(number, &batches): (usize, &usize)| {
            let texts: Vec<_> =
                (0..batches).map(|_| Encoded { ids: vec![1; number + 1], types: vec![0; number + 1] }).collect();
            Waiting { call: Call::new(batches, None), batches: split(&texts, 1, 1, 0).into() }
        };
        State { waiting: calls.iter().enumerate().map(call).collect(), ..State::default() }
    }

    #[test]
    fn calls_take_turns() {
        let mut state = waiting(&[4, 1, 2]);
        let order: Vec<usize> = std::iter::from_fn(|| state.pop()).map(|job| job.batch.width).collect();
        assert_eq!(order, [1, 2, 3, 1, 3, 1, 1]);
    }

    #[test]
    fn what_comes_before_a_call_depends_on_its_size() {
        let state = waiting(&[500, 1, 3]);
        assert_eq!([1, 2, 10].map(|batches| state.before(batches).count()), [3, 5, 14]);
    }
}
