//! What a source delivers.

use crate::Partition;
use rankwright_event::Event;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Some events that follow each other, and where they came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The events, in the order of the source.
    pub events: Vec<Event>,
    /// What lay between them and is no event.
    pub bad: Vec<BadLine>,
    /// Events that were left out because they are older than the offset.
    pub before_offset: u64,
    /// Where reading goes on after this batch.
    pub position: Position,
    /// How much is read, this batch included.
    pub progress: Progress,
    /// How large the messages of a stream were; 0 for files, whose blocks are bounded themselves.
    pub bytes: usize,
}

/// Something in a file or stream that is no event. It was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Name of the file, without its folder, or of the partition; where messages have no numbers, with the message's name.
    pub file: Arc<str>,
    /// The line, from 1; in a partition, the message's offset; where messages have no numbers, its place in the message.
    pub line: u64,
    /// Why it is no event; with its place in the line, or in the array (`[7].items[0].id: ...`).
    pub reason: String,
    /// What it is: the message of a stream, or its line that is no event. Empty for files, which keep it themselves.
    pub content: Box<[u8]>,
}

/// A place between two events of a source, kept to go on there later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Name of the file, without its folder, or of the partition.
    pub file: String,
    /// How many lines of it lie behind, blank ones included; of a JSON array, how many elements; in a partition, the
    /// offset of the next message.
    pub line: u64,
    /// Where messages have no numbers, how far a partition is read in the words of its stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// How much of a source is read. A stream that goes on has no such thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Bytes read, compressed ones where files are compressed; of a stream, offsets.
    pub read: u64,
    /// Bytes that there were at the start.
    pub total: u64,
}

impl Batch {
    /// Adds what follows in the same source.
    pub(crate) fn append(&mut self, next: Self) {
        self.events.extend(next.events);
        self.bad.extend(next.bad);
        self.before_offset += next.before_offset;
        self.bytes += next.bytes;
        (self.position, self.progress) = (next.position, next.progress);
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.reason)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{}:{at}", self.file),
            None => write!(f, "{}:{}", self.file, self.line),
        }
    }
}

impl Position {
    /// So many lines of a file lie behind, or the message of this offset of a partition comes next.
    pub fn new(file: impl Into<String>, line: u64) -> Self {
        Self { file: file.into(), line, at: None }
    }

    /// A place in a partition whose messages have no numbers.
    pub fn at(partition: &Partition, at: impl Into<String>) -> Self {
        Self { at: Some(at.into()), ..Self::new(partition.as_str(), 0) }
    }
}

impl Progress {
    /// Part that is read, 0 to 1; of nothing, all is read.
    pub fn ratio(self) -> f64 {
        if self.total == 0 { 1.0 } else { (self.read as f64 / self.total as f64).min(1.0) }
    }
}
