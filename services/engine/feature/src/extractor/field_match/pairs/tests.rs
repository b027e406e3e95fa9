#![allow(clippy::unwrap_used)]

use crate::plan::Plan;
use crate::testing::{Shop, assert_rows, ready, told};
use rankwright_config::Config;
use rankwright_event::Value;
use rankwright_state::MemoryStore;

const PAIRS: &str = "samples/pairs.csv"; // red shoes: "Red shoe" 0.75, "hat, wool" -8.5, "two words" 1, item-7 3
const NAN: f32 = f32::NAN;

fn definition(path: &str) -> String {
    let method = format!("{{type: cross-encoder, cache: {path}}}");
    format!("{{name: m, type: field_match, rankingField: ranking.query, itemField: item.title, method: {method}}}")
}

fn shop() -> Shop {
    Shop::new(&definition(PAIRS))
}

fn compiled(path: &str) -> Result<Plan, String> {
    let (config, _) = Config::parse(&format!("features: [{}]", definition(path)), "test").unwrap();
    ready(Plan::compile(&config.features, &MemoryStore::default())).map_err(|error| told(&error))
}

#[test]
fn the_value_is_the_score_of_the_query_and_the_items_text() {
    let shop = shop()
        .item("shoe", [("title", "Red shoe".into())])
        .item("hat", [("title", "hat, wool".into())])
        .item("list", [("title", Value::Texts(vec!["two".into(), "words".into()]))])
        .asked("query", "red shoes");
    assert_rows(&shop.rows(["shoe", "hat", "list"]), [[0.75], [-8.5], [1.0]]);
    assert_rows(&shop.training_rows(["shoe", "hat", "list"]), [[0.75], [-8.5], [1.0]]);
    let list = Value::Texts(vec!["red".into(), "boots".into()]);
    assert_rows(&shop.asked("query", list).rows(["shoe", "list"]), [[NAN], [2.0]]);
}

#[test]
fn a_pair_that_has_no_score_is_missing() {
    let shop = shop()
        .item("shoe", [("title", "Red shoe".into())])
        .item("other", [("title", "red shoe".into())])
        .item("number", [("title", 7.0.into())])
        .item("bare", [("price", 7.0.into())]);
    let items = ["shoe", "other", "number", "bare", "unknown"];
    assert_rows(&shop.rows(items), [[NAN]; 5]);
    let shop = shop.asked("query", "red shoes");
    assert_rows(&shop.rows(items), [[0.75], [NAN], [NAN], [NAN], [NAN]]);
    assert_rows(&shop.asked("query", 7.0).rows(items), [[NAN]; 5]);
}

#[test]
fn a_text_that_comes_with_the_request_takes_the_place_of_the_stored_one() {
    let shop = shop().item("a", [("title", "Red shoe".into())]).asked("query", "red shoes");
    let shop = shop.sent("a", "title", "hat, wool").sent("b", "title", "Red shoe").sent("c", "title", 1.0);
    let shop = shop.sent("d", "title", "two words").sent("d", "query", "red boots");
    assert_rows(&shop.rows(["a", "b", "c", "d"]), [[-8.5], [0.75], [NAN], [2.0]]);
}

#[test]
fn a_text_older_than_its_ttl_is_missing() {
    let shop = Shop::new(&definition(PAIRS).replacen('{', "{ttl: 1h, ", 1));
    let shop = shop.item("a", [("title", "Red shoe".into())]).asked("query", "red shoes").at(3600);
    assert_rows(&shop.rows(["a"]), [[0.75]]);
    assert_rows(&shop.at(3601).rows(["a"]), [[NAN]]);
}

#[test]
fn the_id_of_an_item_is_a_text() {
    let shop = Shop::new(&definition(PAIRS).replace("item.title", "item.id")).asked("query", "red shoes");
    assert_rows(&shop.rows(["item-7", "item-8"]), [[3.0], [NAN]]);
}

#[test]
fn the_field_is_stored_once_for_all_that_read_it() {
    let features = format!("{}, {{name: words, type: word_count, field: item.title}}", definition("/nowhere.csv"));
    let (config, _) = Config::parse(&format!("features: [{features}]"), "test").unwrap();
    assert_eq!(
        crate::readers(&config, &crate::encode::NoEncoders).unwrap().into_values().collect::<Vec<_>>(),
        [["m", "words"]]
    );
}

#[test]
fn a_file_that_is_of_no_use_is_refused_with_its_path_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv").display().to_string();
    for (text, why) in [
        ("a,b,1\na,b\n", "line 2: 2 fields where 3 are expected"),
        ("a,b,1,2\n", "line 1: 4 fields where 3 are expected"),
        ("a,b,good\n", "line 1, field 3: \"good\" is no finite number"),
    ] {
        std::fs::write(&path, text).unwrap();
        let refused = compiled(&path).err().unwrap();
        assert!(refused.starts_with(&format!("feature 'm': failed to open its cache {path}: {why}")), "{refused}");
    }
    let refused = compiled("/nowhere.csv").err().unwrap();
    assert!(refused.contains("/nowhere.csv: failed to read it: No such file"), "{refused}");
}

#[test]
fn other_scores_are_another_column() {
    let folder = tempfile::tempdir().unwrap();
    let fingerprint = |path: &str| compiled(path).unwrap().columns()[0].fingerprint;
    let written = |name: &str, from: &str, to: &str| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, std::fs::read_to_string(PAIRS).unwrap().replace(from, to)).unwrap();
        fingerprint(&path)
    };
    assert_eq!(fingerprint(PAIRS), written("same.csv", "", ""), "its place does not count");
    assert_ne!(fingerprint(PAIRS), written("other.csv", "0.75", "0.5"));
}
