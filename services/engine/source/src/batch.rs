//! What a source delivers.

use crate::Partition;
use crate::error::shown;
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
    /// The ends of its pieces, in their order, that of the last one included. Without any, it is one piece.
    pub cuts: Vec<Cut>,
}

/// The end of a piece of a batch, which can be committed without what follows: behind a message, or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Events of the batch that lie before it.
    pub events: usize,
    /// Number of records before it that are not events.
    pub bad: usize,
    /// How large the messages before it were.
    pub bytes: usize,
    /// Where reading goes on after it: [`Position::line`].
    pub line: u64,
    /// Where reading goes on after it: [`Position::at`].
    pub at: Option<String>,
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
    /// Nothing yet, of a partition.
    pub(crate) fn of(partition: &Partition) -> Self {
        let (events, bad, cuts) = (Vec::new(), Vec::new(), Vec::new());
        let (position, progress) = (Position::new(partition.as_str(), 0), Progress::default());
        Self { events, bad, before_offset: 0, position, progress, bytes: 0, cuts }
    }

    /// May end here, if the position has come here: a record with several messages is committed whole.
    pub(crate) fn cut(&mut self) {
        let (line, at) = (self.position.line, &self.position.at);
        let is_there = match self.cuts.last() {
            Some(last) => (last.line, &last.at) == (line, at),
            None => line == 0 && at.is_none(),
        };
        if !is_there {
            let (events, bad, bytes) = (self.events.len(), self.bad.len(), self.bytes);
            self.cuts.push(Cut { events, bad, bytes, line, at: at.clone() });
        }
    }

    /// How many pieces it has.
    pub(crate) fn pieces(&self) -> usize {
        self.cuts.len().max(1)
    }

    /// A piece's events and its bytes.
    pub(crate) fn piece(&self, number: usize) -> (&[Event], usize) {
        let before = number.checked_sub(1).and_then(|before| self.cuts.get(before));
        let (from, bytes) = before.map_or((0, 0), |cut| (cut.events, cut.bytes));
        match self.cuts.get(number) {
            Some(cut) if number + 1 < self.cuts.len() => (&self.events[from..cut.events], cut.bytes - bytes),
            _ => (&self.events[from..], self.bytes - bytes),
        }
    }

    /// Takes its first pieces off, and leaves it the others.
    pub(crate) fn take_front(&mut self, pieces: usize) -> Option<Self> {
        if pieces >= self.cuts.len() {
            return None; // nothing would be left
        }
        let rest = self.cuts.split_off(pieces);
        let mut cuts = std::mem::replace(&mut self.cuts, rest);
        let end = cuts.pop()?;
        for cut in &mut self.cuts {
            cut.events -= end.events;
            cut.bad -= end.bad;
            cut.bytes -= end.bytes;
        }
        self.bytes -= end.bytes;
        let rest = self.events.split_off(end.events);
        Some(Self {
            events: std::mem::replace(&mut self.events, rest),
            bad: self.bad.drain(..end.bad).collect(),
            before_offset: std::mem::take(&mut self.before_offset),
            position: Position { file: self.position.file.clone(), line: end.line, at: end.at },
            progress: self.progress,
            bytes: end.bytes,
            cuts: Vec::new(),
        })
    }

    /// Adds what follows in the same source. Both become one piece.
    pub(crate) fn append(&mut self, next: Self) {
        self.cuts.clear();
        self.events.extend(next.events);
        self.bad.extend(next.bad);
        self.before_offset += next.before_offset;
        self.bytes += next.bytes;
        (self.position, self.progress) = (next.position, next.progress);
    }
}

/// How the reason begins where a file ends early.
pub(crate) const DAMAGED: &str = "the file is damaged, what follows cannot be read";
/// How it begins where nothing of a file can be read, because its name does not say what it is.
pub(crate) const MISNAMED: &str = "the file cannot be read";

impl BadLine {
    /// Whether the rest of its file cannot be read: it is damaged, or was cut short.
    pub fn ends_file(&self) -> bool {
        self.reason.starts_with(DAMAGED) || self.is_misnamed()
    }

    /// Whether nothing of its file can be read: it is compressed and its name does not say so, or the other way round, or it is UTF-16.
    pub fn is_misnamed(&self) -> bool {
        self.reason.starts_with(MISNAMED)
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", shown(&*self.file), self.line, self.reason)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{}:{at}", shown(&self.file)),
            None => write!(f, "{}:{}", shown(&self.file), self.line),
        }
    }
}

impl Position {
    /// After this number of lines of a file, or before the message with this offset of a partition.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_that_states_hold_are_read_and_written_as_ever() {
        let shards = Partition::new("kinesis:events/shardId-000000000002");
        let kept = [
            (r#"{"file":"events.jsonl.gz","line":56036}"#, Position::new("events.jsonl.gz", 56_036)),
            (r#"{"file":"kafka:events/3","line":42}"#, Position::new("kafka:events/3", 42)),
            (
                r#"{"file":"pulsar:persistent://public/default/events","line":0,"at":"7:15@1636907100000"}"#,
                Position::at(&Partition::new("pulsar:persistent://public/default/events"), "7:15@1636907100000"),
            ),
            (
                r#"{"file":"kinesis:events/shardId-000000000002","line":0,"at":"49590338271490256608559692538361571095921575989136588898"}"#,
                Position::at(&shards, "49590338271490256608559692538361571095921575989136588898"),
            ),
        ];
        for (text, position) in kept {
            assert_eq!(serde_json::from_str::<Position>(text).expect("a position"), position);
            assert_eq!(serde_json::to_string(&position).expect("can be written"), text);
        }
    }
}
