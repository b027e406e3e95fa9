use super::*;
use crate::matrix::MatrixBuilder;
use crate::{Approximate, Build, Neighbours};

const ALPHA: f32 = 2.0;
const REGULARIZATION: f32 = 0.1;

fn settings(factors: usize, iterations: usize) -> Settings {
    let [user_regularization, item_regularization] = [REGULARIZATION; 2];
    Settings { factors, iterations, user_regularization, item_regularization, alpha: ALPHA, seed: 3, threads: None }
}

fn matrix(users: usize, items: usize, count: usize) -> Matrix {
    let mut random = fastrand::Rng::with_seed(5);
    let mut builder = MatrixBuilder::default();
    for _ in 0..count {
        let (user, item) = (random.usize(..users), random.usize(..items));
        builder.add(&format!("u{user:05}"), &format!("i{item:05}")).expect("there is room");
    }
    builder.build()
}

fn fitted(matrix: &Matrix, settings: &Settings) -> Factors {
    fit(matrix, settings, |_| ControlFlow::Continue(())).expect("is not cancelled")
}

#[test]
fn one_visitor_and_one_item_meet_where_the_equation_says() {
    let mut builder = MatrixBuilder::default();
    builder.add("u", "i").expect("there is room");
    let factors = fitted(&builder.build(), &settings(1, 2000));
    // with c = 1 + alpha, x = c y / (c y y + r) and likewise y: both are sqrt(1 - r / c)
    let expected = (1.0 - REGULARIZATION / (1.0 + ALPHA)).sqrt();
    for found in [factors.users.row(0)[0], factors.items.row(0)[0]] {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
}

/// The squared remainder of a row's system, by the definition.
fn remainder(counts: (&[u32], &[f32]), x: &[f32], other: &Vectors) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    let mut count = vec![0.0; other.len()];
    counts.0.iter().zip(counts.1).for_each(|(&column, &number)| count[column as usize] = number);
    let mut left: Vec<f64> = x.iter().map(|x| -f64::from(REGULARIZATION * x)).collect();
    for (y, count) in other.iter().zip(count) {
        let confidence = 1.0 + f64::from(ALPHA * count);
        let preference = f64::from(u8::from(count > 0.0));
        let factor = confidence * (preference - dot(x, y));
        left.iter_mut().zip(y).for_each(|(left, y)| *left += factor * f64::from(*y));
    }
    left.iter().map(|left| left * left).sum()
}

#[test]
fn rows_solve_their_systems() {
    let matrix = matrix(50, 30, 400);
    let mut factors = fitted(&matrix, &settings(20, 30));
    let settings = settings(20, 1);
    for _ in 0..20 {
        solve_side(&matrix.by_user, &mut factors.users, &factors.items, REGULARIZATION, &settings);
    }
    for (user, row) in factors.users.iter().enumerate() {
        let left = remainder(matrix.by_user.row(user), row, &factors.items);
        assert!(left < 1e-6, "{user}: {left}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let matrix = matrix(9000, 70, 30_000);
    let of = |threads| fitted(&matrix, &Settings { threads: NonZero::new(threads), ..settings(17, 3) });
    let one = of(1);
    assert!([2, 3, 8].iter().all(|&threads| of(threads) == one));
    assert!(fitted(&matrix, &Settings { seed: 4, ..settings(17, 3) }) != one);
}

#[test]
fn progress_is_reported_and_may_end_it() {
    let matrix = matrix(5, 5, 20);
    let mut seen = Vec::new();
    let ended = fit(&matrix, &settings(4, 10), |progress| {
        seen.push(progress.iteration);
        if progress.iteration == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((ended, seen), (Err(Cancelled), vec![1, 2, 3]));
}

#[test]
fn a_matrix_of_nothing_has_no_vectors() {
    let factors = fitted(&MatrixBuilder::default().build(), &settings(4, 2));
    assert!(factors.users.is_empty() && factors.items.is_empty());
}

#[test]
fn an_index_of_items_that_fall_into_groups_finds_the_nearest() {
    let (groups, each, of_group) = (100, 40, 50);
    let mut random = fastrand::Rng::with_seed(8);
    let mut builder = MatrixBuilder::default();
    for user in 0..groups * each {
        for _ in 0..4 {
            let item = user % groups * of_group + random.usize(..of_group);
            builder.add(&format!("u{user:05}"), &format!("i{item:05}")).expect("there is room");
        }
    }
    let settings = Settings { factors: 16, iterations: 10, seed: 3, ..Settings::default() };
    let near = Neighbours::build(fitted(&builder.build(), &settings).items, &Build { exact: 1000, ..Build::default() });
    let recall = near.approximate().map(Approximate::recall);
    assert!(recall >= Some(0.95), "{recall:?}");
}
