//! How fast lines become events: RankLens, on one core.

use divan::counter::{BytesCount, ItemsCount};
use std::io::Read;
use std::path::PathBuf;

/// The allocator of the programs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

/// The events as text; `None`, with a line that says so, where there are none.
fn ranklens() -> Option<String> {
    let beside = || PathBuf::from("../../../../shared");
    let shared = std::env::var_os("RANKWRIGHT_SHARED").map_or_else(beside, PathBuf::from);
    let file = std::fs::File::open(shared.join("data/ranklens_events.jsonl.gz"));
    let mut text = String::new();
    match file.and_then(|file| flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text)) {
        Ok(_) => Some(text),
        Err(error) => {
            eprintln!("SKIPPED: ranklens_events.jsonl.gz in {}: {error}", shared.display());
            None
        }
    }
}

#[divan::bench(sample_count = 20)]
fn decode(bencher: divan::Bencher<'_, '_>) {
    let Some(text) = ranklens() else { return };
    let (bytes, lines) = (BytesCount::of_str(&text), ItemsCount::new(text.lines().count()));
    bencher.counter(bytes).counter(lines).bench_local(|| {
        let decoded = text.lines().filter(|line| rankwright_event::json::decode(line.as_bytes()).is_ok());
        decoded.count()
    });
}

/// Enriched events of Snowplow, in 131 columns.
#[divan::bench(sample_count = 20)]
fn snowplow(bencher: divan::Bencher<'_, '_>) {
    let Some(text) = ranklens() else { return };
    let lines: Vec<String> = text.lines().map(enriched).collect();
    let (bytes, count) = (BytesCount::new(lines.iter().map(String::len).sum::<usize>()), ItemsCount::new(lines.len()));
    bencher.counter(bytes).counter(count).bench_local(|| {
        let found =
            |line: &&String| rankwright_event::snowplow::decode_tsv(line.as_bytes()).is_ok_and(|event| event.is_some());
        lines.iter().filter(found).count()
    });
}

/// A line around an event, with columns as wide as those of a web shop.
fn enriched(event: &str) -> String {
    let kind =
        ["item", "user", "ranking", "interaction"].into_iter().find(|kind| event.contains(&format!("\"{kind}\"")));
    let schema = format!("iglu:com.rankwright/{}/jsonschema/1-0-0", kind.unwrap_or("item"));
    let tracked = format!(r#"{{"schema":"iglu:x","data":{{"schema":"{schema}","data":{event}}}}}"#);
    let mut columns = vec!["2021-11-14 16:25:00.000"; 131];
    (columns[5], columns[58]) = ("unstruct", &tracked);
    columns.join("\t")
}

#[divan::bench(sample_count = 20)]
fn encode(bencher: divan::Bencher<'_, '_>) {
    let Some(text) = ranklens() else { return };
    let events: Vec<_> = text.lines().filter_map(|line| rankwright_event::json::decode(line.as_bytes()).ok()).collect();
    let (bytes, lines) = (BytesCount::of_str(&text), ItemsCount::new(events.len()));
    bencher.counter(bytes).counter(lines).bench_local(|| {
        let mut sink = Vec::with_capacity(text.len() + text.len() / 4);
        let written = events.iter().filter(|event| rankwright_event::json::write(event, &mut sink).is_ok());
        written.count()
    });
}
