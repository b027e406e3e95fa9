//! Builders for this crate's tests.

use crate::dataset::Dataset;
use crate::digest;
use crate::lists::Lists;
use crate::rows;
use crate::split::Key;
use rankwright_clickthrough::{
    Click, Clickthrough, ClickthroughStore, Column as StoredColumn, Header, Kind, MemoryStore, Rows, Shown,
};
use rankwright_config::model::{Backend, Booster, Gate, LambdaMart, Learning, Metric, Selector, Split, SplitStrategy};
use rankwright_event::{RankingId, Tenant, Timestamp};
use rankwright_model::Column;
use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

/// A model of LightGBM over these features, whose clicks count; the last fifth is the test.
pub(crate) fn lambda_mart(features: &[&str]) -> LambdaMart {
    LambdaMart {
        backend: backend(Booster::LightGbm),
        weights: BTreeMap::from([("click".to_owned(), 1.0)]),
        features: features.iter().map(|&name| name.to_owned()).collect(),
        split: Split { strategy: SplitStrategy::Time, ratio: 0.8 },
        eval: vec![Metric::Ndcg(Some(10)), Metric::Mrr],
        warmup: None,
        learning: Learning {
            exclude_seen: None,
            selector: Selector::Accept(true),
            version: None,
            gate: Gate { metric: None, margin: 0.01, weighting: None },
            keep_versions: 10,
        },
    }
}

/// A ranking of this many items, `item0` first, with one column of values and nothing clicked.
pub(crate) fn record(id: &str, items: usize) -> Clickthrough {
    Clickthrough {
        tenant: Tenant::default(),
        kind: Kind::Ranking,
        ranking: RankingId::from(id),
        timestamp: Timestamp::from_millis(0),
        user: None,
        session: None,
        fields: Vec::new(),
        items: (0..items).map(|item| Shown { id: format!("item{item}").into(), label: None }).collect(),
        rows: Rows { width: 1, values: (0..items).map(|item| item as f32).collect() },
        interactions: Vec::new(),
    }
}

/// The same with clicks on the items at these positions.
pub(crate) fn clicked(record: Clickthrough, positions: &[usize]) -> Clickthrough {
    let click = |&position: &usize| Click {
        timestamp: record.timestamp,
        id: format!("click{position}").as_str().into(),
        kind: "click".into(),
        item: format!("item{position}").into(),
    };
    Clickthrough { interactions: positions.iter().map(click).collect(), ..record }
}

/// A column that is a feature of its own, of numbers.
pub(crate) fn column(name: &str) -> Column {
    Column { name: name.into(), feature: name.into(), fingerprint: 1, categorical: false }
}

/// A store that holds these records, their rows in these columns.
pub(crate) fn store(columns: &[&str], records: Vec<Clickthrough>) -> MemoryStore {
    let stored = |name: &&str| StoredColumn { name: (*name).to_owned(), fingerprint: 1 };
    let store = MemoryStore::new(Header { service: "test".into(), columns: columns.iter().map(stored).collect() })
        .expect("a header of names");
    store.append(&records).expect("records with these columns");
    store
}

/// Random lists with something to learn: of six columns, the last two are categories; values are missing here and
/// there; labels of 0, 0.5, 1 and 3 follow from the first, second and last column.
pub(crate) fn random_lists(seed: u64, lists: usize) -> Dataset {
    let mut draws = (0u64..).map(|index| digest::uniform(index, seed));
    let mut draw = || draws.next().expect("numbers do not end");
    let (mut values, mut labels, mut lengths, mut keys) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for list in 0..lists {
        let length = 2 + (draw() * 12.0) as u32;
        for _ in 0..length {
            let row = [
                draw(),
                draw() * 100.0,
                draw(),
                (draw() * 4.0).floor(),
                (draw() * 6.0).floor(),
                (draw() * 40.0).floor(),
            ];
            let worth = row[0] + row[1] / 200.0 + if row[5] % 3.0 == 1.0 { 0.7 } else { 0.0 } + draw() * 0.5;
            labels.push(if worth > 1.8 {
                3.0
            } else if worth > 1.5 {
                1.0
            } else if worth > 1.3 {
                0.5
            } else {
                0.0
            });
            values.extend(row.map(|value| if draw() < 0.1 { f32::NAN } else { value as f32 }));
        }
        let start = labels.len() - length as usize;
        if labels[start..].iter().all(|&label| label == 0.0) {
            labels[start] = 0.5; // every list has a positive label
        }
        lengths.push(length);
        keys.push(Key { time: list as i64, id: list as u64, visitor: 0, held_out: false });
    }
    Dataset::from_lists(rows::Rows::in_memory(6, values), Lists { labels: &labels, lengths: &lengths }, keys)
}

/// The columns of [`random_lists`] that are categories.
pub(crate) const CATEGORICAL: [usize; 2] = [4, 5];

/// Options of a backend with their defaults, but for 60 trees and seed 7.
pub(crate) fn backend(booster: Booster) -> Backend {
    Backend {
        booster,
        iterations: 60,
        learning_rate: 0.1,
        ndcg_cutoff: 10,
        max_depth: 8,
        seed: Some(7),
        sampling: 0.8,
        debias: false,
        num_leaves: 16,
        over_memory: false,
    }
}

/// A folder of the test data that is kept outside of the repository; without it, a test is skipped or (where
/// `RANKWRIGHT_REQUIRE_ALL` is 1) fails.
pub(crate) fn shared(folder: &str) -> Option<PathBuf> {
    let beside = PathBuf::from("../../../../shared");
    let found = env::var_os("RANKWRIGHT_SHARED").map_or(beside, PathBuf::from).join(folder);
    if found.is_dir() {
        return Some(found);
    }
    assert!(env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{} is missing", found.display());
    eprintln!("SKIPPED: {} is missing", found.display());
    None
}
