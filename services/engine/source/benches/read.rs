//! How fast files become events: RankLens, compressed and plain, with the calling thread alone and with helpers.

use divan::counter::{BytesCount, ItemsCount};
use rankwright_config::{EventFormat, FileOrder, Offset};
use rankwright_event::Timestamp;
use rankwright_source::Files;
use std::convert::Infallible;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The allocator of the programs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

fn shared() -> PathBuf {
    let beside = || PathBuf::from("../../../../shared");
    std::env::var_os("RANKWRIGHT_SHARED").map_or_else(beside, PathBuf::from)
}

/// The compressed file and its size as text; `None`, with a line that says so, where there is none.
fn ranklens() -> Option<(PathBuf, Vec<u8>)> {
    let path = shared().join("data/ranklens_events.jsonl.gz");
    let mut text = Vec::new();
    let read =
        std::fs::File::open(&path).and_then(|file| flate2::read::MultiGzDecoder::new(file).read_to_end(&mut text));
    match read {
        Ok(_) => Some((path, text)),
        Err(error) => {
            eprintln!("SKIPPED: {}: {error}", path.display());
            None
        }
    }
}

fn count(path: &Path, threads: usize) -> usize {
    let files = Files::open(path, EventFormat::Json, FileOrder::Name, Offset::Earliest, Timestamp::MAX);
    let mut events = 0;
    let read = files.and_then(|files| {
        files.read_parallel(None, threads, |batch| {
            events += batch.events.len();
            ControlFlow::<Infallible>::Continue(())
        })
    });
    if let Err(error) = read {
        eprintln!("{error}");
    }
    events
}

fn measure(bencher: divan::Bencher<'_, '_>, path: &Path, text: &[u8], threads: usize) {
    let events = ItemsCount::new(count(path, 0));
    bencher.counter(BytesCount::new(text.len())).counter(events).bench_local(|| count(path, threads));
}

#[divan::bench(args = [0, 1, 2], sample_count = 20)]
fn gzip(bencher: divan::Bencher<'_, '_>, threads: usize) {
    if let Some((path, text)) = ranklens() {
        measure(bencher, &path, &text, threads);
    }
}

#[divan::bench(args = [0, 1, 2], sample_count = 20)]
fn plain(bencher: divan::Bencher<'_, '_>, threads: usize) {
    let folder = tempfile::tempdir();
    if let (Some((_, text)), Ok(folder)) = (ranklens(), folder) {
        let path = folder.path().join("ranklens.jsonl");
        if std::fs::write(&path, &text).is_ok() {
            measure(bencher, &path, &text, threads);
        }
    }
}
