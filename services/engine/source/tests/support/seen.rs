//! A loop that reads, and remembers what it saw.
#![allow(dead_code, reason = "each test program uses a part of this")]

use rankwright_event::{Event, Timestamp};
use rankwright_source::{Batch, BatchLimits, Error, Partition, Position, Step, Stream, StreamSettings};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// No answer takes this long.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// Small batches, and a clock that stands at 10 seconds.
pub(crate) fn settings() -> StreamSettings {
    StreamSettings {
        limits: BatchLimits { events: 100, ..BatchLimits::default() },
        clock: Arc::new(|| Timestamp::from_millis(10_000)),
        max_ahead: Duration::from_secs(1),
        gone_after: LONG,
    }
}

/// An event that is its number, at `time`.
pub(crate) fn event(number: u64, time: i64) -> String {
    format!(r#"{{"event":"user","id":"{number}","user":"u","timestamp":"{time}"}}"#)
}

/// An enriched event of Snowplow, a line of 131 columns, with what was tracked.
pub(crate) fn enriched(kind: &str, tracked: &str) -> String {
    let mut columns = vec![""; 131];
    (columns[1], columns[5], columns[58]) = ("web", kind, tracked);
    columns.join("\t")
}

/// The event of a number, as Snowplow's tracker and Enrich hand it on.
pub(crate) fn tracked(number: u64) -> String {
    let data = format!(r#"{{"schema":"iglu:com.rankwright/user/jsonschema/1-0-0","data":{}}}"#, event(number, 1000));
    let schema = "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0";
    enriched("unstruct", &format!(r#"{{"schema":"{schema}","data":{data}}}"#))
}

/// What a reader delivered so far. It stores positions as an ingest loop would.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Numbers of the events of each partition, in their order.
    pub(crate) events: BTreeMap<String, Vec<u64>>,
    pub(crate) bad: Vec<String>,
    pub(crate) largest: usize,
    pub(crate) stored: BTreeMap<String, Position>,
    pub(crate) ours: BTreeSet<String>,
    pub(crate) caught_up: BTreeSet<String>,
    pub(crate) finished: BTreeSet<String>,
    pub(crate) ended: bool,
}

impl Seen {
    /// With positions that an earlier reader stored.
    pub(crate) fn after(stored: &BTreeMap<String, Position>) -> Self {
        Self { stored: stored.clone(), ..Self::default() }
    }

    /// Reads until `enough` holds.
    pub(crate) async fn read(&mut self, stream: &mut dyn Stream, enough: impl Fn(&Self) -> bool) {
        let end = Instant::now() + LONG * 3;
        while !enough(self) {
            let step = timeout(LONG, stream.next()).await;
            let step = step.unwrap_or_else(|_| panic!("nothing more came after {self:?}"));
            self.take(stream, step.expect("reads on")).await;
            // ends of partitions are reported again and again
            assert!(Instant::now() < end, "what is waited for does not come after {self:?}");
        }
    }

    /// Reads until the ends of this number of partitions are reached.
    pub(crate) async fn read_up(&mut self, stream: &mut dyn Stream, partitions: usize) {
        self.caught_up.clear();
        self.read(stream, |seen| seen.caught_up.len() == partitions).await;
    }

    pub(crate) async fn take(&mut self, stream: &mut dyn Stream, step: Step) {
        match step {
            Step::Assigned(partitions) => {
                for partition in partitions {
                    self.start(stream, &partition).await;
                }
            }
            Step::Revoked(partitions) => partitions.iter().for_each(|partition| {
                assert!(self.ours.remove(partition.as_str()), "{partition} was not ours");
            }),
            Step::Batch { partition, batch } => self.keep(stream, &partition, batch),
            Step::CaughtUp { partition, .. } => {
                self.caught_up.insert(partition.to_string());
            }
            Step::Finished(partition) => {
                assert!(self.ours.remove(partition.as_str()), "{partition} was not ours");
                self.finished.insert(partition.to_string());
            }
            Step::Ended => self.ended = true,
        }
    }

    async fn start(&mut self, stream: &mut dyn Stream, partition: &Partition) {
        let from = self.stored.get(partition.as_str()).cloned();
        let position = stream.start(partition, from).await.expect("starts");
        self.stored.insert(partition.to_string(), position);
        self.ours.insert(partition.to_string());
    }

    fn keep(&mut self, stream: &mut dyn Stream, partition: &Partition, batch: Batch) {
        assert!(self.ours.contains(partition.as_str()), "{partition} is not ours");
        let numbers = batch.events.iter().map(number);
        self.events.entry(partition.to_string()).or_default().extend(numbers);
        self.bad.extend(batch.bad.iter().map(ToString::to_string));
        self.largest = self.largest.max(batch.events.len());
        self.caught_up.remove(partition.as_str());
        stream.note(partition, &batch.position);
        self.stored.insert(partition.to_string(), batch.position);
    }

    /// How many events were read.
    pub(crate) fn count(&self) -> usize {
        self.events.values().map(Vec::len).sum()
    }
}

fn number(event: &Event) -> u64 {
    match event {
        Event::User(update) => update.id.as_str().parse().expect("ids are numbers"),
        other => panic!("nobody sent {other:?}"),
    }
}

/// The error that ends a reading.
pub(crate) async fn failure(stream: &mut dyn Stream) -> Error {
    loop {
        match timeout(LONG, stream.next()).await.expect("an error comes") {
            Ok(_) => {}
            Err(error) => return error,
        }
    }
}
