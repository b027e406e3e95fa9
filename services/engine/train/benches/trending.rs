//! Training of `trending` from a million click-throughs in a folder: rankings of 24 items with 25 columns, and up to two
//! interactions with each, by 100,000 visitors. Takes 2 GB below `TMPDIR`.
#![allow(clippy::unwrap_used, missing_docs)]

use rankwright_clickthrough::store::file::FileSettings;
use rankwright_clickthrough::testing::{header, ranking};
use rankwright_clickthrough::{Clickthrough, ClickthroughStore, FileStore, Format};
use rankwright_config::Config;
use rankwright_event::Timestamp;
use rankwright_model::{MemoryVersions, VersionStore};
use rankwright_train::{Trained, train_model};
use std::path::Path;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc; // as in the programs

const RANKINGS: u64 = 1_000_000;
const VISITORS: u64 = 100_000;
const ITEMS: usize = 24;
const COLUMNS: usize = 25;
const CONFIG: &str = "
models:
  popular:
    type: trending
    weights: [{interaction: click, decay: 0.9, window: 7d}, {interaction: purchase, weight: 3, decay: 0.9, window: 7d}]
";

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    write(folder.path());
    println!("{RANKINGS} click-throughs of {ITEMS} items, {COLUMNS} columns: written in {:.1?}", start.elapsed());
    let (config, _) = Config::parse(CONFIG, "bench").unwrap();
    let store = open(folder.path());
    for _ in 0..5 {
        let (start, before, versions) = (Instant::now(), worked(), MemoryVersions::default());
        let now = Timestamp::from_millis(i64::MAX);
        let model = &config.models["popular"];
        let Trained { train, .. } = train_model("popular", model, &[], &store, &versions, now, &mut |_| ()).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        assert!(versions.current("popular").unwrap().is_some());
        println!("trained from {train} interactions: {seconds:.2} s, {:.2} s of processors", worked() - before);
    }
}

fn write(folder: &Path) {
    let store = open(folder);
    let record = |number| {
        let visitor = format!("user-{}", number * 7919 % VISITORS);
        Clickthrough { user: Some(visitor.as_str().into()), ..ranking(number, ITEMS, COLUMNS) }
    };
    for number in 0..RANKINGS {
        store.append(&[record(number)]).unwrap();
    }
    store.flush().unwrap();
}

fn open(folder: &Path) -> FileStore {
    FileStore::open(FileSettings::new(folder, Format::Binary), header(COLUMNS)).unwrap()
}

/// Seconds that processors have worked for this process; others' work does not lengthen them.
fn worked() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
