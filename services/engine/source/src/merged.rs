//! Batches of several partitions, in the order of event time.
//!
//! When a backlog is read, partitions arrive at very different speeds. State must advance evenly all the same, or one
//! partition's events meet the state of another one's future. So a batch waits here until every partition that is
//! behind has shown what it holds next. Time is compared by the first event of each message, which is as finely as
//! partitions can be committed; where they are committed one by one, by that of each batch.
//!
//! Of messages with one event each, the order depends on what the partitions hold alone, not on when it came: it is the same
//! when another reader resumes from committed positions. That ends where partitions are not waited for: at the end of what
//! they hold, and with more than may be held.

use crate::{Batch, Partition};
use rankwright_event::Timestamp;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Most bytes of messages in a commit, without the last message.
const COMMIT: usize = 4 << 20;
/// Bytes of held messages above which nothing is read ahead.
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

    /// There is nothing after what this partition has pushed: others do not wait for it.
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

    /// Whether more may be read before anything is handed out, if it is there already: at most `events` events, and no more
    /// batches and bytes than are held anyway.
    pub fn has_room_for(&self, events: usize) -> bool {
        let batches = || self.lanes.values().flat_map(|lane| &lane.batches);
        self.held < self.most
            && batches().map(|batch| batch.events.len()).sum::<usize>() < events
            && batches().map(|batch| batch.bytes).sum::<usize>() < ROOM
    }

    /// What comes next in event time, message by message, up to about `events` events and some megabytes: one batch of each
    /// partition. It ends at the last held message of a partition that is behind, because the next one may be of that.
    pub fn pop_some(&mut self, events: usize) -> Vec<(Partition, Batch)> {
        let taken: Vec<_> =
            self.next(events).into_iter().map(|next| (next.partition.clone(), next.batch, next.piece)).collect();
        let popped = taken.into_iter().filter_map(|(partition, batches, pieces)| {
            let lane = self.lanes.get_mut(&partition)?;
            let mut parts: Vec<Batch> = lane.batches.drain(..batches).collect();
            self.held -= parts.len();
            parts.extend(lane.batches.front_mut().and_then(|rest| rest.take_front(pieces)));
            let together = parts.into_iter().reduce(|mut all, next| {
                all.append(next);
                all
            });
            Some((partition, together?))
        });
        popped.collect()
    }

    /// How far the next `events` events reach into each lane.
    fn next(&self, events: usize) -> Vec<Cursor<'_>> {
        let mut cursors: Vec<Cursor<'_>> = self.lanes.iter().map(Cursor::new).collect();
        let heads = cursors.iter().enumerate().filter_map(|(place, cursor)| Some(Reverse((cursor.head()?, place))));
        let mut heads: BinaryHeap<_> = heads.collect();
        let mut awaited = cursors.iter().filter(|cursor| cursor.is_awaited()).count();
        let (mut held, mut count, mut bytes) = (self.held, 0, 0);
        while count < events
            && bytes < COMMIT
            && (awaited == 0 || held > self.most)
            && let Some(Reverse((_, place))) = heads.pop()
        {
            let cursor = &mut cursors[place];
            let step = cursor.step();
            count += step.events;
            bytes += step.bytes;
            held -= usize::from(step.is_last);
            match cursor.head() {
                Some(head) => heads.push(Reverse((head, place))),
                None => awaited += usize::from(cursor.is_awaited()),
            }
        }
        cursors
    }

    /// The batch that comes next in event time, as a whole; `None` while a partition that is behind may still have an earlier one.
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

/// How far into a lane: whole batches, and pieces of the next one.
struct Cursor<'a> {
    partition: &'a Partition,
    lane: &'a Lane,
    batch: usize,
    piece: usize,
}

/// A piece that a cursor has passed.
struct Passed {
    events: usize,
    bytes: usize,
    /// Whether it was the last one of its batch.
    is_last: bool,
}

impl<'a> Cursor<'a> {
    fn new((partition, lane): (&'a Partition, &'a Lane)) -> Self {
        Self { partition, lane, batch: 0, piece: 0 }
    }

    fn batch(&self) -> Option<&'a Batch> {
        self.lane.batches.get(self.batch)
    }

    /// Time of the next event; a lane without one does not delay others.
    fn head(&self) -> Option<Timestamp> {
        let (events, _) = self.batch()?.piece(self.piece);
        Some(events.first().map_or(Timestamp::MIN, rankwright_event::Event::timestamp))
    }

    fn is_awaited(&self) -> bool {
        self.batch().is_none() && !self.lane.caught_up
    }

    /// Passes the next piece.
    fn step(&mut self) -> Passed {
        let Some(batch) = self.batch() else { return Passed { events: 0, bytes: 0, is_last: false } };
        let (events, bytes) = batch.piece(self.piece);
        let is_last = self.piece + 1 >= batch.pieces();
        (self.batch, self.piece) = if is_last { (self.batch + 1, 0) } else { (self.batch, self.piece + 1) };
        Passed { events: events.len(), bytes, is_last }
    }
}

impl Lane {
    fn is_awaited(&self) -> bool {
        self.batches.is_empty() && !self.caught_up
    }

    /// Time of the next event; a batch without events does not delay others.
    fn head(&self) -> Option<Timestamp> {
        let batch = self.batches.front()?;
        Some(batch.events.first().map_or(Timestamp::MIN, |event| event.timestamp()))
    }
}
