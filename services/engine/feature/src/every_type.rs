//! Each type of feature that the schema names extracts something with its example, and each method of `field_match`.

use crate::testing::Shop;
use crate::testing::letters::Letters;
use rankwright_config::schema::{FEATURE_TYPES, FeatureType};
use rankwright_encoder::Task;
use rankwright_event::Value;

/// What a request has to say for a type.
fn asked(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "ua" => ("ua", "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0"),
        "referer" => ("referer", "https://www.google.com/search?q=shoes"),
        "field_match" => ("query", "words"),
        _ => ("localts", "2022-01-07T23:30:00+02:00"),
    }
}

/// A shop with a feature of some type, as requests to it are.
fn empty(kind: &FeatureType, feature: &str) -> Shop {
    let (name, value) = asked(kind.name);
    Shop::new(feature).at(100_000).asked(name, value).sent("a", "relevancy", 2.5)
}

/// The same with two items that were shown and clicked.
fn busy(kind: &FeatureType, feature: &str) -> Shop {
    used(empty(kind, feature))
}

/// Two items come into a shop, are shown and clicked.
fn used(shop: Shop) -> Shop {
    let item = |shop: Shop, id: &str, price: f64| {
        let (color, brand, title) = (Value::Text("red".into()), Value::Text("acme".into()), "two words");
        let fields = [
            ("price", Value::Number(price)),
            ("available", Value::Bool(true)),
            ("sizes", Value::Numbers(vec![38.0, 39.0, 40.0])),
            ("color", color),
            ("brand", brand),
            ("title", Value::Text(title.into())),
            ("tags", Value::Texts(vec!["new".into()])),
            ("released", Value::Number(1000.0)),
            ("created", Value::Number(1000.0)),
        ];
        shop.item(id, fields)
    };
    let shop = item(item(shop, "a", 10.0), "b", 30.0).shown(["a", "b"]);
    shop.interaction("click", "a").interaction("click", "b").closed(["a", "b"], ["a", "b"])
}

#[test]
fn every_type_extracts_a_value_with_its_example() {
    for kind in FEATURE_TYPES {
        let rows = busy(kind, kind.example).at(3 * 86_400).rows(["a", "b"]);
        let is_told = |value: &f32| value.is_finite() && *value != 0.0;
        assert!(rows[0].iter().any(is_told), "{}: {rows:?}", kind.name);
        // all items may be excluded
        assert!(busy(kind, kind.example).rows([]).is_empty(), "{}", kind.name);
    }
}

#[test]
fn no_type_reads_what_is_never_kept() {
    let bits = |shop: Shop| shop.rows(["a", "b"]).into_iter().flatten().map(f32::to_bits).collect::<Vec<_>>();
    for kind in FEATURE_TYPES {
        let feature = kind.example.replacen('{', "{ttl: 0s, ", 1);
        assert_eq!(bits(busy(kind, &feature)), bits(empty(kind, &feature)), "{feature}");
        let feature = feature.replace("ttl: 0s", "ttl: 1d");
        let stateless = ["ua", "referer", "relevancy", "position", "local_time", "random"].contains(&kind.name);
        assert_eq!(bits(busy(kind, &feature)) == bits(empty(kind, &feature)), stateless, "{feature}");
    }
}

/// Methods of `field_match`, each with what a model of texts computes for it, if it has one.
const METHODS: [(&str, Option<Task>); 7] = [
    ("type: term, language: en", None),
    ("type: ngram, language: en, n: 3", None),
    ("type: bm25, language: en, termFreq: samples/termfreq.json", None),
    ("type: bi-encoder, dim: 2, itemFieldCache: samples/items.csv, rankingFieldCache: samples/queries.csv", None),
    ("type: bi-encoder, dim: 2, model: a/letters", Some(Task::Embed)),
    ("type: cross-encoder, cache: samples/pairs.csv", None),
    ("type: cross-encoder, model: a/letters", Some(Task::Score)),
];

/// A shop with one of them, in which the visitor looks for what the files beside the tests know.
fn matching(method: &str, task: Option<Task>, ttl: &str) -> Shop {
    let field = "type: field_match, rankingField: ranking.query, itemField: item.title";
    let feature = format!("{{name: m, {field}, method: {{{method}}}, ttl: {ttl}}}");
    let shop = match task {
        Some(task) => Shop::encoded(&[&feature], &Letters::of(task)),
        None => Shop::new(&feature),
    };
    shop.at(100_000).asked("query", "red shoes")
}

#[test]
fn every_method_of_field_match_extracts_a_value() {
    for (method, task) in METHODS {
        let (query, item) = if task == Some(Task::Embed) { ("a", "ab") } else { ("red shoes", "Red shoe") };
        let shop = matching(method, task, "90d").asked("query", query).item("a", [("title", item.into())]);
        for rows in [shop.rows(["a"]), shop.training_rows(["a"])] {
            assert!(rows[0][0].is_finite() && rows[0][0] != 0.0, "{method}: {rows:?}");
        }
        assert!(shop.rows([]).is_empty(), "{method}");
    }
}

#[test]
fn no_method_of_field_match_reads_what_is_never_kept() {
    let bits = |shop: &Shop| shop.rows(["x", "y"]).into_iter().flatten().map(f32::to_bits).collect::<Vec<_>>();
    for (method, task) in METHODS {
        let query = if task == Some(Task::Embed) { "ab" } else { "red shoes" };
        let shop = |ttl| matching(method, task, ttl).asked("query", query);
        let title = || [("title", Value::Text(if task.is_some() { "ab" } else { "Red shoe" }.into()))];
        let told = |ttl| bits(&shop(ttl).item("x", title()).item("y", title()));
        assert_eq!(told("0s"), bits(&shop("0s")), "{method}");
        let by_id = method.contains("itemFieldCache"); // nothing is stored
        assert_eq!(told("1d") == bits(&shop("1d")), by_id, "{method}");
    }
}
