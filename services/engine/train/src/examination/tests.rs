#![allow(clippy::unwrap_used)]
use super::harvest::POSITIONS;
use super::*;
use crate::digest::uniform;
use crate::testing::{clicked, record};
use rankwright_clickthrough::Clickthrough;
use rankwright_config::model::Weighting;
use rankwright_event::{Field, Value};

const ITEMS: usize = 12;

/// How likely a visitor looks at a position.
fn truth(position: usize) -> f64 {
    1.0 / (1.0 + 0.3 * position as f64)
}

fn appeal(item: usize) -> f64 {
    0.1 + 0.5 * (item as f64 / ITEMS as f64)
}

/// A list of these items, clicked as visitors do.
fn list(number: usize, items: &[usize], appeal: impl Fn(usize) -> f64) -> (Clickthrough, Vec<f32>) {
    let draw = |place: usize, seed: u64| uniform((number * 100 + place) as u64, seed);
    let clicks: Vec<usize> = (0..items.len())
        .filter(|&place| draw(place, 1) < truth(place) && draw(place, 2) < appeal(items[place]))
        .collect();
    let mut list = clicked(record(&format!("r{number}"), items.len()), &clicks);
    list.user = Some(format!("u{}", number / 3).as_str().into());
    for (shown, item) in list.items.iter_mut().zip(items) {
        shown.id = format!("i{item}").into();
    }
    let labels = (0..items.len()).map(|place| if clicks.contains(&place) { 1.0 } else { 0.0 }).collect();
    (list, labels)
}

fn with_field(list: (Clickthrough, Vec<f32>), name: &str, value: &str) -> (Clickthrough, Vec<f32>) {
    let (mut record, labels) = list;
    record.fields.push(Field::new(name, Value::Text(value.into())));
    (record, labels)
}

/// All items in an order of chance.
fn shuffled(number: usize) -> Vec<usize> {
    let mut items: Vec<usize> = (0..ITEMS).collect();
    items.sort_by(|&left, &right| {
        let draw = |item: usize| uniform((number * 100 + item) as u64, 3);
        draw(left).total_cmp(&draw(right))
    });
    items
}

fn arm(text: &str) -> Weighting {
    Weighting { arm: Some(text.parse().unwrap()), context: None }
}

fn curve(by: &Weighting, lists: impl IntoIterator<Item = (Clickthrough, Vec<f32>)>) -> Result<Curve, NoCurve> {
    let mut harvest = Harvest::new(by);
    for (record, labels) in lists {
        harvest.see(&record, labels.contains(&1.0).then_some(labels.as_slice()));
    }
    harvest.curve()
}

/// The largest part by which a curve misses the truth.
fn error(curve: &Curve) -> f64 {
    let errors = curve.points.iter().enumerate().map(|(place, point)| (point.examination / truth(place) - 1.0).abs());
    errors.fold(0.0, f64::max)
}

#[test]
fn items_at_several_positions_show_how_often_each_is_looked_at() {
    let curve =
        curve(&Weighting::default(), (0..20_000).map(|number| list(number, &shuffled(number), appeal))).unwrap();
    assert_eq!((curve.method, curve.compared, curve.points.len()), (Method::Items, ITEMS, ITEMS));
    assert!(error(&curve) < 0.1, "{curve:?}");
    assert_eq!(curve.points[0].examination, 1.0);
    let covered = |(place, point): &(usize, &Point)| {
        point.low.is_some_and(|low| low <= truth(*place)) && point.high.is_some_and(|high| truth(*place) <= high)
    };
    let covered = curve.points.iter().enumerate().filter(covered).count();
    assert!(covered >= 9, "{covered} of {ITEMS} intervals cover the truth: {curve:?}");
    let shown: u64 = curve.points.iter().map(|point| point.shown).sum();
    assert_eq!(shown, 20_000 * ITEMS as u64);
}

#[test]
fn the_same_clicks_give_the_same_curve() {
    let of = || curve(&Weighting::default(), (0..500).map(|number| list(number, &shuffled(number), appeal))).unwrap();
    assert_eq!(of(), of());
}

#[test]
fn lists_without_a_click_are_not_stored_which_bends_the_curve_little() {
    let lists =
        (0..20_000).map(|number| list(number, &shuffled(number), appeal)).filter(|(_, labels)| labels.contains(&1.0));
    let curve = curve(&Weighting::default(), lists).unwrap();
    assert!(curve.points[0].shown < 19_000, "some were left out: {curve:?}");
    assert!(error(&curve) < 0.15, "{curve:?}");
}

/// Each of two rankers has an order of its own; within one, the order follows what the visitor wants.
fn two_rankers(number: usize) -> (Clickthrough, Vec<f32>) {
    let forward: Vec<usize> = (0..ITEMS).rev().collect();
    let backward: Vec<usize> = (0..ITEMS).map(|place| forward[(place + 5) % ITEMS]).collect();
    match number % 2 {
        0 => with_field(list(number, &forward, appeal), "ranker", "a"),
        _ => with_field(list(number, &backward, appeal), "ranker", "b"),
    }
}

#[test]
fn rankers_that_show_the_same_items_elsewhere_tell_positions_apart() {
    let curve = curve(&arm("ranker"), (0..30_000).map(two_rankers)).unwrap();
    assert_eq!(curve.method, Method::Rankers);
    assert!(error(&curve) < 0.15, "{curve:?}");
    assert!(
        curve.estimated_from.contains("the field ranker tells the rankers apart: a, b"),
        "{}",
        curve.estimated_from
    );
}

#[test]
fn positions_that_are_compared_with_each_other_alone_lie_between_their_neighbours() {
    // two items take turns at the second and third place, and all others at the rest
    let turns = |number: usize| {
        let mut others: Vec<usize> = (0..ITEMS).filter(|item| ![1, 2].contains(item)).collect();
        others.rotate_left(number % (ITEMS - 2));
        let pair = if number.is_multiple_of(2) { [1, 2] } else { [2, 1] };
        let items = [&others[..1], &pair, &others[1..]].concat();
        list(number, &items, |_| 0.5)
    };
    let curve = curve(&Weighting::default(), (0..5_000).map(turns)).unwrap();
    let of = |place: usize| curve.points[place].examination;
    assert_eq!((curve.points[1].low, curve.points[2].high), (None, None));
    assert!((of(1) - of(3).cbrt()).abs() < 1e-12 && (of(2) - of(3).cbrt().powi(2)).abs() < 1e-12, "{curve:?}");
    assert!((of(3) / truth(3) - 1.0).abs() < 0.1, "{curve:?}");
}

#[test]
fn what_one_ranker_alone_moves_about_counts_for_nothing() {
    // both rankers show each item at one position, but for a third that no other ranker has
    let moved = (0..4_000).map(|number| with_field(list(number, &shuffled(number), |_| 0.9), "ranker", "c"));
    let renamed = moved.map(|(mut record, labels)| {
        record.items.iter_mut().for_each(|item| item.id = format!("only-{}", item.id.as_str()).into());
        (record, labels)
    });
    let alone = curve(&arm("ranker"), (0..4_000).map(two_rankers)).unwrap();
    let with_others = curve(&arm("ranker"), (4_000..8_000).map(|n| two_rankers(n - 4_000)).chain(renamed)).unwrap();
    let examinations = |curve: &Curve| curve.points.iter().map(|point| point.examination).collect::<Vec<_>>();
    assert_eq!(examinations(&alone), examinations(&with_others));
}

#[test]
fn lists_in_random_order_need_no_item_twice() {
    let lists = (0..20_000).map(|number| {
        let (mut record, labels) = list(number, &shuffled(number), appeal);
        record.items.iter_mut().for_each(|item| item.id = format!("{number}-{}", item.id.as_str()).into());
        with_field((record, labels), "order", if number.is_multiple_of(4) { "ranked" } else { "random" })
    });
    let curve = curve(&arm("order=random"), lists).unwrap();
    assert_eq!(curve.method, Method::Randomized);
    assert!(error(&curve) < 0.1, "{curve:?}");
}

#[test]
fn short_lists_that_are_clicked_more_do_not_bend_the_curve() {
    let lists = (0..30_000).map(|number| {
        let items: Vec<usize> =
            shuffled(number).into_iter().take(if number.is_multiple_of(2) { 3 } else { ITEMS }).collect();
        let often = if number.is_multiple_of(2) { 0.9 } else { 0.2 };
        with_field(list(number, &items, |_| often), "order", "random")
    });
    assert!(error(&curve(&arm("order=random"), lists).unwrap()) < 0.15);
}

#[test]
fn items_that_please_more_where_they_stand_higher_need_a_context() {
    // in each of two searches another half of the items is wanted, and stands on top
    let searches = |number: usize| {
        let wanted = |item: usize| item % 2 == number % 2;
        let mut items = shuffled(number);
        items.sort_by_key(|&item| (!wanted(item), uniform((number * 100 + item) as u64, 4) < 0.2));
        let list = list(number, &items, |item| if wanted(item) { 0.6 } else { 0.2 });
        with_field(list, "query", if number.is_multiple_of(2) { "shoes" } else { "hats" })
    };
    let lists = || (0..20_000).map(searches);
    let without = curve(&Weighting::default(), lists()).unwrap();
    assert!(without.points[ITEMS - 1].examination < 0.7 * truth(ITEMS - 1), "it is biased: {without:?}");
    let context = Weighting { arm: None, context: Some("query".into()) };
    let within = curve(&context, lists()).unwrap();
    // a search never compares the wanted half with the other one: what cannot be reached is as the position before
    assert!(
        within.points[..ITEMS / 2]
            .iter()
            .enumerate()
            .all(|(place, point)| (point.examination / truth(place) - 1.0).abs() < 0.1),
        "{within:?}"
    );
    assert_eq!(within.points[ITEMS - 1].examination, within.points[ITEMS / 2 - 1].examination);
    assert_eq!(within.points[ITEMS - 1].low, None);
}

#[test]
fn where_nothing_tells_positions_apart_the_reason_is_given() {
    let fixed: Vec<usize> = (0..ITEMS).collect();
    let fixed = |number: usize| list(number, &fixed, appeal);
    let refusal = |by: &Weighting, lists: Vec<(Clickthrough, Vec<f32>)>| curve(by, lists).unwrap_err().to_string();
    let always: Vec<_> = (0..200).map(fixed).collect();
    let message = refusal(&Weighting::default(), always.clone());
    assert!(
        message.starts_with("only 0 clicks are on items that stood at several positions, and 25 are needed"),
        "{message}"
    );
    let message = refusal(&arm("ranker"), (0..20).map(|number| with_field(fixed(number), "page", "x")).collect());
    assert_eq!(message, "no ranking has the field \"ranker\"; rankings have page");
    let message = refusal(&arm("ranker"), always.clone());
    assert_eq!(message, "no ranking has the field \"ranker\"; rankings have none");
    let same: Vec<_> = (0..200).map(|number| with_field(fixed(number), "ranker", "a")).collect();
    let message = refusal(&arm("ranker"), same.clone());
    assert_eq!(message, "the field \"ranker\" has the same value \"a\" in all rankings: it tells no rankers apart");
    let message = refusal(&arm("ranker=random"), same);
    assert_eq!(message, "no ranking has \"random\" in the field \"ranker\"; there are a");
    let many = (0..300).map(|number| with_field(fixed(number), "ranker", &number.to_string())).collect();
    assert!(refusal(&arm("ranker"), many).contains("more than 200 values"));
    let context = Weighting { arm: None, context: Some("query".into()) };
    assert_eq!(refusal(&context, always.clone()), "no ranking has the field \"query\"; rankings have none");
    let judged = always.into_iter().map(|(mut record, labels)| {
        record.items[0].label = Some(1.0);
        (record, labels)
    });
    assert!(refusal(&Weighting::default(), judged.collect()).starts_with("no ranking has clicks"));
}

#[test]
fn more_items_than_there_is_room_for_leave_a_sample_of_items() {
    let lists: Vec<_> = (0..20_000)
        .map(|number| {
            let (mut record, labels) = list(number, &shuffled(number), appeal);
            record.items.iter_mut().for_each(|item| item.id = format!("{}-{}", number % 50, item.id.as_str()).into());
            (record, labels)
        })
        .collect();
    let by = Weighting::default();
    let mut harvest = Harvest::with_room_for(&by, 20_000);
    lists.iter().for_each(|(record, labels)| harvest.see(record, Some(labels)));
    let curve = harvest.curve().unwrap();
    assert!((100..500).contains(&curve.compared), "{} of 600 items", curve.compared);
    assert!(error(&curve) < 0.3, "{curve:?}");
}

#[test]
fn weights_are_the_inverse_and_twenty_at_most() {
    let point = |examination: f64| Point { position: 1, examination, low: None, high: None, shown: 1, clicks: 1 };
    let points = [1.0, 0.5, 0.01].map(point).to_vec();
    let curve = Curve { method: Method::Items, estimated_from: String::new(), compared: 1, points };
    assert_eq!([0, 1, 2, 9].map(|place| curve.weight(place)), [1.0, 2.0, 20.0, 20.0]);
    let list = curve.judged(&[0.0, 1.0, 0.0, 1.0]);
    assert_eq!(list_weight(&list), 11.0);
    assert_eq!(list_weight(&curve.judged(&[0.0; 3])), 0.0);
}

#[test]
fn positions_far_down_count_as_one() {
    let items: Vec<usize> = (0..POSITIONS + 50).collect();
    let lists = (0..200).map(|number| {
        let mut items = items.clone();
        items.rotate_left(number % (POSITIONS + 50));
        list(number, &items, |_| 0.9)
    });
    let curve = curve(&Weighting::default(), lists).unwrap();
    assert_eq!(curve.points.len(), POSITIONS);
    assert_eq!(curve.points[POSITIONS - 1].shown, 200 * 51);
}
