//! Comparisons of models on stored click-throughs: one at a time, in the background. What the last one came to is kept.

use crate::app::App;
use crate::plugin::{Compared, Evaluated, Evaluation};
use parking_lot::Mutex;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// The one that runs, and the last one that ended.
#[derive(Default)]
pub(crate) struct Evaluations(Mutex<State>);

#[derive(Default, Clone)]
struct State {
    running: Option<Running>,
    ended: Option<Arc<Ended>>,
}

/// One that runs.
#[derive(Clone)]
pub(crate) struct Running {
    pub(crate) compared: Compared,
    /// In milliseconds since 1970.
    pub(crate) began: u64,
    read: Arc<AtomicU64>,
}

/// One that ended.
pub(crate) struct Ended {
    pub(crate) compared: Compared,
    /// In milliseconds since 1970.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    /// The report, or why there is none.
    pub(crate) outcome: Result<Value, String>,
}

/// Why none begins.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("an evaluation is already running: GET /evaluation reports its progress")]
    Busy,
    #[error("failed to start a thread for the evaluation: {0}")]
    Thread(#[from] std::io::Error),
}

impl Running {
    /// How many rankings it has read.
    pub(crate) fn rankings(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

impl Evaluations {
    /// The one that runs, and the last one that ended.
    pub(crate) fn now(&self) -> (Option<Running>, Option<Arc<Ended>>) {
        let State { running, ended } = self.0.lock().clone();
        (running, ended)
    }

    /// Forgets the last one: it may name a forgotten visitor's lists.
    pub(crate) fn clear(&self) {
        let last = self.0.lock().ended.take();
        drop(last); // without the lock
    }

    fn enter(&self, running: Running) -> Result<(), Refused> {
        let mut state = self.0.lock();
        if state.running.is_some() {
            return Err(Refused::Busy);
        }
        state.running = Some(running);
        Ok(())
    }

    fn leave(&self, ended: Option<Ended>) {
        let mut state = self.0.lock();
        state.running = None;
        let last = ended.map(|ended| state.ended.replace(Arc::new(ended)));
        drop(state);
        drop(last); // without the lock
    }
}

/// Begins one on a thread of its own, unless one runs.
pub(crate) fn begin(app: &App, evaluation: Arc<dyn Evaluation>, compared: Compared) -> Result<(), Refused> {
    let Some(page) = app.page() else { return Ok(()) };
    let running = Running { compared: compared.clone(), began: millis(), read: Arc::default() };
    page.evaluations.enter(running.clone())?;
    let cleared = page.sample.cleared();
    let work = {
        let app = app.clone();
        move || {
            let outcome = run(&*evaluation, &running);
            if let Some(page) = app.page() {
                let outcome = outcome.and_then(|Evaluated { report, lists }| {
                    page.sample.keep_lists(lists, cleared);
                    match page.sample.cleared() == cleared {
                        true => Ok(report),
                        false => Err("a visitor or an item was forgotten meanwhile: evaluate again".to_owned()),
                    }
                });
                let Running { compared, began, .. } = running;
                page.evaluations.leave(Some(Ended { compared, began, ended: millis(), outcome }));
            }
        }
    };
    let started = thread::Builder::new().name("evaluation".to_owned()).spawn(work);
    started.map(drop).map_err(|error| {
        page.evaluations.leave(None);
        Refused::from(error)
    })
}

fn run(evaluation: &dyn Evaluation, running: &Running) -> Result<Evaluated, String> {
    let mut progress = |rankings| running.read.store(rankings, Ordering::Relaxed);
    let outcome = catch_unwind(AssertUnwindSafe(|| evaluation.evaluate(&running.compared, &mut progress)));
    let outcome = outcome.unwrap_or_else(|_| Err("the evaluation panicked: the log says where".to_owned()));
    let (rankings, elapsed_ms) = (running.rankings(), millis().saturating_sub(running.began));
    match &outcome {
        Ok(_) => tracing::info!(rankings, elapsed_ms, "evaluated models"),
        Err(error) => tracing::warn!(%error, "failed to evaluate models"),
    }
    outcome
}

fn millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
