//! Threads that compute batches, and the calls that wait for them.

use super::{EncodeError, Full};
use crate::model::{Batch, Graph};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

type Vector = Arc<[f32]>;

/// One thread for each graph; they end when this is dropped.
pub(super) struct Workers {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

struct Queue {
    limit: usize,
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    closed: bool,
}

struct Job {
    batch: Batch,
    call: Arc<Call>,
}

/// A call's texts on their way.
pub(super) struct Call {
    by: Option<Instant>,
    progress: Mutex<Progress>,
    done: Condvar,
}

struct Progress {
    vectors: Vec<Option<Vector>>, // one for each text
    left: usize,                  // batches
    failed: Option<EncodeError>,
}

impl Workers {
    pub(super) fn start(graphs: Vec<Graph>, limit: usize) -> io::Result<Self> {
        let queue = Queue { limit, state: Mutex::default(), filled: Condvar::new(), emptied: Condvar::new() };
        let mut workers = Self { queue: Arc::new(queue), threads: Vec::with_capacity(graphs.len()) };
        for graph in graphs {
            let queue = Arc::clone(&workers.queue);
            let thread = thread::Builder::new().name("encoder".to_owned());
            workers.threads.push(thread.spawn(move || work(&queue, graph))?);
        }
        Ok(workers)
    }

    /// Refuses where as many batches wait as may.
    pub(super) fn has_room(&self) -> Result<(), EncodeError> {
        match self.queue.state.lock().jobs.len() {
            waiting if waiting < self.queue.limit => Ok(()),
            waiting => Err(EncodeError::Busy { waiting }),
        }
    }

    /// Takes all of a call's batches once fewer wait than may, so that a call of many is not kept from its end by others.
    fn take(&self, jobs: impl Iterator<Item = Job>, by: Option<Instant>, full: Full) -> Result<(), EncodeError> {
        let mut state = self.queue.state.lock();
        while state.jobs.len() >= self.queue.limit {
            if full == Full::Refuse {
                return Err(EncodeError::Busy { waiting: state.jobs.len() });
            }
            wait(&self.queue.emptied, &mut state, by)?;
        }
        state.jobs.extend(jobs);
        drop(state);
        self.queue.filled.notify_all();
        Ok(())
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

impl Call {
    /// Of so many texts in so many batches.
    pub(super) fn new(texts: usize, batches: usize, by: Option<Instant>) -> Arc<Self> {
        let progress = Progress { vectors: vec![None; texts], left: batches, failed: None };
        Arc::new(Self { by, progress: Mutex::new(progress), done: Condvar::new() })
    }

    /// Has the batches computed, and waits for it.
    pub(super) fn answer(
        self: Arc<Self>,
        workers: &Workers,
        batches: Vec<Batch>,
        full: Full,
    ) -> Result<Vec<Vector>, EncodeError> {
        let jobs = batches.into_iter().map(|batch| Job { batch, call: Arc::clone(&self) });
        workers.take(jobs, self.by, full)?;
        let mut progress = self.progress.lock();
        while progress.left > 0 && progress.failed.is_none() {
            if let Err(error) = wait(&self.done, &mut progress, self.by) {
                progress.failed = Some(error); // what has not begun is left alone
            }
        }
        match progress.failed.take() {
            Some(error) => {
                progress.failed = Some(error.clone());
                Err(error)
            }
            None => Ok(progress.vectors.drain(..).map(|vector| vector.expect("each text is in one batch")).collect()),
        }
    }

    fn wanted(&self) -> bool {
        self.by.is_none_or(|by| Instant::now() < by) && self.progress.lock().failed.is_none()
    }

    fn settle(&self, places: &[usize], outcome: Result<Vec<Vector>, EncodeError>) {
        let mut progress = self.progress.lock();
        match outcome {
            Ok(vectors) if vectors.len() == places.len() && !progress.vectors.is_empty() => {
                places.iter().zip(vectors).for_each(|(&place, vector)| progress.vectors[place] = Some(vector));
            }
            Ok(_) => progress.failed = Some(failed("the model gave fewer results than there are texts")),
            Err(error) => progress.failed = Some(error),
        }
        progress.left -= 1;
        if progress.left == 0 || progress.failed.is_some() {
            self.done.notify_all();
        }
    }
}

fn work(queue: &Queue, mut graph: Graph) {
    loop {
        let mut state = queue.state.lock();
        let Job { batch, call } = loop {
            match state.jobs.pop_front() {
                Some(job) => break job,
                None if state.closed => return,
                None => queue.filled.wait(&mut state),
            }
        };
        drop(state);
        queue.emptied.notify_all();
        let outcome = if call.wanted() { compute(&mut graph, &batch) } else { Err(EncodeError::OutOfTime) };
        call.settle(&batch.places, outcome);
    }
}

fn compute(graph: &mut Graph, batch: &Batch) -> Result<Vec<Vector>, EncodeError> {
    match catch_unwind(AssertUnwindSafe(|| graph.run(batch))) {
        Ok(outcome) => outcome.map_err(|error| failed(&error.to_string())),
        Err(_) => Err(failed("it panicked")),
    }
}

fn failed(cause: &str) -> EncodeError {
    EncodeError::Failed { cause: cause.to_owned() }
}

/// Waits for news; refuses once the deadline has passed.
fn wait<T>(news: &Condvar, guard: &mut parking_lot::MutexGuard<'_, T>, by: Option<Instant>) -> Result<(), EncodeError> {
    match by {
        None => news.wait(guard),
        Some(by) if news.wait_until(guard, by).timed_out() && Instant::now() >= by => {
            return Err(EncodeError::OutOfTime);
        }
        Some(_) => {}
    }
    Ok(())
}
