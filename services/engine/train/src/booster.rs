//! Gradient boosting by the two C++ libraries, behind one function.
//!
//! This is the only place of the project that calls them, and it trains alone: served models are evaluated by
//! `rankwright-model`. Both optimise NDCG pair by pair (LambdaMART, Burges 2010), with the gain `2^label - 1` for
//! labels that need not be whole; see [`xgboost`] and [`lightgbm`] for how that is said to each.
//!
//! The same data, options and seed give the same bytes, whatever the number of threads.

mod heap;
pub mod lightgbm;
pub mod xgboost;

use crate::examples::Examples;
use crate::memory::{self, Excess, Verdict};
use crate::rows::{Room, SpillError};
use rankwright_config::model::{Backend, Booster};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// Rounds without a better test metric after which training ends.
pub const PATIENCE: usize = 20;

/// LightGBM keeps its label gains and thread count in globals, and two trainings would share the cores anyway.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What a library could not do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The library said no.
    #[error("{library} failed to {action}: {message}")]
    Library {
        /// Which library.
        library: &'static str,
        /// What it was to do.
        action: &'static str,
        /// Its own words.
        message: String,
    },
    /// It takes more memory than there is.
    #[error(
        "training takes about {} of memory, and this machine or container has {}: lower numLeaves ({leaves}) or maxDepth \
         ({depth}), or select fewer rankings; backend.overMemory: true in the model's configuration trains all the same",
        mebibytes(*needed), mebibytes(*available)
    )]
    OverMemory {
        /// Bytes that it takes, about.
        needed: u64,
        /// Bytes of the machine or container.
        available: u64,
        /// `numLeaves` as configured.
        leaves: usize,
        /// `maxDepth` as configured.
        depth: i64,
    },
    /// There is no room for bins.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// Rows could not be read back.
    #[error("failed to read feature values from their temporary file")]
    Rows(#[from] io::Error),
    /// Counts do not fit the library's 32 bits.
    #[error("{rows} rows of {columns} columns are more than {library} takes: select fewer rankings")]
    TooLarge {
        /// Which library.
        library: &'static str,
        /// Rows of the data.
        rows: usize,
        /// Columns of the data.
        columns: usize,
    },
}

/// What is to be fitted.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The library and its options.
    pub backend: &'a Backend,
    /// Seed of whatever is random, such as the features each tree may use.
    pub seed: u64,
    /// Threads to use, at least 1.
    pub threads: usize,
    /// Columns, in rising order, whose values are categories (0 none, 1 to N) rather than amounts.
    pub categorical: &'a [usize],
    /// Where bins are kept.
    pub room: &'a Room,
    /// What the trees are grown on; not empty.
    pub train: Examples<'a>,
    /// What decides when to stop; not empty, of the same width.
    pub test: Examples<'a>,
}

/// Lists to train on that are enough for the libraries' own limits on what a leaf holds.
///
/// The strictest is LightGBM's: 20 rows. With a click in each list, a leaf of 20 rows holds the clicked items of a fifth
/// of 100 lists. Of fewer lists, the limit forbids the splits that there are to find: of 16 lists, no leaf could hold the
/// clicked items, all of them together.
const ENOUGH: usize = 100;

impl Task<'_> {
    /// Which part of the libraries' own limits on what a leaf holds applies: below [`ENOUGH`] lists as many hundredths as
    /// there are lists. `None` where all of them apply as they are.
    fn strictness(&self) -> Option<f64> {
        let lists = self.train.lists.lengths.len();
        (lists < ENOUGH).then(|| lists as f64 / ENOUGH as f64)
    }

    /// The seed as both libraries take it: a number of 31 bits, itself when it is one.
    fn seed31(&self) -> u32 {
        let limit = u64::from(u32::MAX >> 1);
        let folded =
            if self.seed <= limit { self.seed } else { (self.seed ^ (self.seed >> 31) ^ (self.seed >> 62)) & limit };
        folded as u32
    }

    /// Refuses what takes more memory than there is, unless the configuration allows that.
    fn check_memory(&self) -> Result<(), Error> {
        let (leaves, depth) = (self.backend.num_leaves, self.backend.max_depth as i64);
        match memory::judge(self)? {
            Verdict::Fits => {}
            Verdict::Exceeds(Excess { needed, available }) if !self.backend.over_memory => {
                return Err(Error::OverMemory { needed, available, leaves, depth });
            }
            Verdict::Tight(Excess { needed, available }) | Verdict::Exceeds(Excess { needed, available }) => {
                let (needed, available) = (mebibytes(needed), mebibytes(available));
                tracing::warn!(
                    needed,
                    available,
                    num_leaves = leaves,
                    max_depth = depth,
                    "training takes more than half of the memory of this machine or container"
                );
            }
        }
        Ok(())
    }

    /// Refuses what would overflow a library's counters.
    fn check_size(&self, library: &'static str) -> Result<(), Error> {
        let columns = self.train.width();
        let fits = |examples: Examples<'_>| i32::try_from(examples.height()).is_ok() && i32::try_from(columns).is_ok();
        let rows = self.train.height().max(self.test.height());
        if fits(self.train) && fits(self.test) { Ok(()) } else { Err(Error::TooLarge { library, rows, columns }) }
    }
}

/// One round of boosting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Iteration {
    /// Number of the round, from 0.
    pub id: usize,
    /// How long it took, evaluation included.
    pub millis: u64,
    /// NDCG at the cutoff on the test split; null where no list has a relevant item.
    #[schemars(with = "Option<f64>")]
    pub test_metric: f64,
    /// NDCG at the cutoff on the train split; null where no list has a relevant item.
    #[schemars(with = "Option<f64>")]
    pub train_metric: f64,
}

/// A trained model, in its library's own format.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Which library's format it is: XGBoost's UBJSON or LightGBM's text.
    pub booster: Booster,
    /// The trees up to the best round.
    pub model: Vec<u8>,
    /// Total gain of the splits on each column.
    pub gains: Vec<f64>,
    /// All rounds, those after the best one included.
    pub iterations: Vec<Iteration>,
    /// Number of rounds kept, at least 1.
    pub kept: usize,
}

/// Grows trees until the test metric stops rising, and keeps those up to the best round.
///
/// The libraries' threads belong to the thread that calls them, and live as long as it does. More of them than cores,
/// be they idle, make the OpenMP runtime impatient: a second training, called from another thread, took half as long
/// again. So each training has a thread of its own, and leaves none behind.
///
/// # Errors
/// When it takes more memory than there is, or a library says no.
pub fn fit(task: &Task<'_>, progress: &mut (dyn FnMut(&Iteration) + Send)) -> Result<Fitted, Error> {
    task.check_memory()?;
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let train = || match task.backend.booster {
        Booster::XgBoost => xgboost::fit(task, progress),
        Booster::LightGbm => lightgbm::fit(task, progress),
    };
    heap::trim(); // what reading the click-throughs has freed
    let fitted = thread::scope(|scope| scope.spawn(train).join());
    heap::trim();
    fitted.unwrap_or_else(|panic| resume_unwind(panic))
}

/// The options of a training as its library names them, for labels of these levels (rising, 0 first).
///
/// # Errors
/// As [`fit`].
pub(crate) fn options(task: &Task<'_>, levels: &[f32]) -> Result<Vec<(String, String)>, Error> {
    Ok(match task.backend.booster {
        Booster::XgBoost => {
            xgboost::parameters(task).into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
        }
        Booster::LightGbm => {
            let options = lightgbm::options(task, levels)?;
            let pairs = options.to_str().unwrap_or_default().split(' ').filter_map(|option| option.split_once('='));
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        }
    })
}

/// Bytes as a message tells them.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// A training under way.
trait Rounds {
    /// Grows the next tree; `false` when there is nothing left to learn and none was added.
    fn advance(&mut self) -> Result<bool, Error>;

    /// NDCG at the cutoff on test and train.
    fn evaluate(&mut self) -> Result<(f64, f64), Error>;
}

/// Advances until the limit, the end of patience, or the last thing to learn; the first round always counts.
fn boost(
    rounds: &mut impl Rounds,
    limit: usize,
    progress: &mut dyn FnMut(&Iteration),
) -> Result<Vec<Iteration>, Error> {
    let mut iterations: Vec<Iteration> = Vec::new();
    while iterations.len() < limit && iterations.len() < best(&iterations) + PATIENCE {
        let start = Instant::now();
        if !rounds.advance()? && !iterations.is_empty() {
            break;
        }
        let (test_metric, train_metric) = rounds.evaluate()?;
        let millis = start.elapsed().as_millis() as u64;
        iterations.push(Iteration { id: iterations.len(), millis, test_metric, train_metric });
        progress(&iterations[iterations.len() - 1]);
    }
    Ok(iterations)
}

/// Number of rounds up to the best one, the earliest of equals.
fn best(iterations: &[Iteration]) -> usize {
    let later_is_better =
        |best: usize, next: &Iteration| if next.test_metric > iterations[best].test_metric { next.id } else { best };
    iterations.iter().fold(0, later_is_better) + 1
}

#[cfg(test)]
mod tests;
