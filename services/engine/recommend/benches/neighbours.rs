//! The ten nearest of 100,000 vectors of 100 numbers that lie near a space of 24 dimensions: by all vectors, by an index.
#![allow(missing_docs)]

use rankwright_recommend::{Build, Neighbours, Vectors};
use std::time::Instant;

const COUNT: usize = 100_000;
const WIDTH: usize = 100;
const DIMENSIONS: usize = 24;
const QUERIES: usize = 1000;

/// A number of a normal distribution.
fn normal(random: &mut fastrand::Rng) -> f32 {
    let length = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    (length * (std::f64::consts::TAU * random.f64()).cos()) as f32
}

fn vectors(random: &mut fastrand::Rng) -> Vectors {
    let axes: Vec<Vec<f32>> = (0..DIMENSIONS).map(|_| (0..WIDTH).map(|_| normal(random)).collect()).collect();
    let mut vectors = Vectors::new(WIDTH);
    for _ in 0..COUNT {
        let mut row = vec![0.0; WIDTH];
        for axis in &axes {
            let place = normal(random);
            row.iter_mut().zip(axis).for_each(|(number, axis)| *number += place * axis);
        }
        vectors.push(&row);
    }
    vectors
}

/// Milliseconds of searches by one thread: median and 99th percentile.
fn measure(queries: &[usize], search: impl Fn(usize) -> usize) -> (f64, f64) {
    let mut took: Vec<f64> = queries
        .iter()
        .map(|&query| {
            let start = Instant::now();
            assert_eq!(search(query), 10);
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    took.sort_by(f64::total_cmp);
    (took[took.len() / 2], took[took.len() * 99 / 100])
}

fn main() {
    let mut random = fastrand::Rng::with_seed(1);
    let vectors = vectors(&mut random);
    let queries: Vec<usize> = (0..QUERIES).map(|_| random.usize(..COUNT)).collect();
    let start = Instant::now();
    let near = Neighbours::build(vectors, &Build::default());
    let (probes, lists) = near.approximate().map_or((0, 0), |index| (index.probes(), index.centroids().len()));
    println!("built in {:.2} s: {probes} of {lists} lists, recall {:.3}", start.elapsed().as_secs_f64(), near.recall());
    let vector = |query| near.vectors().row(query);
    for _ in 0..3 {
        let (p50, p99) = measure(&queries[..200], |query| near.exact(vector(query), 10, |_| false).len());
        println!("exact:       p50 {p50:.3} ms, p99 {p99:.3} ms");
        let (p50, p99) = measure(&queries, |query| near.search(vector(query), 10, |_| false).len());
        println!("approximate: p50 {p50:.3} ms, p99 {p99:.3} ms");
    }
}
