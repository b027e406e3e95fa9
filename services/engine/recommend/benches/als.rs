//! One iteration of ALS over ten million made-up interactions of 500,000 visitors with 100,000 items, 100 factors.
//!
//! `peers.py` generates the same matrix and measures PyPI `implicit`: run both in turns, as ratios of one machine count.
#![allow(clippy::expect_used, missing_docs)]

use rankwright_recommend::als::{self, Settings};
use rankwright_recommend::{Matrix, MatrixBuilder};
use std::ops::ControlFlow;
use std::time::Instant;

const USERS: u64 = 500_000;
const ITEMS: u64 = 100_000;
const PAIRS: u64 = 10_000_000;
const ITERATIONS: usize = 4;

/// The output of SplitMix64 after `number` steps, as a fraction.
fn fraction(number: u64) -> f64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Visitors alike, items the more popular the lower their number.
fn matrix() -> Matrix {
    let mut builder = MatrixBuilder::default();
    for pair in 0..PAIRS {
        let skewed = fraction(2 * pair + 1);
        let user = (fraction(2 * pair) * USERS as f64) as u64;
        let item = (skewed * skewed * skewed * ITEMS as f64) as u64;
        builder.add(&format!("{user:06}"), &format!("{item:06}")).expect("there is room");
    }
    builder.build()
}

/// Seconds that processors have worked for this process, where the system tells; others' work does not lengthen them.
fn worked() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn main() {
    let start = Instant::now();
    let matrix = matrix();
    let (users, items, counts) = (matrix.users.len(), matrix.items.len(), matrix.by_user.len());
    println!("matrix of {counts} counts, {users} x {items}, built in {:.2} s", start.elapsed().as_secs_f64());
    let settings = Settings { iterations: ITERATIONS, ..Settings::default() };
    let mut before = worked();
    als::fit(&matrix, &settings, |progress| {
        let now = worked();
        println!("iteration {}: {:.2} s, {:.2} s of processors", progress.iteration, progress.seconds, now - before);
        before = now;
        ControlFlow::Continue(())
    })
    .expect("is not cancelled");
}
