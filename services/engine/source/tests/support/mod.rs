//! Files to read, and all that comes out of them.
#![allow(dead_code, clippy::expect_used, reason = "each test program uses a part of this")]

use rankwright_config::{EventFormat, FileOrder, Offset};
use rankwright_event::{Event, ItemUpdate, Tenant, Timestamp, json};
use rankwright_source::{BadLine, Batch, Error, Files, Limits, Marks};
use std::convert::Infallible;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The wall clock of the tests.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_000_000);

/// A folder that goes away with the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("makes a folder"))
    }

    /// With one more file, compressed as its name says.
    pub(crate) fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.path(name), packed(name, text.as_ref())).expect("writes a file");
        self
    }

    /// With one more file, its bytes as they are.
    pub(crate) fn with_bytes(self, name: &str, bytes: &[u8]) -> Self {
        std::fs::write(self.path(name), bytes).expect("writes a file");
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn open(&self) -> Files {
        self.opened(FileOrder::Name, Offset::Earliest).expect("opens the folder")
    }

    pub(crate) fn opened(&self, order: FileOrder, offset: Offset) -> Result<Files, Error> {
        open(self.0.path(), order, offset)
    }
}

pub(crate) fn open(path: &Path, order: FileOrder, offset: Offset) -> Result<Files, Error> {
    Files::open(path, EventFormat::Json, order, offset, NOW)
}

/// Text compressed in two parts, one after the other.
pub(crate) fn packed(name: &str, text: &[u8]) -> Vec<u8> {
    let (head, tail) = text.split_at(text.len() / 2);
    match name.rsplit('.').next() {
        Some("gz") => [gzip(head), gzip(tail)].concat(),
        Some("zst" | "zstd") => [zstd(head), zstd(tail)].concat(),
        _ => text.to_vec(),
    }
}

pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("writes to memory");
    encoder.finish().expect("writes to memory")
}

pub(crate) fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).expect("writes to memory")
}

/// An item event of an id and a time.
pub(crate) fn item(id: &str, millis: i64) -> Event {
    let (timestamp, tenant) = (Timestamp::from_millis(millis), Tenant::default());
    Event::Item(ItemUpdate { id: id.into(), timestamp, tenant, item: id.into(), fields: Vec::new() })
}

pub(crate) fn items(times: impl IntoIterator<Item = i64>) -> Vec<Event> {
    times.into_iter().map(|time| item(&format!("i{time}"), time)).collect()
}

pub(crate) fn lines(events: &[Event]) -> String {
    events.iter().map(|event| json::encode(event) + "\n").collect()
}

pub(crate) fn array(events: &[Event]) -> String {
    format!("[{}]", events.iter().map(json::encode).collect::<Vec<_>>().join(",\n"))
}

/// All that some files hold.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Contents {
    pub(crate) events: Vec<Event>,
    pub(crate) bad: Vec<BadLine>,
    pub(crate) before_offset: u64,
}

impl Contents {
    pub(crate) fn add(&mut self, batch: Batch) {
        self.events.extend(batch.events);
        self.bad.extend(batch.bad);
        self.before_offset += batch.before_offset;
    }

    /// The bad lines as they are reported.
    pub(crate) fn reports(&self) -> Vec<String> {
        self.bad.iter().map(ToString::to_string).collect()
    }
}

pub(crate) fn batches(files: &Files, after: Option<&Marks>) -> Vec<Batch> {
    files.read(after).expect("starts reading").map(|batch| batch.expect("reads on")).collect()
}

pub(crate) fn contents(files: &Files) -> Contents {
    let mut contents = Contents::default();
    batches(files, None).into_iter().for_each(|batch| contents.add(batch));
    contents
}

/// The same, decoded by this number of threads.
pub(crate) fn batches_of(files: &Files, threads: usize) -> Vec<Batch> {
    let mut batches = Vec::new();
    let end = files.read_parallel(None, threads, |batch| {
        batches.push(batch);
        ControlFlow::<Infallible>::Continue(())
    });
    assert!(end.expect("reads on").is_continue());
    batches
}

/// Limits of blocks and lines, in bytes.
pub(crate) fn limits(block: usize, line: usize) -> Limits {
    Limits { block, line }
}
