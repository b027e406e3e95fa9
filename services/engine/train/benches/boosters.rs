//! How long our evaluator takes beside the libraries' own, and how long training takes.
//!
//! `cargo bench -p rankwright-train`; `./run bench explain` for explanations alone. Scoring and explaining: 100 rows of 50
//! columns, 100 trees of depth 8, one thread. Training: as
//! many lists as RankLens has (8,770 of 24 items, 26 columns), 160 rounds, all cores.
#![allow(clippy::unwrap_used)]

use divan::{Bencher, black_box};
use rankwright_config::model::{Backend, Booster};
use rankwright_model::Ensemble;
use rankwright_train::booster::{self, Fitted, Task, lightgbm, xgboost};
use rankwright_train::dataset::Dataset;
use rankwright_train::lists::Lists;
use rankwright_train::rows::{Room, Rows};
use std::sync::LazyLock;

const BATCH: usize = 100;

fn main() {
    rankwright_train::restart_with_patient_threads();
    divan::main();
}

/// Random lists; relevance follows from a few columns.
struct Random {
    width: usize,
    rows: Vec<f32>,
    labels: Vec<f32>,
    lengths: Vec<u32>,
}

impl Random {
    fn new(lists: usize, length: usize, width: usize) -> Self {
        let mut state = 88_172_645_463_325_252u64;
        let mut draw = move || {
            state ^= state << 13; // xorshift (Marsaglia 2003)
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 24) as f32
        };
        let (mut rows, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..lists {
            let start = rows.len();
            rows.extend((0..length * width).map(|_| draw()));
            let worth = |row: &[f32]| row[0] + row[1] * row[2] + (row[3] * 9.0).sin() * 0.4;
            let best = rows[start..].chunks_exact(width).map(worth).fold(f32::MIN, f32::max);
            labels.extend(rows[start..].chunks_exact(width).map(|row| f32::from(worth(row) > best - 0.3 * draw())));
            for value in &mut rows[start..] {
                *value = if draw() < 0.05 { f32::NAN } else { *value };
            }
        }
        Self { width, rows, labels, lengths: vec![length as u32; lists] }
    }

    fn dataset(self) -> Dataset {
        let lists = Lists { labels: &self.labels, lengths: &self.lengths };
        Dataset::from_lists(Rows::in_memory(self.width, self.rows), lists, vec![])
    }
}

fn backend(booster: Booster, iterations: usize, num_leaves: usize) -> Backend {
    Backend {
        booster,
        iterations,
        learning_rate: 0.1,
        ndcg_cutoff: 10,
        max_depth: 8,
        seed: Some(1),
        sampling: 0.8,
        debias: false,
        num_leaves,
        over_memory: false,
    }
}

/// Tests on the last lists, from `tested` on.
fn fit(data: &Dataset, tested: usize, backend: &Backend) -> Fitted {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (train, test) = (data.split_at(data.len() * 4 / 5).0, data.split_at(tested).1);
    booster::fit(
        &Task { backend, seed: 1, threads, categorical: &[], room: &Room::default(), train, test },
        &mut |_| (),
    )
    .unwrap()
}

const WIDTH: usize = 50;

static SCORED: LazyLock<Dataset> = LazyLock::new(|| Random::new(2000, 20, WIDTH).dataset());
static ROWS: LazyLock<Vec<f32>> = LazyLock::new(|| SCORED.examples().values().unwrap());
static XGBOOST: LazyLock<Fitted> = LazyLock::new(|| whole(&backend(Booster::XgBoost, 100, 0)));
static LIGHTGBM: LazyLock<Fitted> = LazyLock::new(|| whole(&backend(Booster::LightGbm, 100, 256)));

/// A model of all its rounds: tested on what it has learned, it gets better to the end.
fn whole(backend: &Backend) -> Fitted {
    let model = fit(&SCORED, 0, &Backend { learning_rate: 0.02, ..backend.clone() });
    assert!(model.kept > 90, "a model of {} trees", model.kept);
    model
}

fn batch() -> &'static [f32] {
    &ROWS[..BATCH * WIDTH]
}

#[divan::bench(sample_count = 200)]
fn score_xgboost_library(bencher: Bencher) {
    let model = xgboost::Reference::load(&XGBOOST.model).unwrap();
    let model = divan::black_box(std::sync::Mutex::new(model));
    bencher.bench(|| model.lock().unwrap().predict(black_box(batch()), WIDTH).unwrap());
}

#[divan::bench(sample_count = 200)]
fn score_xgboost_ours(bencher: Bencher) {
    score_ours(bencher, &Ensemble::xgboost(&XGBOOST.model).unwrap());
}

#[divan::bench(sample_count = 200)]
fn score_lightgbm_library(bencher: Bencher) {
    let model = divan::black_box(std::sync::Mutex::new(lightgbm::Reference::load(&LIGHTGBM.model).unwrap()));
    bencher.bench(|| model.lock().unwrap().predict(black_box(batch()), WIDTH).unwrap());
}

#[divan::bench(sample_count = 200)]
fn score_lightgbm_ours(bencher: Bencher) {
    score_ours(bencher, &Ensemble::lightgbm(&LIGHTGBM.model).unwrap());
}

fn score_ours(bencher: Bencher, ensemble: &Ensemble) {
    let mut scores = vec![0.0; BATCH];
    bencher.bench_local(|| {
        ensemble.score(black_box(batch()), WIDTH, &mut scores);
        black_box(scores[0])
    });
}

/// What each column brings to 100 scores, by the libraries' own `pred_contribs` and by ours; one thread.
#[divan::bench(sample_count = 20)]
fn explain_xgboost_library(bencher: Bencher) {
    let model = xgboost::Reference::load(&XGBOOST.model).unwrap();
    let rows = xgboost::Prepared::new(batch(), WIDTH).unwrap();
    bencher.bench_local(|| model.contributions(black_box(&rows)).unwrap());
}

#[divan::bench(sample_count = 200)]
fn explain_xgboost_ours(bencher: Bencher) {
    explain_ours(bencher, &Ensemble::xgboost(&XGBOOST.model).unwrap());
}

#[divan::bench(sample_count = 20)]
fn explain_lightgbm_library(bencher: Bencher) {
    let model = lightgbm::Reference::load(&LIGHTGBM.model).unwrap();
    bencher.bench_local(|| model.contributions(black_box(batch()), WIDTH).unwrap());
}

#[divan::bench(sample_count = 200)]
fn explain_lightgbm_ours(bencher: Bencher) {
    explain_ours(bencher, &Ensemble::lightgbm(&LIGHTGBM.model).unwrap());
}

fn explain_ours(bencher: Bencher, ensemble: &Ensemble) {
    bencher.bench_local(|| ensemble.contributions(black_box(batch()), WIDTH).unwrap());
}

static LEARNED: LazyLock<Dataset> = LazyLock::new(|| Random::new(8770, 24, 26).dataset());

#[divan::bench(sample_count = 3, sample_size = 1)]
fn train_lightgbm_as_many_rows_as_ranklens(bencher: Bencher) {
    let data = &*LEARNED;
    bencher.bench(|| fit(data, 7016, &backend(Booster::LightGbm, 160, 16)).kept);
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn train_xgboost_as_many_rows_as_ranklens(bencher: Bencher) {
    let data = &*LEARNED;
    bencher.bench(|| fit(data, 7016, &backend(Booster::XgBoost, 160, 0)).kept);
}
