#![allow(clippy::unwrap_used)]
use super::*;
use crate::testing::{clicked, column, record, store};
use rankwright_clickthrough::{ClickthroughStore, Rows};

fn read(records: Vec<Clickthrough>, columns: &[Column]) -> (Dataset, Reading) {
    read_with(records, columns, &Selector::Accept(true), MAX_VALUES).unwrap()
}

fn read_with(
    records: Vec<Clickthrough>,
    columns: &[Column],
    selector: &Selector,
    limit: usize,
) -> Result<(Dataset, Reading), ReadError> {
    let weights = BTreeMap::from([("click".to_owned(), 1.0), ("hide".to_owned(), -1.0)]);
    let query = Query {
        columns,
        selector,
        share: 1.0,
        split: &split("time"),
        seed: 0,
        weights: &weights,
        limit,
        room: Room::default(),
    };
    query.read(store(&["price", "ctr"], records).read().unwrap(), |_, _| ())
}

fn split(text: &str) -> Split {
    text.parse().unwrap()
}

fn values(examples: Examples<'_>) -> Vec<f32> {
    examples.values().unwrap()
}

/// A ranking of two items whose columns are `price` (1, 2) and `ctr` (0.5, missing).
fn priced(id: &str) -> Clickthrough {
    let mut record = clicked(record(id, 2), &[1]);
    record.rows = Rows { width: 2, values: vec![1.0, 0.5, 2.0, f32::NAN] };
    record
}

#[test]
fn columns_are_chosen_by_name_in_the_order_of_the_model() {
    let (dataset, reading) = read(vec![priced("r")], &[column("ctr"), column("price")]);
    let rows = values(dataset.examples());
    assert_eq!((rows[0], rows[1], rows[3]), (0.5, 1.0, 2.0));
    assert!(rows[2].is_nan());
    assert_eq!(dataset.lists().labels, [0.0, 1.0]);
    assert!(reading.missing_columns.is_empty());
}

#[test]
fn a_column_that_was_not_stored_or_was_defined_otherwise_is_missing_and_counted() {
    let changed = Column { fingerprint: 99, ..column("price") };
    let (dataset, reading) = read(vec![priced("r"), priced("s")], &[changed, column("new"), column("ctr")]);
    let rows = values(dataset.examples());
    assert!(rows[0].is_nan() && rows[1].is_nan() && rows[2] == 0.5);
    assert_eq!(
        reading.missing_columns,
        BTreeMap::from([(("new".into(), column("new").fingerprint), 2), (("price".into(), 99), 2)])
    );
}

#[test]
fn visitors_are_told_apart_by_tenant_and_user_else_by_session_else_each_list() {
    let of = |tenant: &str, user: Option<&str>, session: Option<&str>| {
        let mut record = record("r", 1);
        (record.tenant, record.user, record.session) = (tenant.into(), user.map(Into::into), session.map(Into::into));
        visitor(&record)
    };
    assert_eq!(of("a", Some("u"), Some("s")), of("a", Some("u"), None));
    assert_ne!(of("a", Some("u"), None), of("b", Some("u"), None));
    assert_eq!(of("a", None, Some("u")), of("a", Some("u"), None));
    assert_ne!(visitor(&record("r", 1)), visitor(&record("s", 1)));
}

#[test]
fn a_value_that_was_too_large_counts_as_the_largest() {
    let mut record = priced("r");
    record.rows.values = vec![f32::INFINITY, f32::NEG_INFINITY, 2.0, f32::NAN];
    let rows = values(read(vec![record], &[column("price"), column("ctr")]).0.examples());
    assert_eq!(rows[..3], [f32::MAX, f32::MIN, 2.0]);
    assert!(rows[3].is_nan());
}

#[test]
fn a_ranking_without_a_positive_label_is_left_out_and_counted() {
    let mut hidden = priced("hidden");
    hidden.interactions[0].kind = "hide".into();
    let (dataset, reading) = read(vec![priced("r"), record_of_two("none"), hidden], &[column("price")]);
    assert_eq!((dataset.len(), reading.rankings, reading.without_positive), (1, 3, 2));
}

fn record_of_two(id: &str) -> Clickthrough {
    Clickthrough { interactions: vec![], ..priced(id) }
}

#[test]
fn a_negative_label_counts_as_irrelevant() {
    let mut judged = priced("r");
    judged.items[0].label = Some(-3.0);
    assert_eq!(read(vec![judged], &[column("price")]).0.lists().labels, [0.0, 1.0]);
}

#[test]
fn a_ranking_that_comes_twice_counts_once() {
    let (dataset, reading) = read(vec![priced("r"), priced("r")], &[column("price")]);
    assert_eq!((dataset.len(), reading.losses.duplicates), (1, 1));
}

#[test]
fn what_the_selector_refuses_is_counted() {
    let selector = Selector::Length { min: Some(3), max: None };
    let (dataset, reading) = read_with(vec![priced("r")], &[column("price")], &selector, MAX_VALUES).unwrap();
    assert_eq!((dataset.len(), reading.rankings, reading.selected), (0, 1, 0));
}

#[test]
fn a_list_that_no_booster_takes_is_left_out_and_counted() {
    let mut long = clicked(record("r", MAX_ITEMS + 1), &[1]);
    long.rows = Rows { width: 2, values: vec![0.0; 2 * (MAX_ITEMS + 1)] };
    let (dataset, reading) = read(vec![long], &[column("price")]);
    assert_eq!((dataset.len(), reading.too_long), (0, 1));
}

#[test]
fn reading_ends_at_the_limit() {
    let result = read_with(vec![priced("r"), priced("s")], &[column("price")], &Selector::Accept(true), 3);
    assert!(matches!(result, Err(ReadError::TooLarge { limit: 3 })));
}

#[test]
fn lists_can_be_put_in_another_order_and_parted() {
    let (dataset, _) = read(vec![priced("a"), clicked_first("b"), priced("c")], &[column("price")]);
    let keys = dataset.keys().to_vec();
    let dataset = dataset.arranged(&[1, 2, 0]);
    assert_eq!(dataset.keys(), [keys[1], keys[2], keys[0]]);
    let (first, rest) = dataset.split_at(1);
    assert_eq!((first.lists.labels, first.lists.lengths), (&[1.0, 0.0][..], &[2][..]));
    assert_eq!((rest.lists.labels.len(), rest.lists.lengths), (4, &[2, 2][..]));
    assert_eq!((values(first), values(rest).len()), (vec![1.0, 2.0], 4));
}

fn clicked_first(id: &str) -> Clickthrough {
    clicked(priced(id), &[0])
}

#[test]
fn values_beyond_what_fits_in_memory_go_to_a_file_and_change_nothing() {
    let (columns, weights) = ([column("ctr"), column("price")], BTreeMap::from([("click".to_owned(), 1.0)]));
    let folder = tempfile::tempdir().unwrap();
    let read = |in_memory| {
        let room = Room { in_memory, folder: folder.path().to_owned(), ..Room::default() };
        let query = Query {
            share: 1.0,
            columns: &columns,
            selector: &Selector::Accept(true),
            split: &split("time"),
            seed: 0,
            weights: &weights,
            limit: MAX_VALUES,
            room,
        };
        let records = ["a", "b", "c"].map(priced).to_vec();
        query.read(store(&["price", "ctr"], records).read().unwrap(), |_, _| ()).unwrap().0.arranged(&[2, 0, 1])
    };
    let bits = |dataset: &Dataset| values(dataset.examples()).into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let (memory, file) = (read(12), read(11));
    assert!(!memory.rows.is_spilled() && file.rows.is_spilled());
    assert_eq!(bits(&memory), bits(&file));
}

#[test]
fn values_without_room_end_the_reading() {
    let room = Room { in_memory: 3, folder: "/nowhere".into(), ..Room::default() };
    let (selector, weights) = (Selector::Accept(true), BTreeMap::from([("click".to_owned(), 1.0)]));
    let (columns, split) = ([column("price")], split("time"));
    let query = Query {
        share: 1.0,
        columns: &columns,
        selector: &selector,
        split: &split,
        seed: 0,
        weights: &weights,
        limit: MAX_VALUES,
        room,
    };
    let records = store(&["price", "ctr"], vec![priced("r"), priced("s")]).read().unwrap();
    assert!(matches!(query.read(records, |_, _| ()), Err(ReadError::Spill(_))));
}
