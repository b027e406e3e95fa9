#![allow(clippy::unwrap_used)]

use super::bags::ANALYSED;
use super::*;
use crate::encode::NoEncoders;
use crate::testing::{Shop, assert_rows, ready, told};
use crate::{Plan, readers};
use rankwright_config::Config;
use rankwright_config::feature::{self, Feature};
use rankwright_state::MemoryStore;
use rankwright_text::Language;

const DICTIONARY: &str = "samples/termfreq.json";
const PAGE: &str = include_str!("../../../../../../../docs/features.md");

fn definition(name: &str, method: &str) -> String {
    format!(
        "{{name: {name}, type: field_match, rankingField: ranking.query, itemField: item.title, method: {{{method}}}}}"
    )
}

fn shop(method: &str) -> Shop {
    Shop::new(&definition("match", &format!("type: {method}")))
}

fn texts_of(texts: &[&str]) -> Value {
    Value::Texts(texts.iter().map(|&text| text.into()).collect())
}

fn features(methods: &[&str]) -> Vec<Feature> {
    config(methods).features
}

fn config(methods: &[&str]) -> Config {
    let listed: String = methods
        .iter()
        .zip(0..)
        .map(|(method, name)| format!("  - {}\n", definition(&format!("f{name}"), method)))
        .collect();
    Config::parse(&format!("features:\n{listed}"), "test").unwrap().0
}

fn compiled(methods: &[&str]) -> Result<Plan, Error> {
    ready(Plan::compile(&features(methods), &MemoryStore::default()))
}

fn fingerprint(method: &str) -> u64 {
    compiled(&[method]).unwrap().columns()[0].fingerprint
}

#[test]
fn the_documentation_shows_what_is_computed() {
    let section = PAGE.split("## ").find(|section| section.starts_with("field_match")).unwrap();
    let (_, examples) = section.split_once("Examples by hand").unwrap();
    let rows: Vec<_> = examples.lines().filter(|line| line.starts_with("| `")).collect();
    assert!(rows.len() >= 10, "{rows:?}");
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [method, query, text, _, value] = cells[..] else { panic!("{row}") };
        let method = method.trim_matches('`').replace("bm25", &format!("bm25, termFreq: {DICTIONARY}"));
        let text = match text.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
            Some(list) => texts_of(&list.split(", ").collect::<Vec<_>>()),
            None => text.into(),
        };
        let found = shop(&method).item("a", [("title", text)]).asked("query", query).rows(["a"])[0][0];
        assert!((f64::from(found) - value.parse::<f64>().unwrap()).abs() < 5e-5, "{found} of {row}");
    }
}

#[test]
fn what_is_absent_or_no_text_is_missing_and_what_has_no_terms_is_0() {
    for method in
        ["term, language: en", "ngram, language: en, n: 3", "bm25, language: en, termFreq: samples/termfreq.json"]
    {
        let shop = shop(method)
            .item("text", [("title", "red shoes".into())])
            .item("stop", [("title", "the".into())])
            .item("number", [("title", 7.0.into())])
            .item("other", [("price", 7.0.into())]);
        let items = ["text", "stop", "number", "other", "unknown"];
        let (nan, missing) = (f32::NAN, [[f32::NAN]; 5]);
        assert_rows(&shop.rows(items), missing);
        let shop = shop.asked("query", "of a");
        assert_rows(&shop.rows(items), [[0.0], [0.0], [nan], [nan], [nan]]);
        let shop = shop.asked("query", 7.0);
        assert_rows(&shop.rows(items), missing);
    }
}

#[test]
fn a_text_that_becomes_something_else_is_forgotten() {
    let shop = shop("term, language: en").asked("query", "red").item("a", [("title", "red".into())]);
    assert_rows(&shop.rows(["a"]), [[1.0]]);
    assert_rows(&shop.at(1).item("a", [("title", 7.0.into())]).rows(["a"]), [[f32::NAN]]);
}

#[test]
fn lists_count_as_one_text_on_both_sides() {
    let query = || texts_of(&["red", "boots", "hat"]);
    let terms = shop("term, language: en").item("a", [("title", texts_of(&["red", "hat"]))]);
    assert_rows(&terms.asked("query", query()).rows(["a"]), [[2.0 / 3.0]]);
    let title = texts_of(&["red", "leather winter", "hood"]);
    let bm25 = shop(&format!("bm25, language: en, termFreq: {DICTIONARY}")).item("a", [("title", title)]);
    assert_rows(&bm25.asked("query", query()).rows(["a"]), [[4.4_f32.ln() / 2.2]]);
}

#[test]
fn a_text_that_comes_with_the_request_takes_the_place_of_the_stored_one() {
    let shop = shop("term, language: en").item("a", [("title", "blue".into())]).asked("query", "red");
    let shop = shop.sent("a", "title", "Red").sent("b", "title", texts_of(&["red", "hat"])).sent("c", "title", 1.0);
    assert_rows(&shop.rows(["a", "b", "c"]), [[1.0], [0.5], [f32::NAN]]);
}

#[test]
fn an_item_may_bring_a_query_of_its_own() {
    let shop = shop("term, language: en").item("a", [("title", "red".into())]).item("b", [("title", "red".into())]);
    let shop = shop.asked("query", "red").sent("b", "query", "red hat");
    assert_rows(&shop.rows(["a", "b", "a"]), [[1.0], [0.5], [1.0]]);
}

#[test]
fn a_text_older_than_its_ttl_is_missing() {
    let feature = definition("m", "type: term, language: en").replacen('{', "{ttl: 1h, ", 1);
    let shop = Shop::new(&feature).item("a", [("title", "red".into())]).asked("query", "red").at(3600);
    assert_rows(&shop.rows(["a"]), [[1.0]]);
    assert_rows(&shop.at(3601).rows(["a"]), [[f32::NAN]]);
}

#[test]
fn the_id_of_an_item_is_a_text() {
    let feature = definition("m", "type: term, language: generic").replace("item.title", "item.id");
    let shop = Shop::new(&feature).item("b", [("id", "red".into())]).asked("query", "Red");
    assert_rows(&shop.rows(["red", "b", "c"]), [[1.0], [1.0], [0.0]]);
}

#[test]
fn the_field_itself_is_read_as_ever() {
    let shop = Shop::with(&[
        "{name: words, type: word_count, field: item.title}",
        &definition("m", "type: term, language: en"),
    ]);
    let shop = shop.item("a", [("title", "the red shoes".into())]).asked("query", "red");
    assert_rows(&shop.rows(["a"]), [[3.0, 0.5]]);
}

#[test]
fn methods_that_need_the_same_terms_share_them() {
    let bm25 = "type: bm25, language: en, termFreq: samples/termfreq.json";
    let shared =
        readers(&config(&["type: term, language: en", bm25, "type: term, language: English"]), &NoEncoders).unwrap();
    assert_eq!(shared.into_values().collect::<Vec<_>>(), [["f0", "f1", "f2"]]);
    let others = [
        "type: term, language: en",
        "type: term, language: de",
        "type: ngram, language: en, n: 3",
        "type: ngram, language: en, n: 4",
    ];
    assert_eq!(readers(&config(&others), &NoEncoders).unwrap().len(), others.len());
}

#[test]
fn what_is_stored_is_known_without_the_dictionary() {
    let stored = readers(&config(&["type: bm25, language: en, termFreq: /nowhere.json"]), &NoEncoders).unwrap();
    assert_eq!(stored.len(), 1);
}

#[test]
fn another_method_language_or_dictionary_is_another_column() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, from: &str, to: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, std::fs::read_to_string(DICTIONARY).unwrap().replace(from, to)).unwrap();
        format!("type: bm25, language: en, termFreq: {}", path.display())
    };
    let sample = format!("type: bm25, language: en, termFreq: {DICTIONARY}");
    assert_eq!(
        fingerprint(&sample),
        fingerprint(&write("same.json", "", "")),
        "the place of a dictionary is of no account"
    );
    let changed = write("changed.json", "\"red\": 2", "\"red\": 3");
    let mut all = [
        &sample,
        &changed,
        "type: term, language: en",
        "type: term, language: de",
        "type: ngram, language: en, n: 3",
        "type: ngram, language: en, n: 4",
    ]
    .map(fingerprint);
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
}

#[test]
fn a_dictionary_that_is_of_no_use_is_refused_with_its_path() {
    let refused = |keys: &str| told(&compiled(&[&format!("type: bm25, {keys}")]).err().unwrap());
    let nowhere = refused("language: en, termFreq: /nowhere.json");
    assert!(nowhere.starts_with("feature 'f0': failed to open its term dictionary: "), "{nowhere}");
    assert!(nowhere.contains("/nowhere.json") && nowhere.contains("No such file"), "{nowhere}");
    let page = refused("language: en, termFreq: ../../../docs/features.md");
    assert!(page.contains("../../../docs/features.md is no term-frequency dictionary"), "{page}");
    let german = refused(&format!("language: de, termFreq: {DICTIONARY}"));
    let expected = "feature 'f0': its language is de, and that of its term dictionary samples/termfreq.json is en: \
                    terms of one do not match those of the other";
    assert_eq!(german, expected);
}

#[test]
fn every_language_of_configurations_has_rules() {
    for language in Language::all() {
        assert_eq!(compiled(&[&format!("type: term, language: {language}")]).err().map(|error| told(&error)), None);
    }
    let unknown = Config::parse(&format!("features: [{}]", definition("f", "type: term, language: xx")), "test");
    let codes: Vec<_> = Language::all().map(Language::code).collect();
    let unknown = unknown.unwrap_err().to_string();
    assert!(unknown.contains(&codes.join(", ")), "{unknown}");
}

#[test]
fn configurations_and_dictionaries_know_languages_by_the_same_names() {
    let known: Vec<_> = Language::all().map(|language| (language.code(), language.names())).collect();
    assert_eq!(rankwright_config::feature::LANGUAGES.to_vec(), known);
    for (code, names) in known {
        for name in names.iter().map(|name| name.to_uppercase()).chain([code.to_uppercase(), code.to_owned()]) {
            let text = format!("features: [{}]", definition("f", &format!("type: term, language: '{name}'")));
            let (config, _) = Config::parse(&text, "test").unwrap();
            let feature::Kind::FieldMatch(of) = &config.features[0].kind else { panic!("{name}") };
            assert_eq!(of.method, feature::MatchMethod::Term { language: code }, "{name}");
        }
    }
}

#[test]
fn strange_texts_are_analysed_like_others() {
    let long = "red shoes ".repeat(10_000);
    let word = "x".repeat(100_000);
    let strange = [
        "red \u{0} \u{7}\u{1b}[31m\u{200b}\u{feff}",
        "红色 красный red",
        "\u{202e}der\u{301} 🦀 ﬁ",
        "((((",
        &long,
        &word,
    ];
    for method in
        ["term, language: en", "ngram, language: zh, n: 2", "bm25, language: en, termFreq: samples/termfreq.json"]
    {
        for text in strange {
            let shop = shop(method).item("a", [("title", text.into())]).item("b", [("title", "red".into())]);
            let shop = shop.asked("query", text);
            let rows = shop.rows(["a", "b"]);
            assert!(
                rows.iter().flatten().all(|value| value.is_finite() && *value >= 0.0),
                "{method} {text:?} {rows:?}"
            );
        }
    }
    let shop = shop("term, language: en").item("a", [("title", long.as_str().into())]).asked("query", "red boots");
    assert_rows(&shop.rows(["a"]), [[1.0 / 3.0]]);
}

#[test]
fn features_of_one_analysis_share_the_terms_of_the_query() {
    let bm25 = format!("bm25, language: en, termFreq: {DICTIONARY}");
    let methods = ["term, language: en", &bm25, "ngram, language: en, n: 3", "ngram, language: en, n: 2"];
    let named =
        methods.iter().enumerate().map(|(place, method)| definition(&format!("f{place}"), &format!("type: {method}")));
    let shop = Shop::with(&named.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>());
    let shop = shop.item("a", [("title", "red shoes".into())]).item("b", [("title", "red hats".into())]);
    let analysed = |shop: &Shop| {
        ANALYSED.set(0);
        let rows = shop.rows(["a", "b"]);
        assert!(rows.iter().flatten().all(|value| *value > 0.0), "{rows:?}");
        ANALYSED.get()
    };
    let shop = shop.asked("query", "red shoe");
    assert_eq!(analysed(&shop), 3, "terms, and grams of two lengths");
    assert_eq!(analysed(&shop.sent("b", "query", "red hat")), 6, "an item of its own query");
}

/// What is stored by then would no longer be what a request has: the number says so.
#[test]
fn a_changed_analysis_needs_a_new_number() {
    let texts = "The quick brown foxes' generalizations, possibly technology for us; l'avion des chemises rouges, die roten Schuhe, las camisas; příliš \
                 žluťoučký kůň; größere Straße; το κόκκινο φόρεμα, ΤΟΥΣ ΑΥΤΗΣ; kırmızı ayakkabılar; Air™ ﬁn Ⅳ; الأحذية الحمراء; 我的红色连衣裙; 赤い靴を買う";
    let mut bytes = Vec::new();
    for language in Language::all() {
        for grams in [None, Some(3)] {
            let analysis = Analysis { analyzer: Analyzer::new(language), grams };
            bytes.extend(analysis.bag([texts]).to_bytes());
        }
    }
    let digest = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let versions = [Language::Greek, Language::English].map(Language::analysis);
    assert_eq!(
        (versions, digest),
        ([3, 2], 663_035_281_497_073_013),
        "with another digest, the number of the language before it goes up"
    );
}
