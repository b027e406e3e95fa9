#![allow(clippy::unwrap_used)]

use crate::plan::Plan;
use crate::testing::{Shop, assert_rows, ready, told};
use rankwright_config::Config;
use rankwright_event::Value;
use rankwright_state::MemoryStore;
use std::path::Path;

const ITEMS: &str = "samples/items.csv"; // a 3,4; b 0,-2; zero 0,0
const QUERIES: &str = "samples/queries.csv"; // red shoes 4,3; "boots, high" 1,0; red boots 0,1
const NAN: f32 = f32::NAN;

fn definition(items: &str, queries: &str, more: &str) -> String {
    let method = format!("{{type: bi-encoder, dim: 2, itemFieldCache: {items}, rankingFieldCache: {queries}}}");
    format!(
        "{{name: m, type: field_match, rankingField: ranking.query, itemField: item.title, method: {method}, {more}}}"
    )
}

fn shop(more: &str) -> Shop {
    Shop::new(&definition(ITEMS, QUERIES, more))
}

fn compiled(feature: &str) -> Result<Plan, String> {
    let (config, _) = Config::parse(&format!("features: [{feature}]"), "test").unwrap();
    ready(Plan::compile(&config.features, &MemoryStore::default())).map_err(|error| told(&error))
}

#[test]
fn the_value_is_the_cosine_or_the_dot_product_of_both_embeddings() {
    for (distance, query, expected) in [
        ("cos", "red shoes", [[0.96], [-0.6], [NAN]]),
        ("cosine", "boots, high", [[0.6], [0.0], [NAN]]),
        ("dot", "red shoes", [[24.0], [-6.0], [0.0]]),
        ("dot", "red boots", [[4.0], [-2.0], [0.0]]),
    ] {
        let shop = shop(&format!("distance: {distance}")).asked("query", query);
        assert_rows(&shop.rows(["a", "b", "zero"]), expected);
    }
    assert_rows(&shop("").asked("query", "red shoes").rows(["a"]), [[0.96]]);
}

#[test]
fn what_has_no_embedding_is_missing() {
    let missing = [[NAN], [NAN]];
    assert_rows(&shop("").rows(["a", "unknown"]), missing);
    assert_rows(&shop("").asked("query", "red shoes").rows(["a", "unknown"]), [[0.96], [NAN]]);
    for query in ["Red shoes".into(), "red shoes ".into(), "".into(), 7.0.into(), Value::Texts(vec![])] {
        assert_rows(&shop("").asked("query", query).rows(["a", "unknown"]), missing);
    }
}

#[test]
fn the_texts_of_a_list_are_joined_by_spaces() {
    let texts = Value::Texts(vec!["red".into(), "shoes".into()]);
    assert_rows(&shop("").asked("query", texts).rows(["a"]), [[0.96]]);
}

#[test]
fn items_are_known_by_their_ids_whatever_their_fields_are() {
    let shop = shop("").item("a", [("title", "boots".into())]).asked("query", "red shoes");
    assert_rows(&shop.sent("b", "title", "hat").rows(["a", "b"]), [[0.96], [-0.6]]);
}

#[test]
fn an_item_may_bring_a_query_of_its_own() {
    let shop = shop("").asked("query", "red shoes").sent("b", "query", "red boots");
    assert_rows(&shop.rows(["a", "b", "a"]), [[0.96], [-1.0], [0.96]]);
}

#[test]
fn training_sees_what_serving_sees() {
    let shop = shop("").asked("query", "red shoes");
    assert_rows(&shop.training_rows(["a", "b"]), [[0.96], [-0.6]]);
}

#[test]
fn nothing_is_stored() {
    let (config, _) = Config::parse(&format!("features: [{}]", definition(ITEMS, QUERIES, "")), "test").unwrap();
    assert!(crate::readers(&config, &crate::encode::NoEncoders).unwrap().is_empty());
}

#[test]
fn a_file_that_is_of_no_use_is_refused_with_its_path_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &[u8]| {
        std::fs::write(folder.path().join("x.csv"), text).unwrap();
        folder.path().join("x.csv").display().to_string()
    };
    let bad: [(&[u8], &str); 5] = [
        (b"a,1,2\nb,1,2,3\n", "line 2: 4 fields where 3 are expected: a name and 2 numbers"),
        (b"a,1\n", "line 1: 2 fields where 3 are expected"),
        (b"a,1,x\n", "line 1, field 3: \"x\" is no finite number"),
        (b"a,1,2\n\n\"b,1,2\n", "line 3: a quote that does not end"),
        (b"a,1,2\n\xff,1,2\n", "line 2: not UTF-8"),
    ];
    for (text, why) in bad {
        let path = write(text);
        for (items, queries) in [(path.as_str(), QUERIES), (ITEMS, path.as_str())] {
            let refused = compiled(&definition(items, queries, "")).err().unwrap();
            assert!(refused.starts_with(&format!("feature 'm': failed to open its cache {path}: {why}")), "{refused}");
        }
    }
    let refused = compiled(&definition(ITEMS, "/nowhere.csv", "")).err().unwrap();
    assert!(refused.contains("/nowhere.csv: failed to read it: No such file"), "{refused}");
}

#[test]
fn other_embeddings_or_another_distance_are_another_column() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).display().to_string()
    };
    let fingerprint = |items: &str, queries: &str, more: &str| {
        compiled(&definition(items, queries, more)).unwrap().columns()[0].fingerprint
    };
    let text = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap();
    let known = fingerprint(ITEMS, QUERIES, "");
    assert_eq!(
        known,
        fingerprint(&write("same.csv", text(ITEMS)), QUERIES, "distance: cos"),
        "its place does not count"
    );
    let changed = |path| write("changed.csv", text(path).replace(",4", ",5"));
    let others = [
        fingerprint(ITEMS, QUERIES, "distance: dot"),
        fingerprint(&changed(ITEMS), QUERIES, ""),
        fingerprint(ITEMS, &changed(QUERIES), ""),
        fingerprint(QUERIES, ITEMS, ""),
    ];
    assert!(!others.contains(&known));
}
