use super::*;

/// Vectors which lie near a space of fewer dimensions, as those of items do.
fn vectors(count: usize, width: usize, dimensions: usize) -> Vectors {
    let mut random = fastrand::Rng::with_seed(9);
    let mut normal = move || (0..6).map(|_| random.f32() - 0.5).sum::<f32>();
    let axes: Vec<Vec<f32>> = (0..dimensions).map(|_| (0..width).map(|_| normal()).collect()).collect();
    let mut vectors = Vectors::new(width);
    for _ in 0..count {
        let mut row = vec![0.0; width];
        for axis in &axes {
            let place = normal();
            row.iter_mut().zip(axis).for_each(|(number, axis)| *number += place * axis);
        }
        vectors.push(&row);
    }
    vectors
}

fn approximate(count: usize, recall: f32) -> Neighbours {
    Neighbours::build(vectors(count, 20, 6), &Build { exact: 100, recall, ..Build::default() })
}

#[test]
fn similarities_are_cosines_and_the_nearest_come_first() {
    let mut vectors = Vectors::new(2);
    [[3.0, 4.0], [0.0, 2.0], [-5.0, 0.0], [0.0, 0.0], [0.0, 7.0]].iter().for_each(|row| vectors.push(row));
    let near = Neighbours::build(vectors, &Build::default());
    assert_eq!(near.search(&[0.0, 0.5], 9, |_| false), [(1, 1.0), (4, 1.0), (0, 0.8), (2, 0.0), (3, 0.0)]);
    assert_eq!(near.search(&[0.0, 0.5], 2, |number| number == 1), [(4, 1.0), (0, 0.8)]);
    assert_eq!((near.recall(), near.approximate()), (1.0, None));
}

#[test]
fn an_approximate_search_finds_as_many_as_was_asked_for() {
    let near = approximate(5000, 0.95);
    let index = near.approximate().expect("there are many vectors");
    assert!(index.probes() < index.centroids().len() / 2, "{} lists", index.probes());
    let (mut found, mut all) = (0, 0);
    for query in (0..5000).step_by(50) {
        let exact = near.exact(near.vectors().row(query), 10, |_| false);
        let close = near.search(near.vectors().row(query), 10, |_| false);
        assert_eq!(close[0].0, query);
        // what both found has the same similarity to the last bit
        found += exact.iter().filter(|one| close.contains(one)).count();
        all += exact.len();
    }
    let recall = found as f32 / all as f32;
    assert!(recall > 0.93 && (recall - near.recall()).abs() < 0.04, "{recall}, at build {}", near.recall());
}

#[test]
fn a_search_for_more_than_its_lists_have_looks_through_others() {
    let near = approximate(500, 0.5);
    let query = near.vectors().row(3);
    let mut all = near.search(query, 600, |_| false);
    assert_eq!(all, near.exact(query, 600, |_| false));
    all.retain(|(number, _)| number % 100 == 7);
    assert_eq!(near.search(query, 5, |number| number % 100 != 7), all);
    assert_eq!(near.search(query, 0, |_| false), []);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let of = |threads| {
        let settings = Build { exact: 100, threads: NonZero::new(threads), ..Build::default() };
        Neighbours::build(vectors(2000, 20, 6), &settings)
    };
    assert!(of(1) == of(3));
}

#[test]
fn no_vectors_have_no_neighbours() {
    let near = Neighbours::build(Vectors::new(3), &Build { exact: 0, ..Build::default() });
    assert_eq!(near.search(&[1.0, 0.0, 0.0], 4, |_| false), []);
    let broken = Neighbours::build(vectors(200, 3, 2), &Build { exact: 0, ..Build::default() });
    assert_eq!(broken.search(&[f32::NAN, 0.0, f32::INFINITY], 4, |_| false).len(), 4);
}
