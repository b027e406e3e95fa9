//! Scores equal those of the libraries, to the last bit, on models that they trained.
#![allow(clippy::unwrap_used)]

use rankwright_event::Timestamp;
use rankwright_model::{Ensemble, Kind, Metadata, Model, Version};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

/// Rows of numbers; an empty one is missing.
struct Rows {
    values: Vec<f32>,
    width: usize,
}

impl Rows {
    fn csv(text: &str) -> Self {
        let value = |cell: &str| if cell.is_empty() { f32::NAN } else { cell.parse().unwrap() };
        let rows: Vec<Vec<f32>> = text.lines().map(|line| line.split(',').map(value).collect()).collect();
        Self { width: rows[0].len(), values: rows.concat() }
    }

    /// LibSVM: `label column:value …`, where columns without a value are 0; `single` rounds.
    fn libsvm(text: &str, width: usize, single: impl Fn(f64) -> f32) -> Self {
        let mut values = Vec::new();
        for line in text.lines() {
            let mut row = vec![0.0; width];
            for (column, value) in line.split_ascii_whitespace().filter_map(|cell| cell.split_once(':')) {
                row[column.parse::<usize>().unwrap()] = single(value.parse().unwrap());
            }
            values.extend(row);
        }
        Self { values, width }
    }

    fn scores(&self, ensemble: &Ensemble) -> Vec<f64> {
        let mut scores = vec![0.0; self.values.len() / self.width];
        ensemble.score(&self.values, self.width, &mut scores);
        scores
    }
}

fn doubles(text: &str) -> Vec<f64> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Floats, as they were printed: read as doubles they would be other numbers.
fn singles(text: &str) -> Vec<f64> {
    text.lines().map(|line| f64::from(line.parse::<f32>().unwrap())).collect()
}

/// Rows whose score is another number than the expected one, be it by the last bit.
fn differing(scores: &[f64], expected: &[f64]) -> Vec<usize> {
    assert_eq!(scores.len(), expected.len());
    (0..scores.len()).filter(|&row| scores[row].to_bits() != expected[row].to_bits()).collect()
}

fn sample(name: &str) -> Vec<u8> {
    fs::read(format!("samples/trained/{name}")).unwrap()
}

fn sample_text(name: &str) -> String {
    String::from_utf8(sample(name)).unwrap()
}

/// A folder with real data, or `None` after a line that says so.
fn shared(folder: &str) -> Option<PathBuf> {
    let root = env::var_os("RANKWRIGHT_SHARED").map(PathBuf::from);
    let root = root.unwrap_or_else(|| PathBuf::from("../../../../shared"));
    let found = root.join("data/fixtures").join(folder);
    if found.is_dir() {
        return Some(found);
    }
    assert!(env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{} is missing", found.display());
    eprintln!("SKIPPED: {} is missing", found.display());
    None
}

#[test]
fn lightgbm_samples_score_as_the_library_does_with_each_way_to_treat_missing_values() {
    let rows = Rows::csv(&sample_text("rows.csv"));
    for name in ["nan", "zero", "none"] {
        let ensemble = Ensemble::lightgbm(&sample(&format!("lightgbm-{name}.txt"))).unwrap();
        let expected = doubles(&sample_text(&format!("lightgbm-{name}.scores.txt")));
        assert_eq!(differing(&rows.scores(&ensemble), &expected), [0; 0], "{name}");
    }
}

#[test]
fn xgboost_samples_score_as_the_library_does_in_both_formats() {
    let rows = Rows::csv(&sample_text("rows.csv"));
    let expected = singles(&sample_text("xgboost.scores.txt"));
    for name in ["xgboost.ubj", "xgboost.json"] {
        let ensemble = Ensemble::xgboost(&sample(name)).unwrap();
        assert_eq!(differing(&rows.scores(&ensemble), &expected), [0; 0], "{name}");
    }
}

#[test]
fn lightgbm_reference_scores_are_met_to_the_bit() {
    let Some(folder) = shared("lightgbm-lambdarank") else { return };
    // that model was trained on doubles, one of which has a threshold less than a float away from it: above
    let round_down =
        |value: f64| if f64::from(value as f32) > value { (value as f32).next_down() } else { value as f32 };
    let rows = Rows::libsvm(&fs::read_to_string(folder.join("rank.test")).unwrap(), 301, round_down);
    let ensemble = Ensemble::lightgbm(&fs::read(folder.join("reference/lightgbm.txt")).unwrap()).unwrap();
    let expected = doubles(&fs::read_to_string(folder.join("reference/lightgbm.scores.txt")).unwrap());
    assert_eq!(differing(&rows.scores(&ensemble), &expected), [0; 0]);
    assert_eq!((ensemble.trees(), expected.len()), (100, 768));
}

#[test]
fn xgboost_reference_scores_are_met_to_the_bit() {
    let Some(folder) = shared("lightgbm-lambdarank") else { return };
    let expected = singles(&fs::read_to_string(folder.join("reference/xgboost.scores.txt")).unwrap());
    let text = fs::read_to_string(folder.join("rank.test")).unwrap();
    for name in ["xgboost.ubj", "xgboost.json"] {
        let ensemble = Ensemble::xgboost(&fs::read(folder.join("reference").join(name)).unwrap()).unwrap();
        let rows = Rows::libsvm(&text, 301, |value| value as f32);
        assert_eq!(differing(&rows.scores(&ensemble), &expected), [0; 0], "{name}");
    }
}

#[test]
fn a_row_scores_the_same_alone_and_among_others() {
    let rows = Rows::csv(&sample_text("rows.csv"));
    let ensemble = Ensemble::lightgbm(&sample("lightgbm-zero.txt")).unwrap();
    let all = rows.scores(&ensemble);
    for (row, expected) in rows.values.chunks(rows.width).zip(all) {
        let alone = Rows { values: row.to_vec(), width: rows.width };
        assert_eq!(alone.scores(&ensemble), [expected]);
    }
}

#[test]
fn more_columns_change_nothing_and_absent_ones_are_missing() {
    let rows = Rows::csv(&sample_text("rows.csv"));
    let ensemble = Ensemble::xgboost(&sample("xgboost.ubj")).unwrap();
    let with = |width: usize, value: f32| {
        let resized = rows.values.chunks(rows.width).flat_map(|row| {
            let mut row = row.to_vec();
            row.resize(width, value);
            row
        });
        Rows { values: resized.collect(), width }
    };
    assert_eq!(with(rows.width + 3, 9.0).scores(&ensemble), rows.scores(&ensemble));
    let blank = with(5, 0.0);
    let padded: Vec<f32> = blank.values.chunks(5).flat_map(|row| [row, &[f32::NAN; 3]].concat()).collect();
    assert_eq!(blank.scores(&ensemble), Rows { values: padded, width: 8 }.scores(&ensemble));
    assert_eq!(ensemble.columns(), rows.width);
}

fn version(kind: Kind, booster: Vec<u8>) -> Version {
    let metadata = Metadata {
        model: "m".into(),
        kind,
        created_at: Timestamp::from_millis(0),
        columns: Vec::new(),
        metrics: BTreeMap::new(),
        iterations: 12,
        weights: Vec::new(),
        trained_on: None,
        settings: Default::default(),
        replaced: None,
        record: Default::default(),
    };
    Version::new(metadata, Vec::new(), booster).unwrap()
}

#[test]
fn a_stored_version_scores_as_its_booster_does() {
    let rows = Rows::csv(&sample_text("rows.csv"));
    for (kind, name) in [(Kind::LightGbm, "lightgbm-nan.txt"), (Kind::XgBoost, "xgboost.ubj")] {
        let stored = Version::decode(&version(kind, sample(name)).encode().unwrap()).unwrap();
        let direct = match kind {
            Kind::XgBoost => Ensemble::xgboost(stored.body()),
            _ => Ensemble::lightgbm(stored.body()),
        };
        let scores = Model::load(&stored).unwrap().score(1, &rows.values, rows.width, 64);
        assert_eq!(scores, rows.scores(&direct.unwrap()));
    }
}

#[test]
fn a_version_with_the_bytes_of_another_booster_is_refused_by_name() {
    let error = Model::load(&version(Kind::XgBoost, sample("lightgbm-nan.txt"))).unwrap_err();
    assert!(error.to_string().starts_with("failed to load version 19700101T"), "{error}");
    assert!(error.source.to_string().starts_with("malformed XGBoost model at byte 0"), "{}", error.source);
}
