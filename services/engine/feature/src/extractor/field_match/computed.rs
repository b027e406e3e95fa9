//! Tests of `field_match` with a model of texts.
#![allow(clippy::unwrap_used)]

use crate::encode::{Models, NoEncoders};
use crate::extractor::compiler::Compile;
use crate::plan::Plan;
use crate::slot::Slots;
use crate::testing::letters::{Alphabet, Letters};
use crate::testing::{Shop, assert_rows, ready, told};
use crate::{Encoders, readers};
use rankwright_config::Config;
use rankwright_encoder::Task;
use rankwright_event::Value;
use rankwright_state::MemoryStore;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const NAN: f32 = f32::NAN;
const HALF: f32 = std::f32::consts::FRAC_1_SQRT_2; // cosine of half a right angle

fn definition(method: &str) -> String {
    format!("{{name: m, type: field_match, rankingField: ranking.query, itemField: item.title, method: {{{method}}}}}")
}

fn bi(more: &str) -> String {
    definition(&format!("type: bi-encoder, dim: 2, model: a/letters{more}"))
}

fn cross(more: &str) -> String {
    definition(&format!("type: cross-encoder, model: a/letters{more}"))
}

fn shop(feature: &str, model: &Alphabet) -> Shop {
    Shop::encoded(&[feature], model)
}

fn compiled(feature: &str, encoders: &dyn Encoders) -> Result<Plan, String> {
    let (config, _) = Config::parse(&format!("features: [{feature}]"), "test").unwrap();
    ready(Plan::compile_with(&config.features, &MemoryStore::default(), encoders)).map_err(|error| told(&error))
}

fn asked(model: &Alphabet) -> Vec<String> {
    std::mem::take(&mut *model.0.asked.lock())
}

#[test]
fn an_items_embedding_is_computed_when_its_event_comes_in_and_the_querys_with_the_ranking() {
    let model = Letters::of(Task::Embed);
    let shop = shop(&bi(""), &model).item("both", [("title", "ab".into())]).item("other", [("title", "bb".into())]);
    assert_eq!(asked(&model), ["ab", "bb"]);
    let shop = shop.asked("query", "a");
    assert_rows(&shop.rows(["both", "other", "unknown"]), [[HALF], [0.0], [NAN]]);
    assert_eq!(asked(&model), ["a"], "once for all items");
    assert_rows(&shop.training_rows(["both"]), [[HALF]]);
    let dot = bi("").replacen('{', "{distance: dot, ", 1);
    let list = Value::Texts(vec!["ba".into(), "b".into()]);
    let shop = Shop::encoded(&[&dot], &model).item("list", [("title", list)]).asked("query", "ab");
    assert!((shop.rows(["list"])[0][0] - 3.0).abs() < 0.02, "a byte for each number");
}

#[test]
fn what_files_have_is_not_computed() {
    let model = Letters::of(Task::Embed);
    let files = ", itemFieldCache: samples/items.csv, rankingFieldCache: samples/queries.csv";
    let shop = shop(&bi(files), &model).item("a", [("title", "bb".into())]).item("x", [("title", "ab".into())]);
    assert_eq!(asked(&model), ["ab"], "item a is in the file");
    let shop = shop.asked("query", "red shoes"); // 4,3
    let rows = shop.rows(["a", "x"]);
    assert!((rows[0][0] - 0.96).abs() < 1e-6 && (rows[1][0] - 0.7 * 2_f32.sqrt()).abs() < 1e-5, "{rows:?}");
    assert_eq!(asked(&model), Vec::<String>::new());
    assert_rows(&shop.asked("query", "b").rows(["a"]), [[0.8]]);
    assert_eq!(asked(&model), ["b"]);
}

#[test]
fn a_text_that_comes_with_the_request_is_computed_with_it() {
    let model = Letters::of(Task::Embed);
    let shop = shop(&bi(""), &model).item("i", [("title", "bb".into())]).asked("query", "a");
    let shop = shop.sent("i", "title", "ab").sent("j", "title", "a").sent("k", "title", 7.0);
    assert_rows(&shop.rows(["i", "j", "k"]), [[HALF], [1.0], [NAN]]);
    let id = bi("").replace("item.title", "item.id");
    let shop = Shop::encoded(&[&id], &model).item("x", [("id", "ab".into())]).asked("query", "a");
    assert_rows(&shop.rows(["aaa", "x", "bab"]), [[1.0], [HALF], [1.0 / 5.0_f32.sqrt()]]);
}

#[test]
fn what_is_not_computed_in_time_is_missing_and_counted() {
    let model = Letters::of(Task::Embed);
    let shop = shop(&bi(""), &model).item("i", [("title", "ab".into())]).asked("query", "a");
    let texts = shop.texts(["i"]);
    assert_eq!((texts.len(), texts.is_empty()), (1, false));
    let (late, done) = (texts.encode(Some(Instant::now())), texts.encode(None));
    assert_eq!((late.absent(), done.absent()), (1, 0));
    assert_rows(&shop.rows_with(["i"], &late), [[NAN]]);
    assert_rows(&shop.rows_with(["i"], &done), [[HALF]]);
    let model = Letters::of(Task::Score);
    let shop = Shop::encoded(&[&cross("")], &model).item("i", [("title", "ab".into())]).asked("query", "a");
    let late = shop.texts(["i"]).encode(Some(Instant::now()));
    assert_rows(&shop.rows_with(["i"], &late), [[NAN]]);
}

#[test]
fn a_text_that_a_model_refuses_is_missing_alone_and_forgets_what_was_stored() {
    let model = Letters::of(Task::Embed);
    let shop = shop(&bi(""), &model).item("i", [("title", "a".into())]).item("k", [("title", "a".into())]);
    let shop = shop.at(1).item("i", [("title", "a!".into())]).asked("query", "a");
    let shop = shop.sent("j", "query", "!").sent("j", "title", "a");
    assert_rows(&shop.rows(["i", "j", "k"]), [[NAN], [NAN], [1.0]]);
    assert_rows(&shop.at(2).item("k", [("title", 7.0.into())]).rows(["k"]), [[NAN]]);
}

#[test]
fn what_a_model_failed_at_when_the_event_came_in_is_computed_with_rankings() {
    let model = Letters::of(Task::Embed);
    let broken = |is: bool| model.0.broken.store(is, Ordering::Relaxed);
    broken(true);
    let shop = shop(&bi(""), &model).item("i", [("title", "ab".into())]).asked("query", "a");
    assert_rows(&shop.rows(["i"]), [[NAN]]);
    broken(false);
    assert_rows(&shop.rows(["i"]), [[HALF]]);
    assert_eq!(asked(&model), ["a", "ab"]);
}

#[test]
fn a_pairs_score_is_computed_where_the_file_lacks_it() {
    let model = Letters::of(Task::Score);
    let shop = shop(&cross(", cache: samples/pairs.csv"), &model)
        .item("shoe", [("title", "Red shoe".into())])
        .item("hat", [("title", "hat".into())])
        .asked("query", "red shoes");
    assert_rows(&shop.rows(["shoe", "hat", "unknown"]), [[0.75], [12.0], [NAN]]);
    assert_eq!(asked(&model), ["red shoes|hat"]);
    assert_rows(&shop.sent("x", "title", "ab").training_rows(["x"]), [[11.0]]);
}

#[test]
fn what_events_need_is_foreseen() {
    let model = Letters::of(Task::Embed);
    let shop = shop(&bi(", rankingFieldCache: samples/queries.csv"), &model);
    let foreseen = |shop: Shop| {
        shop.foreseen(["i"]).encode(None);
        asked(&model)
    };
    assert_eq!(foreseen(shop.asked("query", "a")), ["a"]);
    let shop = Shop::encoded(&[&bi(", rankingFieldCache: samples/queries.csv")], &model);
    assert_eq!(foreseen(shop.asked("query", "red shoes")), Vec::<String>::new());
}

#[test]
fn another_model_is_another_column_and_another_stored_value() {
    let model = Letters::of(Task::Embed);
    let of = |feature: &str| {
        let plan = compiled(feature, &model).unwrap();
        (plan.columns()[0].fingerprint, plan)
    };
    let (known, other, cached) =
        (of(&bi("")), of(&bi("").replace("a/letters", "b/c")), of(&bi(", itemFieldCache: samples/items.csv")));
    assert!(known.0 != other.0 && known.0 != cached.0 && known.0 == of(&bi("")).0);
    let both = format!("{}, {}", bi(""), bi("").replace("a/letters", "b/c").replace("name: m", "name: n"));
    assert_eq!(compiled(&both, &model).unwrap().retention().len(), 2);
    let twice = format!("{}, {}", bi(""), bi("").replace("name: m", "name: n"));
    assert_eq!(compiled(&twice, &model).unwrap().retention().len(), 1);
}

#[test]
fn digests_of_columns_and_stored_values_stay_as_they_are() {
    let (embeds, scores) = (Letters::of(Task::Embed), Letters::of(Task::Score));
    let files = ", itemFieldCache: samples/items.csv, rankingFieldCache: samples/queries.csv";
    let dot = bi("").replacen('{', "{distance: dot, ", 1);
    let found: Vec<String> = [(bi(""), &embeds), (dot, &embeds), (bi(files), &embeds), (cross(""), &scores)]
        .iter()
        .map(|(feature, model)| {
            let (config, _) = Config::parse(&format!("features: [{feature}]"), "test").unwrap();
            let mut models = Models::default();
            let of = config.features[0].kind.clone();
            let rankwright_config::feature::Kind::FieldMatch(of) = of else { panic!("{feature}") };
            models.add(of.model().unwrap(), *model).map(|_| ()).unwrap();
            if feature.contains("Cache") {
                let file = crate::caches::vectors("samples/items.csv", 2, "m").unwrap();
                models.keep("samples/items.csv", 2, file);
            }
            let mut slots = Slots::with(&models);
            of.need(Duration::from_secs(1), &mut slots);
            let stored: Vec<_> = slots.fingerprints().map(|stored| format!("{:016x}", stored.0)).collect();
            let column = compiled(feature, *model).unwrap().columns()[0].fingerprint;
            format!("{column:016x} {}", stored.join(" "))
        })
        .collect();
    let expected = [
        "9a589340f2d3b7a5 3f17b7e46c9970c7",
        "3fce58bf531498e1 3f17b7e46c9970c7", // another column of the same stored value
        "b3806297d6209801 4595a5907c51c694",
        "35d7e20eb8613243 2eed38fc2453159c",
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_a_model_stores_is_that_of_its_feature_where_the_model_is_open() {
    let (config, _) = Config::parse(&format!("features: [{}]", bi("")), "test").unwrap();
    let stored = readers(&config, &Letters::of(Task::Embed)).unwrap();
    assert_eq!(stored.into_values().collect::<Vec<_>>(), [["m"]]);
    assert!(readers(&config, &NoEncoders).unwrap().is_empty());
}

#[test]
fn a_model_that_is_of_no_use_is_refused() {
    let refused = |feature: &str, encoders: &dyn Encoders| compiled(feature, encoders).err().unwrap();
    let begin = "feature 'm': failed to open its model a/letters: ";
    let (embeds, scores) = (Letters::of(Task::Embed), Letters::of(Task::Score));
    assert_eq!(refused(&bi(""), &NoEncoders), format!("{begin}this program opens no models of texts"));
    assert_eq!(refused(&bi(""), &scores), format!("{begin}it computes scores of pairs: it is a cross-encoder"));
    assert_eq!(refused(&cross(""), &embeds), format!("{begin}it computes embeddings: it is a bi-encoder"));
    let wide = bi("").replace("dim: 2", "dim: 3");
    assert_eq!(refused(&wide, &embeds), format!("{begin}its embeddings have 2 dimensions, not 3"));
    assert!(refused(&bi(", itemFieldCache: /nowhere.csv"), &embeds).contains("/nowhere.csv"));
}

#[test]
fn features_without_a_model_need_no_texts() {
    let shop = Shop::new(&definition("type: term, language: en")).asked("query", "a");
    assert!(shop.texts(["i"]).is_empty() && shop.foreseen(["i"]).is_empty());
}
