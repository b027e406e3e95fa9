//! Messages put together to batches, partition by partition.

use super::decode::decode;
use crate::{BadLine, Batch, Partition, Position, Progress};
use rankwright_event::Timestamp;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How large batches become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// So many events; default 1024. A message with more makes a larger batch.
    pub events: usize,
    /// So many bytes of messages; default 1 MiB.
    pub bytes: usize,
    /// No event waits longer for others; default 10 ms.
    pub wait: Duration,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { events: 1024, bytes: 1 << 20, wait: Duration::from_millis(10) }
    }
}

/// What was read and is not handed out.
#[derive(Debug)]
pub(super) struct Building {
    limits: BatchLimits,
    batches: BTreeMap<i32, Unfinished>,
    /// When the oldest of them was begun.
    since: Option<Instant>,
}

#[derive(Debug)]
struct Unfinished {
    batch: Batch,
    bytes: usize,
}

/// A message, as far as we look at it.
pub(super) struct Message<'a> {
    pub(super) payload: &'a [u8],
    pub(super) number: i32,
    pub(super) offset: i64,
}

impl Building {
    pub(super) fn new(limits: BatchLimits) -> Self {
        Self { limits, batches: BTreeMap::new(), since: None }
    }

    /// Adds a message; later events than `until` are bad. Returns whether the partition's batch is full.
    pub(super) fn push(&mut self, partition: &Partition, message: &Message<'_>, until: Timestamp) -> bool {
        self.since.get_or_insert_with(Instant::now);
        let Unfinished { batch, bytes } =
            self.batches.entry(message.number).or_insert_with(|| Unfinished::new(partition));
        let line = u64::try_from(message.offset).unwrap_or(0);
        let bad = &mut batch.bad;
        decode(message.payload, until, &mut batch.events, |content, reason| {
            bad.push(BadLine { file: partition.shared(), line, reason, content: content.into() });
        });
        batch.position.line = line + 1;
        *bytes += message.payload.len();
        batch.events.len() + batch.bad.len() >= self.limits.events || *bytes >= self.limits.bytes
    }

    /// What there is of a partition.
    pub(super) fn take(&mut self, number: i32) -> Option<Batch> {
        let unfinished = self.batches.remove(&number)?;
        if self.batches.is_empty() {
            self.since = None;
        }
        Some(unfinished.batch)
    }

    /// When the oldest event has waited long enough.
    pub(super) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + self.limits.wait)
    }

    /// The partitions of which there is something.
    pub(super) fn numbers(&self) -> Vec<i32> {
        self.batches.keys().copied().collect()
    }
}

impl Unfinished {
    fn new(partition: &Partition) -> Self {
        let position = Position { file: partition.as_str().to_owned(), line: 0 };
        let progress = Progress::default();
        let batch = Batch { events: Vec::new(), bad: Vec::new(), before_offset: 0, position, progress };
        Self { batch, bytes: 0 }
    }
}
