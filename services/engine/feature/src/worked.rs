//! docs/features.md: its examples, worked out by hand, come out so. Those of `field_match` are tested beside it.

use crate::testing::Shop;
use rankwright_config::schema::{FEATURE_TYPES, FeatureType};
use rankwright_event::Value;
use serde_json::Value as Json;

const PAGE: &str = include_str!("../../../../docs/features.md");

/// When the rankings of the examples are shown, in seconds since 1970.
const NOW: i64 = 1_636_993_834;
const DAY: i64 = 86_400;

/// The rows of the last table in a section of the page, names of columns first. Code is without its marks.
fn table(section: &str) -> Vec<Vec<&'static str>> {
    let begin = format!("{section}\n");
    let section = PAGE.split("\n## ").find(|part| part.starts_with(&begin)).unwrap_or_else(|| panic!("no {section}"));
    let table = section.split("\n\n").filter(|block| block.starts_with("| ")).last().unwrap_or_default();
    let cells = |row: &'static str| row.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`'));
    table.lines().filter(|line| line.starts_with("| ")).map(|row| cells(row).collect()).collect()
}

/// The value of a field, as JSON.
fn value(cell: &str) -> Value {
    of_json(&serde_json::from_str(cell).unwrap_or_else(|error| panic!("{error}: {cell}")))
}

fn of_json(json: &Json) -> Value {
    match json {
        Json::Bool(flag) => (*flag).into(),
        Json::String(text) => text.as_str().into(),
        Json::Array(list) if list.iter().all(Json::is_string) => {
            Value::Texts(list.iter().filter_map(Json::as_str).map(Into::into).collect())
        }
        Json::Array(list) => Value::Numbers(list.iter().filter_map(Json::as_f64).collect()),
        number => number.as_f64().expect("a number").into(),
    }
}

/// An item with a colour and a brand, such as `red corvid`.
fn coloured(shop: Shop, id: &str, item: &str) -> Shop {
    let (color, brand) = item.split_once(' ').expect("a colour and a brand");
    shop.item(id, [("color", color.into()), ("brand", brand.into())])
}

fn row(shop: &Shop) -> Vec<f32> {
    shop.rows(["a"]).remove(0)
}

/// What the feature of a type's example has for an item `a`. `source` is the name of the first column, `given` what a row has
/// before its results.
fn found(kind: &FeatureType, source: &str, given: &[&str]) -> Vec<f32> {
    let shop = Shop::new(kind.example).at(NOW);
    match (kind.name, given) {
        ("interacted_with", [clicked, item]) => {
            let clicked = clicked.split(", ").filter(|item| *item != "nothing").zip(["b", "c"]);
            let click = |shop, (item, id): (&str, &str)| coloured(shop, id, item).interaction("click", id);
            row(&coloured(clicked.fold(shop, click), "a", item))
        }
        ("position", [place]) => {
            let place = place.parse::<usize>().expect("a place") - 1;
            [shop.training_rows(["a", "b"]), shop.rows(["a", "b"])].map(|rows| rows[place][0]).to_vec()
        }
        ("diversity", [values, own]) => {
            let Json::Array(values) = serde_json::from_str(values).expect("a list") else { panic!("{values}") };
            let ids = ["a", "b", "c"];
            let shop =
                values.iter().zip(ids).fold(shop, |shop, (value, id)| shop.item(id, [("price", of_json(value))]));
            let place = values.iter().position(|value| of_json(value) == self::value(own)).expect("is among them");
            shop.rows(ids)[place].clone()
        }
        ("random", [item]) => shop.rows([*item]).remove(0),
        ("interaction_count", [clicks]) => {
            let clicks = clicks.parse::<usize>().expect("a number");
            row(&(0..clicks).fold(shop, |shop, _| shop.interaction("click", "a")))
        }
        ("window_count", [days]) => {
            let mut days: Vec<i64> = days.split(", ").filter_map(|day| day.parse().ok()).collect();
            days.sort_unstable_by_key(|day| -day);
            let click = |shop: Shop, day: i64| shop.at(NOW - day * DAY).interaction("click", "a");
            row(&days.into_iter().fold(shop, click).at(NOW))
        }
        ("rate", ["a b*, a* b", item]) => {
            shop.closed(["a", "b"], ["b"]).closed(["a", "b"], ["a"]).rows([*item]).remove(0)
        }
        ("rate", ["a b", item]) => shop.closed(["a", "b"], []).rows([*item]).remove(0),
        (name, [given]) => {
            let (of, field) = source.split_once('.').expect("the first column is a source");
            row(&match (name, of) {
                ("relevancy", _) => shop.sent("a", field, value(given)),
                (_, "item") => shop.item("a", [(field, value(given))]),
                _ => shop.asked(field, value(given)),
            })
        }
        _ => panic!("{}: no example begins with {given:?}", kind.name),
    }
}

#[test]
fn the_examples_of_the_page_come_out_as_they_are_worked_out() {
    for kind in FEATURE_TYPES.iter().filter(|kind| kind.name != "field_match") {
        let table = table(kind.name);
        let ([heads, rows @ ..], name) = (&table[..], kind.name) else { panic!("{}: no example", kind.name) };
        assert!(!rows.is_empty(), "{name}: no example");
        let shop = Shop::new(kind.example);
        let columns = if name == "position" { vec!["in training", "when serving"] } else { shop.columns() };
        let begin = heads.iter().position(|head| *head == columns[0]).unwrap_or_else(|| panic!("{name}: {heads:?}"));
        let results = begin..begin + columns.len();
        assert_eq!(heads[results.clone()], columns, "{name}");
        for row in rows {
            let found = found(kind, heads[0], &row[..begin]);
            assert_eq!(found.len(), columns.len(), "{name}: {found:?}");
            for (&found, &cell) in found.iter().zip(&row[results.clone()]) {
                let expected = if cell == "missing" { f64::NAN } else { cell.parse().expect("a number") };
                let same = (f64::from(found) - expected).abs() < 5e-5 || (found.is_nan() && expected.is_nan());
                assert!(same, "{name}: {found} in the row {row:?}");
            }
        }
    }
}
