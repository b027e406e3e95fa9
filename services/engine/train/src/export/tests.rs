use super::*;
use crate::testing::{clicked, column, record, store};
use parquet::file::reader::{FileReader, SerializedFileReader};
use rankwright_clickthrough::{Clickthrough, Rows};
use rankwright_config::Model;
use rankwright_config::{Config, model::Selector};
use std::fs;

/// A model over the columns `price`, `color` (a category) and `in stock`.
fn config(options: &str) -> LambdaMart {
    let features = ["price", "color", "in stock"].map(|name| format!("{{name: {name}, type: number, field: item.f}}"));
    let text = format!(
        "models: {{m: {{type: lambdamart, weights: {{click: 1}}, features: [price, color, in stock], split: time=75%, \
         {options}}}}}\nfeatures: [{}]",
        features.join(", ")
    );
    let (config, _) = Config::parse(&text, "test").unwrap_or_else(|errors| panic!("{errors}"));
    match config.models.into_values().next() {
        Some(Model::LambdaMart(model)) => model,
        _ => unreachable!("it is the only model"),
    }
}

fn columns() -> Vec<Column> {
    let mut columns = ["price", "color", "in stock"].map(column);
    columns[1].categorical = true;
    columns.to_vec()
}

/// A ranking of two items, at a time of its own.
fn shown(number: i64, values: [f32; 6]) -> Clickthrough {
    let rows = Rows { width: 3, values: values.to_vec() };
    let timestamp = Timestamp::from_millis(number);
    Clickthrough { rows, timestamp, ..clicked(record(&format!("r{number}"), 2), &[1]) }
}

/// Three rankings for training, one for testing.
fn four() -> Vec<Clickthrough> {
    let missing = f32::NAN;
    vec![
        shown(1, [1.5, 2.0, missing, 0.1, 0.0, 1.0]),
        shown(2, [missing, missing, missing, 0.0, 1.0, 0.0]),
        shown(3, [-7.0, 1.0, 1.0, 1e-7, 2.0, 1.0]),
        shown(4, [3.0, 0.0, 0.0, 4.0, 1.0, 1.0]),
    ]
}

fn export(config: &LambdaMart, records: Vec<Clickthrough>, folder: &Path, parquet: bool) -> Result<Exported, Error> {
    let (columns, store) = (columns(), store(&["price", "color", "in stock"], records));
    let export = Export { name: "m", config, columns: &columns, share: 1.0 };
    export.read(&store, &mut |_| {})?.write(folder, parquet, &mut |_| true)
}

fn exported(options: &str, parquet: bool) -> (tempfile::TempDir, Exported) {
    let folder = tempfile::tempdir().expect("a folder");
    let exported = export(&config(options), four(), folder.path(), parquet).unwrap_or_else(|error| panic!("{error}"));
    (folder, exported)
}

fn text(folder: &tempfile::TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn xgboost_gets_libsvm_with_qid_where_missing_values_are_left_out() {
    let (folder, exported) = exported("backend: {type: xgboost}", false);
    let train = "0 qid:1 0:1.5 1:2 2:nan\n1 qid:1 0:0.1 1:0 2:1\n0 qid:2\n1 qid:2 0:0 1:1 2:0\n\
                 0 qid:3 0:-7 1:1 2:1\n1 qid:3 0:0.0000001 1:2 2:1\n";
    assert_eq!(text(&folder, "train.svm"), train);
    assert_eq!(text(&folder, "test.svm"), "0 qid:4 0:3 1:0 2:0\n1 qid:4 0:4 1:1 2:1\n");
    assert_eq!(text(&folder, "featmap.txt"), "0\tprice\tq\n1\tcolor\tc\n2\tin_stock\tq\n");
    let names = ["train.svm", "test.svm", "featmap.txt", "xgboost.conf"].map(|name| folder.path().join(name)).to_vec();
    assert_eq!(exported, Exported { files: names, train: (3, 6), test: (1, 2), columns: 3 });
    assert_eq!(fs::read_dir(folder.path()).expect("is there").count(), 4, "nothing else is left");
}

#[test]
fn lightgbm_gets_csv_whose_header_it_takes() {
    let (folder, _) = exported("backend: {type: lightgbm}", false);
    let train = "label,group,price,color,in_stock\n0,1,1.5,2,nan\n1,1,0.1,0,1\n0,2,nan,nan,nan\n1,2,0,1,0\n0,3,-7,1,1\n1,3,0.0000001,2,1\n";
    assert_eq!(text(&folder, "train.csv"), train);
    assert_eq!(text(&folder, "test.csv"), "label,group,price,color,in_stock\n0,4,3,0,0\n1,4,4,1,1\n");
    let conf = text(&folder, "lightgbm.conf");
    for line in ["data = train.csv", "group_column = name:group", "categorical_feature = 2", "label_gain = 0,1"] {
        assert!(conf.lines().any(|written| written == line), "{line}: {conf}");
    }
    assert!(!folder.path().join("train.csv.position").exists());
}

#[test]
fn a_configuration_has_every_option_with_the_defaults_filled_in() {
    let (folder, _) = exported("backend: {type: xgboost, learningRate: 0.25, ndcgCutoff: 5}", false);
    let conf = text(&folder, "xgboost.conf");
    let options = [
        "objective = rank:ndcg",
        "ndcg_exp_gain = true",
        "eta = 0.25",
        "max_depth = 8",
        "colsample_bytree = 0.8",
        "num_round = 100",
        "early_stopping_rounds = 20",
        "eval_metric = ndcg@5",
        "seed = 0",
        "data = train.svm?format=libsvm",
    ];
    for line in options {
        assert!(conf.lines().any(|written| written == line), "{line}: {conf}");
    }
    assert!(!conf.contains("nthread"), "{conf}");
    let mut names: Vec<&str> = conf.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "an option is there once: {conf}");
}

#[test]
fn relevance_that_is_not_whole_is_explained_in_the_configuration() {
    let mut half = config("backend: {type: lightgbm}");
    half.weights.insert("click".to_owned(), 0.5);
    let folder = tempfile::tempdir().expect("a folder");
    export(&half, four(), folder.path(), false).expect("is written");
    let conf = text(&folder, "lightgbm.conf");
    assert!(conf.contains("# label 1: relevance 0.5\n") && conf.contains("label_gain = 0,0.414"), "{conf}");
    half.backend.booster = Booster::XgBoost;
    export(&half, four(), folder.path(), false).expect("is written");
    assert!(text(&folder, "train.svm").contains("\n0.41421357 qid:1 "), "{}", text(&folder, "train.svm"));
    assert!(text(&folder, "xgboost.conf").contains("ndcg_exp_gain = false"));
}

#[test]
fn a_model_without_position_bias_brings_positions_for_lightgbm_along() {
    let (folder, _) = exported("backend: {type: lightgbm, debias: true}", false);
    assert_eq!(text(&folder, "train.csv.position"), "0\n1\n0\n1\n0\n1\n");
    export(&config("backend: {type: lightgbm}"), four(), folder.path(), false).expect("is written");
    assert!(!folder.path().join("train.csv.position").exists(), "it would change a training without it");
}

#[test]
fn parquet_has_the_names_of_columns_and_nulls() {
    let (folder, exported) = exported("backend: {type: xgboost}", true);
    assert_eq!(exported.files.len(), 6);
    let file = fs::File::open(folder.path().join("train.parquet")).expect("is there");
    let reader = SerializedFileReader::new(file).unwrap_or_else(|error| panic!("{error}"));
    let metadata = reader.metadata().file_metadata();
    let names: Vec<&str> = metadata.schema_descr().columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, ["label", "group", "price", "color", "in stock"]);
    let told = &metadata.key_value_metadata().expect("is there")[0];
    assert_eq!((told.key.as_str(), told.value.as_deref()), ("rankwright.categorical", Some(r#"["color"]"#)));
    let rows = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row").to_string());
    let rows: Vec<String> = rows.collect();
    assert_eq!(rows[0], "{label: 0E0, group: 1, price: 1.5, color: 2.0, in stock: null}");
    assert_eq!(rows.len(), 6);
    assert!(rows[2].ends_with("price: null, color: null, in stock: null}"), "{}", rows[2]);
    export(&config("backend: {type: xgboost}"), four(), folder.path(), false).expect("is written");
    let left = ["train.parquet", "test.parquet"].map(|name| folder.path().join(name).exists());
    assert_eq!(left, [false; 2], "rows of an earlier export beside new ones");
}

#[test]
fn an_export_that_is_stopped_leaves_what_was_there() {
    let parent = tempfile::tempdir().expect("a folder");
    let (columns, config) = (columns(), config("backend: {type: xgboost}"));
    let stopped = |folder: &Path| {
        let store = store(&["price", "color", "in stock"], four());
        let export = Export { name: "m", config: &config, columns: &columns, share: 1.0 };
        let prepared = export.read(&store, &mut |_| {}).expect("is read");
        let mut seen = Vec::new();
        let ended = prepared.write(folder, false, &mut |rows| {
            seen.push(rows);
            rows < prepared.rows()
        });
        assert_eq!(seen, [6, 8]);
        ended.expect_err("it was stopped").to_string()
    };
    let new = parent.path().join("new");
    assert_eq!(stopped(&new), "interrupted: nothing is written");
    assert!(!new.exists());
    fs::create_dir(&new).expect("can be made");
    fs::write(new.join("train.svm"), "earlier").expect("can be written");
    stopped(&new);
    assert_eq!(fs::read_to_string(new.join("train.svm")).expect("is there"), "earlier");
    assert_eq!(fs::read_dir(&new).expect("is there").count(), 1);
}

#[test]
fn a_place_that_is_no_folder_is_named() {
    let parent = tempfile::tempdir().expect("a folder");
    let file = parent.path().join("file");
    fs::write(&file, "").expect("can be written");
    let error = export(&config("backend: {type: xgboost}"), four(), &file, false).expect_err("it is a file");
    assert_eq!(error.to_string(), format!("{} is a file: name a folder", file.display()));
    let error = export(&config("backend: {type: xgboost}"), four(), &file.join("in"), false).expect_err("no folder");
    assert!(error.to_string().contains(&file.join("in").display().to_string()), "{error}");
}

#[test]
fn a_sample_is_drawn_from_what_the_selector_takes_and_apart_from_its_own_sample() {
    let records: Vec<Clickthrough> = (0..4000).map(|number| shown(number, [1.0; 6])).collect();
    let store = store(&["price", "color", "in stock"], records);
    let columns = columns();
    let mut config = config("backend: {type: xgboost}");
    let lists = |config: &LambdaMart, share| {
        let export = Export { name: "m", config, columns: &columns, share };
        let prepared = export.read(&store, &mut |_| {}).expect("is read");
        prepared.dataset.lists().lengths.len()
    };
    let half = lists(&config, 0.5);
    assert!((1800..2200).contains(&half), "{half}");
    assert_eq!(lists(&config, 0.5), half, "the same ones again");
    config.learning.selector = Selector::Sampling(0.5);
    let quarter = lists(&config, 0.5);
    assert!((850..1150).contains(&quarter), "half of a half: {quarter}");
    let export = Export { name: "m", config: &config, columns: &columns, share: 1e-9 };
    let error = export.read(&store, &mut |_| {}).expect_err("nothing is in it").to_string();
    assert!(error.contains("a sample of 0.000000001 of all click-throughs holds no ranking"), "{error}");
}

#[test]
fn a_feature_without_columns_is_named() {
    let unknown = Export { name: "m", config: &config("backend: {type: xgboost}"), columns: &[], share: 1.0 };
    let error = unknown.read(&store(&["price"], Vec::new()), &mut |_| {}).expect_err("there is no such column");
    assert!(error.to_string().contains("uses feature \"price\", which is not defined"), "{error}");
}
