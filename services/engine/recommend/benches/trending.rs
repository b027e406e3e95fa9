//! A million interactions with 100,000 items become a list of what is in demand.
#![allow(missing_docs)]

use rankwright_recommend::{Trending, Weight};
use std::time::Instant;

const INTERACTIONS: usize = 1_000_000;
const DAY: u64 = 24 * 60 * 60 * 1000;

fn main() {
    let mut random = fastrand::Rng::with_seed(1);
    let ids: Vec<String> = (0..100_000).map(|item| format!("item-{item}")).collect();
    let now = 40 * DAY;
    let interactions: Vec<(&str, usize, u64)> = (0..INTERACTIONS)
        .map(|_| {
            let skewed = random.f64().powi(3);
            (ids[(skewed * ids.len() as f64) as usize].as_str(), random.usize(..2), random.u64(..now))
        })
        .collect();
    let weights = [Weight { decay: 0.9, ..Weight::default() }, Weight { weight: 3.0, ..Weight::default() }];
    for _ in 0..5 {
        let start = Instant::now();
        let trending = Trending::fit(interactions.iter().copied(), &weights, now);
        let seconds = start.elapsed().as_secs_f64();
        println!("{INTERACTIONS} interactions with {} items: {seconds:.3} s", trending.seen());
    }
}
