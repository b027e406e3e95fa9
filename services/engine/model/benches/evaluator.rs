//! How long the evaluator takes for one request: 100 rows of 50 features, on one thread.
//!
//! Trees are random and seeded. Full ones of depth 8 in the formats of both libraries are the worst case of that depth;
//! trees of 16 leaves grown leaf by leaf are what LightGBM's defaults give.

#[path = "evaluator/trees.rs"]
mod trees;

use divan::{Bencher, black_box};
use rankwright_model::Ensemble;
use trees::{CATEGORIES, FEATURES, Random, Tree, lightgbm, lightgbm_with, xgboost};

const ROWS: usize = 100;
const TREES: usize = 100;

fn main() {
    divan::main();
}

#[divan::bench]
fn xgboost_full_trees_of_depth_8(bencher: Bencher) {
    let mut random = Random(1);
    let trees = (0..TREES).map(|_| Tree::full(8, &mut random)).collect::<Vec<_>>();
    score(bencher, &Ensemble::xgboost(xgboost(&trees).as_bytes()).expect("the model is valid"));
}

#[divan::bench]
fn lightgbm_full_trees_of_depth_8(bencher: Bencher) {
    let mut random = Random(1);
    let trees = (0..TREES).map(|_| Tree::full(8, &mut random)).collect::<Vec<_>>();
    score(bencher, &Ensemble::lightgbm(lightgbm(&trees).as_bytes()).expect("the model is valid"));
}

#[divan::bench]
fn lightgbm_trees_of_16_leaves(bencher: Bencher) {
    let mut random = Random(1);
    let trees = (0..TREES).map(|_| Tree::by_leaves(16, 8, &mut random)).collect::<Vec<_>>();
    score(bencher, &Ensemble::lightgbm(lightgbm(&trees).as_bytes()).expect("the model is valid"));
}

/// Every tenth column holds categories.
#[divan::bench]
fn lightgbm_trees_of_16_leaves_with_categories(bencher: Bencher) {
    let mut random = Random(1);
    let (trees, categorical) =
        ((0..TREES).map(|_| Tree::by_leaves(16, 8, &mut random)).collect::<Vec<_>>(), FEATURES / 10);
    let ensemble = Ensemble::lightgbm(lightgbm_with(&trees, categorical).as_bytes()).expect("the model is valid");
    score_with(bencher, &ensemble, categorical);
}

#[divan::bench]
fn lightgbm_trees_of_255_leaves_too_deep_to_be_perfect(bencher: Bencher) {
    let mut random = Random(1);
    let trees = (0..TREES).map(|_| Tree::by_leaves(255, usize::MAX, &mut random)).collect::<Vec<_>>();
    score(bencher, &Ensemble::lightgbm(lightgbm(&trees).as_bytes()).expect("the model is valid"));
}

#[divan::bench]
fn reading_lightgbm_text(bencher: Bencher) {
    let mut random = Random(1);
    let trees = (0..TREES).map(|_| Tree::full(8, &mut random)).collect::<Vec<_>>();
    let text = lightgbm(&trees);
    bencher.bench(|| Ensemble::lightgbm(black_box(text.as_bytes())));
}

/// Values from 0 to 1, one in twenty missing.
fn score(bencher: Bencher, ensemble: &Ensemble) {
    score_with(bencher, ensemble, 0);
}

/// The same, with categories in the first `categorical` columns.
fn score_with(bencher: Bencher, ensemble: &Ensemble, categorical: usize) {
    let mut random = Random(7);
    let value = |place: usize| match random.below(20) {
        0 => f32::NAN,
        _ if place % FEATURES < categorical => random.below(CATEGORIES) as f32,
        _ => random.unit() as f32,
    };
    let rows: Vec<f32> = (0..ROWS * FEATURES).map(value).collect();
    let mut scores = vec![0.0; ROWS];
    bencher.bench_local(|| ensemble.score(black_box(&rows), FEATURES, black_box(&mut scores)));
}
