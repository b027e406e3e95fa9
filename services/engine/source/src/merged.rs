//! Batches of several partitions, in the order of event time.
//!
//! When a backlog is read, partitions arrive at very different speeds. State must advance evenly all the same, or one
//! partition's events meet the state of another one's future. So a batch waits here until every partition that is
//! behind has shown what it holds next. Time is compared by the first event of each batch: partitions advance evenly
//! to within a batch, which is as finely as they can be committed.

use crate::{Batch, Partition};
use rankwright_event::Timestamp;
use std::collections::{BTreeMap, VecDeque};

/// So many bytes of messages make a commit at most, but for the last batch in it.
const COMMIT: usize = 4 << 20;
/// While messages of so many bytes are held, nothing is read ahead.
const ROOM: usize = 64 << 20;

/// Puts the batches of several partitions in order.
#[derive(Debug)]
pub struct Merged {
    lanes: BTreeMap<Partition, Lane>,
    held: usize,
    most: usize,
}

/// What is held of one partition, in its order.
#[derive(Debug, Default)]
struct Lane {
    batches: VecDeque<Batch>,
    caught_up: bool,
}

impl Merged {
    /// Holds about `most` batches; with more, those that have come are handed out without waiting for others.
    pub fn new(most: usize) -> Self {
        Self { lanes: BTreeMap::new(), held: 0, most }
    }

    /// Others wait for this partition from now on, until it has caught up.
    pub fn assign(&mut self, partition: Partition) {
        self.lanes.entry(partition).or_default();
    }

    /// Forgets a partition and what is held of it.
    pub fn revoke(&mut self, partition: &Partition) {
        let lane = self.lanes.remove(partition).unwrap_or_default();
        self.held -= lane.batches.len();
    }

    /// Takes the next batch of a partition; it counts as behind again.
    pub fn push(&mut self, partition: Partition, batch: Batch) {
        let lane = self.lanes.entry(partition).or_default();
        lane.batches.push_back(batch);
        lane.caught_up = false;
        self.held += 1;
    }

    /// There is nothing after what this partition has pushed: nobody waits for it.
    pub fn caught_up(&mut self, partition: &Partition) {
        if let Some(lane) = self.lanes.get_mut(partition) {
            lane.caught_up = true;
        }
    }

    /// Whether batches of this partition are held.
    pub fn holds(&self, partition: &Partition) -> bool {
        self.lanes.get(partition).is_some_and(|lane| !lane.batches.is_empty())
    }

    /// How many events of each partition are held.
    pub fn waiting(&self) -> impl Iterator<Item = (&Partition, usize)> {
        let events = |lane: &Lane| lane.batches.iter().map(|batch| batch.events.len()).sum();
        self.lanes.iter().map(move |(partition, lane)| (partition, events(lane)))
    }

    /// Whether more may be read before anything is handed out, if it is there already: so many events at most, and no more
    /// batches and bytes than are held anyway.
    pub fn has_room_for(&self, events: usize) -> bool {
        let batches = || self.lanes.values().flat_map(|lane| &lane.batches);
        self.held < self.most
            && batches().map(|batch| batch.events.len()).sum::<usize>() < events
            && batches().map(|batch| batch.bytes).sum::<usize>() < ROOM
    }

    /// The batches that come next in event time, as [`Merged::pop`] hands them out, up to about so many events and some
    /// megabytes of messages. Those of one partition are one batch.
    pub fn pop_some(&mut self, events: usize) -> Vec<(Partition, Batch)> {
        let mut popped: BTreeMap<Partition, Batch> = BTreeMap::new();
        let (mut count, mut bytes) = (0, 0);
        while count < events
            && bytes < COMMIT
            && let Some((partition, batch)) = self.pop()
        {
            count += batch.events.len();
            bytes += batch.bytes;
            match popped.get_mut(&partition) {
                Some(earlier) => earlier.append(batch),
                None => drop(popped.insert(partition, batch)),
            }
        }
        popped.into_iter().collect()
    }

    /// The batch that comes next in event time; `None` while a partition that is behind may still have an earlier one.
    pub fn pop(&mut self) -> Option<(Partition, Batch)> {
        if self.held <= self.most && self.lanes.values().any(Lane::is_awaited) {
            return None;
        }
        let heads = self.lanes.iter().filter_map(|(partition, lane)| Some((lane.head()?, partition)));
        let (_, partition) = heads.min()?;
        let partition = partition.clone();
        let batch = self.lanes.get_mut(&partition)?.batches.pop_front()?;
        self.held -= 1;
        Some((partition, batch))
    }
}

impl Lane {
    fn is_awaited(&self) -> bool {
        self.batches.is_empty() && !self.caught_up
    }

    /// Time of the next event; a batch without events holds nobody up.
    fn head(&self) -> Option<Timestamp> {
        let batch = self.batches.front()?;
        Some(batch.events.first().map_or(Timestamp::MIN, |event| event.timestamp()))
    }
}
