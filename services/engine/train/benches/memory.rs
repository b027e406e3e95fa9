//! How much memory a training takes: click-throughs of 24 items with 25 columns, in parts; in a bucket where
//! `RANKWRIGHT_TEST_S3` names a server, else in a folder.
//!
//! `cargo bench -p rankwright-train --bench memory [-- LISTS [ROUNDS]]`; a million lists, ten rounds. Rounds add nothing
//! but their trees. Each booster trains in a process of its own, whose greatest resident memory is read at its end; a
//! third one shows what values that are missing cost. Takes 6 GB below `TMPDIR`, of which a bucket's server has a part.
#![allow(clippy::unwrap_used)]

use rankwright_clickthrough::store::file::FileSettings;
use rankwright_clickthrough::store::s3::S3Settings;
use rankwright_clickthrough::testing::{header, ranking};
use rankwright_clickthrough::{Clickthrough, ClickthroughStore, FileStore, Format, S3Store};
use rankwright_config::Model;
use rankwright_config::model::{Backend, Booster, Gate, LambdaMart, Learning, Metric, Selector, Split, SplitStrategy};
use rankwright_config::{ClickthroughStore as Stored, Config};
use rankwright_event::Timestamp;
use rankwright_model::{Column, MemoryVersions};
use rankwright_object::testing::own_bucket;
use rankwright_train::{Progress, train_model};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

const ITEMS: usize = 24;
const COLUMNS: usize = 25;
/// What a training of a million lists may take.
const TARGET: &str = "2,000 MB for 1,000,000 lists";

/// Set in the processes that train: a booster's name, and where the parts are, as the section `train` of a configuration.
const TRAINED: &str = "RANKWRIGHT_BENCH_BOOSTER";
const PLACE: &str = "RANKWRIGHT_BENCH_PLACE";

fn main() {
    rankwright_train::restart_with_patient_threads();
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let number = |place: usize| arguments.get(place).map(|text| text.parse::<usize>().unwrap());
    let rounds = number(1).unwrap_or(10);
    if let Ok(booster) = env::var(TRAINED) {
        return train(&variable(PLACE), &booster, rounds);
    }
    let lists = number(0).unwrap_or(1_000_000);
    println!("{lists} lists of {ITEMS} items, {COLUMNS} columns, {rounds} rounds; to be at most: {TARGET}");
    for (name, boosters) in [("some values missing", &["xgboost", "lightgbm"][..]), ("none missing", &["xgboost"])] {
        let folder = tempfile::tempdir().unwrap();
        let bucket = env::var("RANKWRIGHT_TEST_S3").ok().and_then(|_| own_bucket()).map(|bucket| bucket.bucket);
        let place = bucket.as_deref().map_or_else(|| in_folder(folder.path()), in_bucket);
        write(&place, lists, name == "none missing");
        for booster in boosters {
            print!("{booster}, {name}, parts in a {}: ", if bucket.is_some() { "bucket" } else { "folder" });
            let mut training = Command::new(env::current_exe().unwrap());
            training.args([lists.to_string(), rounds.to_string()]);
            training.env(TRAINED, booster).env(PLACE, &place);
            std::io::Write::flush(&mut std::io::stdout()).unwrap();
            assert!(training.status().unwrap().success(), "training failed");
        }
    }
}

/// Writes `lists` rankings with a click, as a service would.
fn write(place: &str, lists: usize, whole: bool) {
    let store = open(place);
    let clicked = (0..).map(|number| ranking(number, ITEMS, COLUMNS)).filter(|list| !list.interactions.is_empty());
    let mut lists = clicked.take(lists).peekable();
    while lists.peek().is_some() {
        let mut batch: Vec<Clickthrough> = lists.by_ref().take(1000).collect();
        let values = batch.iter_mut().flat_map(|list| &mut list.rows.values);
        values.filter(|value| whole && value.is_nan()).for_each(|value| *value = 0.0);
        store.append(&batch).unwrap();
    }
    store.let_go().unwrap();
}

fn in_folder(folder: &Path) -> String {
    format!("train: {{type: file, path: '{}'}}", folder.display())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn in_bucket(name: &str) -> String {
    let [endpoint, key, secret] = ["", "_KEY", "_SECRET"].map(|end| variable(&format!("RANKWRIGHT_TEST_S3{end}")));
    format!(
        "train: {{type: s3, bucket: {name}, prefix: parts, region: us-east-1, endpoint: '{endpoint}', \
         cloudKey: '{key}', cloudKeySecret: '{secret}'}}"
    )
}

fn open(place: &str) -> Box<dyn ClickthroughStore> {
    let (config, _) = Config::parse(place, "the place of the parts").unwrap_or_else(|mistakes| panic!("{mistakes}"));
    match config.train.expect("a place is a section `train`") {
        Stored::S3(train) => {
            let settings = S3Settings::from_config(&train).expect("key and secret are both given");
            Box::new(S3Store::open(&settings, header(COLUMNS)).expect("the server that is named has the bucket"))
        }
        Stored::File { path, .. } => {
            let settings = FileSettings::new(path, Format::Binary);
            Box::new(FileStore::open(settings, header(COLUMNS)).expect("there is room for temporary files"))
        }
        other => panic!("{other:?} is not measured"),
    }
}

fn train(place: &str, booster: &str, iterations: usize) {
    let booster = if booster == "xgboost" { Booster::XgBoost } else { Booster::LightGbm };
    let columns: Vec<Column> = header(COLUMNS).columns.iter().map(column).collect();
    let config = LambdaMart {
        backend: backend(booster, iterations),
        weights: ["click", "purchase"].map(|kind| (kind.to_owned(), 1.0)).into(),
        features: columns.iter().map(|column| column.feature.clone()).collect(),
        split: Split { strategy: SplitStrategy::Time, ratio: 0.8 },
        eval: vec![Metric::Ndcg(Some(10))],
        warmup: None,
        learning: Learning {
            exclude_seen: None,
            selector: Selector::Accept(true),
            version: None,
            gate: Gate { metric: None, margin: 0.01, weighting: None },
            keep_versions: 10,
        },
    };
    let (start, mut read, mut first, mut rounds) = (Instant::now(), 0.0, 0.0, Vec::new());
    let mut progress = |progress: Progress<'_>| match progress {
        Progress::Reading { .. } => read = start.elapsed().as_secs_f64(),
        Progress::Fitting { iteration, .. } => {
            rounds.push(iteration.millis as f64 / 1e3);
            first = if first == 0.0 { start.elapsed().as_secs_f64() - iteration.millis as f64 / 1e3 } else { first };
        }
        Progress::Embedding { .. } => {}
    };
    let versions = MemoryVersions::default();
    let now = Timestamp::from_millis(0);
    let trained =
        train_model("shop", &Model::LambdaMart(config), &columns, &*open(place), &versions, now, &mut progress);
    let trained = trained.unwrap_or_else(|error| panic!("{error}"));
    rounds.sort_by(f64::total_cmp);
    println!(
        "{} MB resident at most; {} lists learned, {} tested; read in {read:.0} s, binned in {:.0} s, {:.2} s a round",
        peak(),
        trained.train,
        trained.test,
        first - read,
        rounds[rounds.len() / 2],
    );
}

fn column(stored: &rankwright_clickthrough::Column) -> Column {
    let name = stored.name.clone();
    Column { feature: name.clone(), name, fingerprint: stored.fingerprint, categorical: false }
}

/// The defaults.
fn backend(booster: Booster, iterations: usize) -> Backend {
    let (learning_rate, ndcg_cutoff, max_depth, num_leaves) = (0.1, 10, 8, 16);
    let (seed, sampling, debias, over_memory) = (Some(1), 0.8, false, false);
    Backend {
        booster,
        iterations,
        learning_rate,
        ndcg_cutoff,
        max_depth,
        seed,
        sampling,
        debias,
        num_leaves,
        over_memory,
    }
}

/// The most memory that this process has had resident, in megabytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let values: BTreeMap<&str, &str> = status.lines().filter_map(|line| line.split_once(':')).collect();
    values["VmHWM"].split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024 / 1_000_000
}
