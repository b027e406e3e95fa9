//! How much memory a training takes, as far as that can be told before it begins, and how much there is.
//!
//! Most of what trees take is one of two: what is known of each row, or the histograms of the nodes of a tree, which both
//! libraries keep for as many nodes as a tree may have. The first grows with the data, the second with `numLeaves` and `maxDepth`,
//! however little data there is.

mod machine;

use crate::booster::Task;
use crate::examples::Examples;
use rankwright_config::model::{Backend, Booster};
use std::collections::HashSet;
use std::io;

pub(crate) use machine::available;

/// Bytes of a bin in a histogram: a gradient and a hessian.
const HISTOGRAM_BIN: u64 = 16;
/// Bytes that LightGBM keeps for each column of each leaf beside its bins (`FeatureHistogram`), and for each leaf besides.
const COLUMN_OF_LEAF: u64 = 96;
const LEAF: u64 = 1024;
/// The most nodes whose histograms XGBoost keeps (`HistMakerTrainParam::CpuDefaultNodes`).
const MOST_NODES: u64 = 1 << 16;
/// Bytes of a row beside its values: label, score, gradient, hessian, its places in lists and leaves. Measured with 24
/// million rows (docs/capacity.md), what the libraries have besides for a moment included.
const ROW: u64 = 44;
/// Bins of a column of amounts, the one of missing values included.
const BINS: usize = 257;
/// Rows that are looked at to count the bins of columns.
const SAMPLE: usize = 20_000;

/// Bytes of an interaction: collected, and in the rows and the columns of the matrix.
const INTERACTION: u64 = 24 + 2 * 8;
/// Bytes of the id of a visitor or item, in the lists and tables that hold it.
const ID: u64 = 100;
/// A vector has room for a multiple of this many numbers, four bytes each.
const LANES: u64 = 16;
/// Vectors that an index copies to find its lists, for each of them; there are as many lists as vectors in one.
const SAMPLED: u64 = 64;
/// Bytes that an index keeps of a vector beside one for each number.
const INDEXED: u64 = 8;

/// What a training takes, and what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Excess {
    /// Bytes that it takes, about.
    pub(crate) needed: u64,
    /// Bytes of the machine, or of the container.
    pub(crate) available: u64,
}

/// What to do about a training that takes so much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It fits.
    Fits,
    /// It takes more than half of the memory.
    Tight(Excess),
    /// It takes more than all of it.
    Exceeds(Excess),
}

impl Verdict {
    /// Of a training that takes this many bytes, as far as it is known how much there is.
    pub(crate) fn of(needed: u64, available: Option<u64>) -> Self {
        let Some(available) = available else { return Self::Fits };
        let excess = Excess { needed, available };
        match needed {
            needed if needed > available => Self::Exceeds(excess),
            needed if needed > available / 2 => Self::Tight(excess),
            _ => Self::Fits,
        }
    }
}

/// Whether trees fit into memory.
pub(crate) fn judge(task: &Task<'_>) -> io::Result<Verdict> {
    let most = BINS as u64 * task.train.width() as u64; // as many bins as columns may have
    match Verdict::of(bytes(task, most), task.room.memory) {
        Verdict::Fits => Ok(Verdict::Fits),
        _ => Ok(Verdict::of(bytes(task, bins(task.train)?), task.room.memory)),
    }
}

/// Estimates the bytes that vectors of so many `factors` take, with the interactions that they are learned from, the matrix of
/// these, and the index of items. Vectors of visitors have gone when those of items are written as a version.
pub(crate) fn of_factors(interactions: u64, [visitors, items]: [u64; 2], factors: u64) -> u64 {
    let numbers = factors.next_multiple_of(LANES);
    let sampled = items.min(SAMPLED * items.isqrt());
    let vectors = items + visitors.max(items) + sampled;
    INTERACTION * interactions + ID * (visitors + items) + 4 * numbers * vectors + (numbers + INDEXED) * items
}

/// Estimates the bytes that a training takes whose columns have `bins` bins in total.
fn bytes(task: &Task<'_>, bins: u64) -> u64 {
    let (width, rows) = (task.train.width() as u64, (task.train.height() + task.test.height()) as u64);
    let values = rows * width;
    let kept = 4 * values.min(task.room.in_memory as u64);
    // LightGBM has the bins of both splits, a byte each; XGBoost those of one, up to 5, and from a size on in a file
    let binned = match task.backend.booster {
        Booster::LightGbm => values,
        Booster::XgBoost if values > task.room.binned as u64 => 0,
        Booster::XgBoost => 5 * values,
    };
    kept + binned + ROW * rows + histograms(task.backend, task.train.height() as u64, width, bins)
}

/// Bytes of the histograms of a tree's nodes.
fn histograms(backend: &Backend, rows: u64, width: u64, bins: u64) -> u64 {
    match backend.booster {
        // taken at once, whatever the tree will need
        Booster::LightGbm => backend.num_leaves as u64 * (bins * HISTOGRAM_BIN + width * COLUMN_OF_LEAF + LEAF),
        Booster::XgBoost => {
            let depth = u32::try_from(backend.max_depth).ok().filter(|depth| *depth > 0);
            let of_depth = depth.and_then(|depth| 1u64.checked_shl(depth));
            let nodes = of_depth.unwrap_or(u64::MAX).min(2 * rows).min(MOST_NODES);
            nodes * bins * HISTOGRAM_BIN
        }
    }
}

/// How many bins the columns have together: as many as there are values in a sample of rows, and at most [`BINS`] each.
fn bins(examples: Examples<'_>) -> io::Result<u64> {
    let step = examples.height().div_ceil(SAMPLE).max(1);
    let rows: Vec<i32> = (0..examples.height()).step_by(step).map(|row| row as i32).collect();
    let mut found: Vec<HashSet<u32>> = vec![HashSet::new(); examples.width()];
    examples.pick(&rows, |row| {
        for (values, value) in found.iter_mut().zip(row) {
            if values.len() < BINS {
                values.insert(value.to_bits());
            }
        }
    })?;
    Ok(found.iter().map(|values| values.len() as u64 + 1).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Room;
    use crate::testing::{backend, random_lists};

    fn judged(backend: &Backend, memory: Option<u64>) -> Verdict {
        let data = random_lists(41, 60);
        let (train, test) = data.split_at(50);
        let room = Room { memory, ..Room::default() };
        let task = Task { backend, seed: 1, threads: 1, categorical: &[], room: &room, train, test };
        judge(&task).expect("rows in memory")
    }

    #[test]
    fn what_leaves_and_depth_take_is_known_before_it_is_taken() {
        let leaves = Backend { num_leaves: 131_072, ..backend(Booster::LightGbm) };
        let Verdict::Exceeds(Excess { needed, available }) = judged(&leaves, Some(1 << 30)) else {
            unreachable!("it does not fit")
        };
        assert_eq!(available, 1 << 30);
        // three columns of 257 bins, the others of 4, 6 and 40 values: about 830 bins of 16 bytes
        assert!((1_800_000_000..2_000_000_000).contains(&needed), "{needed}");
        assert!(matches!(judged(&leaves, Some(3 << 30)), Verdict::Tight(_)));
        assert_eq!(judged(&leaves, Some(4 << 30)), Verdict::Fits);
        assert_eq!(judged(&leaves, None), Verdict::Fits, "it is not known how much there is");
        let deep = Backend { max_depth: 30, ..backend(Booster::XgBoost) };
        assert!(matches!(judged(&deep, Some(4 << 20)), Verdict::Exceeds(_)), "a node for each row");
        assert_eq!(judged(&deep, Some(1 << 30)), Verdict::Fits, "no more nodes than rows");
    }

    #[test]
    fn a_training_with_the_defaults_fits_anywhere() {
        for booster in [Booster::LightGbm, Booster::XgBoost] {
            assert_eq!(
                judged(&Backend { max_depth: 8, num_leaves: 16, ..backend(booster) }, Some(256 << 20)),
                Verdict::Fits
            );
        }
    }

    #[test]
    fn vectors_are_counted_with_what_they_are_learned_from_and_their_index() {
        let vector = 112 * 4; // of 100 factors
        let visitors = of_factors(0, [1_000_000, 0], 100);
        assert_eq!(visitors, 1_000_000 * (vector + 100));
        assert_eq!(of_factors(5_000_000, [1_000_000, 0], 100) - visitors, 5_000_000 * 40);
        // twice while they are written, those of 1000 lists of 64, and a byte for each number
        let items = of_factors(0, [0, 1_000_000], 100);
        assert_eq!(items, 2_064_000 * vector + 1_000_000 * (100 + 112 + 8));
        assert_eq!(
            Verdict::of(items, Some(items - 1)),
            Verdict::Exceeds(Excess { needed: items, available: items - 1 })
        );
        assert!(matches!(Verdict::of(items, Some(items)), Verdict::Tight(_)));
        assert_eq!(Verdict::of(items, Some(2 * items)), Verdict::Fits);
        assert_eq!(Verdict::of(items, None), Verdict::Fits, "it is not known how much there is");
    }

    #[test]
    fn trees_without_a_bound_have_no_more_nodes_than_the_library_keeps() {
        let deep = |max_depth| Backend { max_depth, ..backend(Booster::XgBoost) };
        let most = MOST_NODES * 8192 * HISTOGRAM_BIN;
        assert_eq!(most, 8_589_934_592);
        assert_eq!([0, 16, 30, 64].map(|depth| histograms(&deep(depth), 1 << 20, 32, 8192)), [most; 4]);
        assert_eq!(histograms(&deep(8), 1 << 20, 32, 8192), most >> 8);
        assert_eq!(histograms(&deep(30), 100, 32, 8192), 200 * 8192 * HISTOGRAM_BIN);
    }
}
