//! Real data: every line of RankLens is an event, however many threads decode it, and survives being written again.
#![allow(clippy::expect_used, missing_docs)]

mod support;

use rankwright_config::{FileOrder, Offset};
use rankwright_event::json;
use rankwright_source::Files;
use std::path::PathBuf;
use support::{batches_of, open};

/// The events; `None`, with a line that says so, where they are missing and need not be there.
fn ranklens() -> Option<Files> {
    let beside = || PathBuf::from("../../../../shared");
    let shared = std::env::var_os("RANKWRIGHT_SHARED").map_or_else(beside, PathBuf::from);
    match open(&shared.join("data/ranklens_events.jsonl.gz"), FileOrder::Name, Offset::Earliest) {
        Ok(files) => Some(files),
        Err(error) => {
            assert!(std::env::var_os("RANKWRIGHT_REQUIRE_ALL").is_none_or(|all| all != "1"), "{error}");
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

#[test]
fn ranklens_is_read_whole_by_any_number_of_threads() {
    let Some(files) = ranklens() else { return };
    let alone = batches_of(&files, 0);
    assert!(batches_of(&files, 2) == alone);
    let events: Vec<_> = alone.iter().flat_map(|batch| &batch.events).collect();
    assert!(alone.iter().all(|batch| batch.bad.is_empty()));
    let of_kind = |kind| events.iter().filter(|event| event.kind() == kind).count();
    assert_eq!(["item", "user", "ranking", "interaction"].map(of_kind), [2_512, 0, 9_800, 46_125]);
    assert_eq!(alone.last().map(|batch| batch.position.line), Some(58_437));
    for event in events {
        assert_eq!(json::decode(json::encode(event).as_bytes()).as_ref(), Ok(event));
    }
}
