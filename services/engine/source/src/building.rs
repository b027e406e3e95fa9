//! Collects messages into batches, partition by partition.

use crate::decode::decode;
use crate::{BadLine, Batch, Partition, Position};
use rankwright_config::EventFormat;
use rankwright_event::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How large batches become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Most events; default 1024. A message with more makes a larger batch.
    pub events: usize,
    /// Most bytes of messages; default 1 MiB.
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
pub(crate) struct Building<K> {
    limits: BatchLimits,
    format: EventFormat,
    batches: BTreeMap<K, Batch>,
    /// When the oldest of them was begun.
    since: Option<Instant>,
}

/// A message, as far as we look at it.
pub(crate) struct Message<'a> {
    pub(crate) payload: &'a [u8],
    /// Where it is bad, if it is: a name, and a number in it.
    pub(crate) place: &'a dyn Fn() -> (Arc<str>, u64),
    /// Moves the position behind it.
    pub(crate) pass: &'a dyn Fn(&mut Position),
}

impl<K: Copy + Ord> Building<K> {
    pub(crate) fn new(limits: BatchLimits, format: EventFormat) -> Self {
        Self { limits, format, batches: BTreeMap::new(), since: None }
    }

    /// Adds a message; later events than `until` are bad. Returns whether the partition's batch is full.
    pub(crate) fn push(&mut self, key: K, partition: &Partition, message: &Message<'_>, until: Timestamp) -> bool {
        let format = self.format;
        let batch = self.unfinished(key, partition);
        let bad = &mut batch.bad;
        decode(format, message.payload, until, &mut batch.events, |content, reason| {
            let (file, line) = (message.place)();
            bad.push(BadLine { file, line, reason, content: content.into() });
        });
        (message.pass)(&mut batch.position);
        batch.bytes += message.payload.len();
        batch.cut();
        let (events, bytes) = (batch.events.len() + batch.bad.len(), batch.bytes);
        events >= self.limits.events || bytes >= self.limits.bytes
    }

    /// Moves the position of a partition on over what is no message.
    pub(crate) fn skip(&mut self, key: K, partition: &Partition, bad: Option<BadLine>, pass: impl Fn(&mut Position)) {
        let batch = self.unfinished(key, partition);
        batch.bad.extend(bad);
        pass(&mut batch.position);
        batch.cut();
    }

    fn unfinished(&mut self, key: K, partition: &Partition) -> &mut Batch {
        self.since.get_or_insert_with(Instant::now);
        self.batches.entry(key).or_insert_with(|| Batch::of(partition))
    }

    /// What there is of a partition.
    pub(crate) fn take(&mut self, key: K) -> Option<Batch> {
        let batch = self.batches.remove(&key)?;
        if self.batches.is_empty() {
            self.since = None;
        }
        Some(batch)
    }

    /// When the oldest event has waited long enough.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + self.limits.wait)
    }

    /// The partitions of which there is something.
    pub(crate) fn keys(&self) -> Vec<K> {
        self.batches.keys().copied().collect()
    }
}
