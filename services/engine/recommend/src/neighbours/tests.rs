use super::*;

/// Vectors which lie near a space of fewer dimensions, as those of items do.
fn vectors(count: usize, width: usize, dimensions: usize) -> Vectors {
    let mut random = fastrand::Rng::with_seed(9);
    let mut normal = move || (0..6).map(|_| random.f32() - 0.5).sum::<f32>();
    let axes: Vec<Vec<f32>> = (0..dimensions).map(|_| (0..width).map(|_| normal()).collect()).collect();
    let mut vectors = Vectors::new(width);
    (0..count).for_each(|_| vectors.push(&moved(&vec![0.0; width], &axes, &mut normal)));
    vectors
}

/// A row that goes so far along each of some axes.
fn moved(row: &[f32], axes: &[Vec<f32>], far: &mut impl FnMut() -> f32) -> Vec<f32> {
    let mut row = row.to_vec();
    for axis in axes {
        let far = far();
        row.iter_mut().zip(axis).for_each(|(number, axis)| *number += far * axis);
    }
    row
}

fn approximate(count: usize, recall: f32) -> Neighbours {
    Neighbours::build(vectors(count, 20, 6), &Build { exact: 100, recall, least: 0.0, ..Build::default() })
}

/// Variants of some vectors, as those of one product's colours and sizes: they differ along six axes, by up to so much.
fn variants(of: &Vectors, each: usize, noise: f32) -> Vectors {
    let mut random = fastrand::Rng::with_seed(4);
    let axes: Vec<Vec<f32>> = (0..6).map(|_| (0..of.width()).map(|_| 2.0 * random.f32() - 1.0).collect()).collect();
    let mut far = || noise * (2.0 * random.f32() - 1.0);
    let mut all = Vectors::new(of.width());
    for row in of.iter() {
        (0..each).for_each(|_| all.push(&moved(row, &axes, &mut far)));
    }
    all
}

/// The share of the ten nearest that searches find, by some of the vectors; none of them is said to be nearer than it is.
fn recall(near: &Neighbours) -> f32 {
    let (mut found, mut all) = (0, 0);
    for query in (0..near.vectors().len()).step_by(near.vectors().len() / 100) {
        let of =
            |search: Vec<(usize, f32)>| search.into_iter().filter(|one| one.0 != query).take(10).collect::<Vec<_>>();
        let exact = of(near.exact(near.vectors().row(query), 11, |_| false));
        let close = of(near.search(near.vectors().row(query), 11, |_| false));
        found += exact.iter().filter(|one| close.contains(one)).count();
        all += exact.len();
    }
    found as f32 / all as f32
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
    let recall = recall(&near); // what both found has the same similarity to the last bit
    assert!(recall > 0.93 && (recall - near.recall()).abs() < 0.04, "{recall}, at build {}", near.recall());
    (0..5000).step_by(50).for_each(|query| {
        assert_eq!(near.search(near.vectors().row(query), 1, |_| false)[0].0, query);
    });
}

#[test]
fn vectors_that_differ_by_less_than_a_coarse_code_could_say_are_found_as_well() {
    let build = |vectors| Neighbours::build(vectors, &Build { exact: 100, ..Build::default() });
    for noise in [0.03, 0.0003] {
        for (products, each) in [(100, 20), (1, 2000)] {
            let near = build(variants(&vectors(products, 48, 24), each, noise));
            let recall = recall(&near);
            // those of one product have no structure
            assert!(products == 1 || near.approximate().is_some(), "{products} products, {noise}: no index");
            assert!(
                near.recall() >= 0.95 && recall >= 0.93,
                "{products}, {noise}: {recall}, at build {}",
                near.recall()
            );
        }
    }
    let equal = build(variants(&vectors(20, 48, 24), 100, 0.0));
    let expected: Vec<usize> = (700..710).collect();
    let found = equal.search(equal.vectors().row(731), 10, |_| false).into_iter().map(|(number, _)| number);
    assert_eq!(found.collect::<Vec<_>>(), expected, "of equal ones, the first");
}

#[test]
fn an_index_that_finds_too_little_looks_through_more_lists_or_is_none() {
    let build = |least| {
        let settings = Build { exact: 100, recall: 0.2, least, ..Build::default() };
        Neighbours::build(vectors(2000, 20, 6), &settings)
    };
    let index = |near: &Neighbours| near.approximate().map(|index| (index.probes(), index.recall()));
    let (few, more) =
        (index(&build(0.0)).expect("any will do"), index(&build(0.95)).expect("half of the lists have these"));
    assert!(few.1 < 0.95 && more.1 >= 0.95 && more.0 > few.0, "{few:?}, {more:?}");
    let none = build(1.1);
    assert_eq!((none.recall(), none.approximate()), (1.0, None));
    assert_eq!(none.search(none.vectors().row(3), 1, |_| false)[0].0, 3);
}

#[test]
fn vectors_without_structure_have_no_index() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut vectors = Vectors::new(64);
    for _ in 0..2000 {
        let row: Vec<f32> = (0..64).map(|_| random.f32() - 0.5).collect();
        vectors.push(&row);
    }
    let build = |least| Neighbours::build(vectors.clone(), &Build { exact: 100, least, ..Build::default() });
    let near = build(Build::default().least);
    assert_eq!((near.recall(), near.approximate().map(Approximate::probes)), (1.0, None));
    let index = build(0.0).approximate().map(|index| (index.centroids().len(), index.probes()));
    assert_eq!(index, Some((45, 22)), "none looks through more than half of its lists");
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
