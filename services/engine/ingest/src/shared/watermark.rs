//! How far writers have come in event time: the closer reads it.

use super::lane::Origin;
use rankwright_event::{Tenant, Timestamp};
use rankwright_state::{
    Cell, Commit, Entity, Error, Key, Lease, Outcome, Position, Scope, Slot, Space, Store, Stored, Writer,
};
use std::collections::BTreeMap;
use std::slice;
use std::time::Duration;

/// A replica that was silent for this long, in real time, is gone: closers no longer wait for it.
const SILENCE: Duration = Duration::from_secs(10);

/// After this long without a reader a partition is worth a warning: no ranking closes before a reader comes.
const STALLED: Duration = Duration::from_secs(300);

/// A dealt-out partition without a reader for this long is no longer waited for: its source may have been abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A closer has looked for this long before it believes that: after an outage all readers are back by then.
const LOOKED: Duration = Duration::from_secs(900);

const ORIGIN: Slot = Slot(0);
const PARTITION: u64 = 1;
const REPLICA: u64 = 2;
const DEALT: u64 = 3;

pub(super) fn key(writer: &str) -> Key {
    Key::new(&Tenant::default(), Scope::Watermark(writer.into()))
}

/// The note that a writer has come to `watermark` at `wall` time. Of two notes the later one stays.
pub(super) fn note(origin: Origin, watermark: Timestamp, wall: Timestamp) -> (Slot, Stored) {
    let flags = match origin {
        Origin::Partition => PARTITION,
        Origin::Replica => REPLICA,
        Origin::Dealt => DEALT,
    };
    let event = u64::try_from(wall.millis()).unwrap_or(0);
    (ORIGIN, Stored { at: watermark, event, cell: Cell::Flags(flags) })
}

/// What the writer is called that is one of many readers of a partition.
pub(super) fn reader_of(partition: &str, reader: &str) -> String {
    format!("feedback:{partition} {}", reader.replace(' ', "_"))
}

/// The partition that such a one reads.
fn partition_of(reader: &str) -> &str {
    let (partition, _) = reader.rsplit_once(' ').unwrap_or((reader, ""));
    partition.strip_prefix("feedback:").unwrap_or(partition)
}

fn writer(key: Key) -> Option<(Key, Writer)> {
    let writer = Writer(key.scope.writer()?);
    Some((key, writer))
}

/// Has closers wait for partitions that may have no reader yet: no ranking closes before each has been read far enough.
/// Call it with all partitions of a source before any of them is read.
///
/// # Errors
/// When the store fails.
pub async fn expect(store: &dyn Store, partitions: &[&str], wall: Timestamp) -> Result<(), crate::Error> {
    let mut new = false;
    let noted = note_all(store, partitions, wall, &mut new).await;
    if new || noted.is_err() {
        store.acquire(&Writer(super::closer::WRITER.to_owned())).await?; // the closer starts again, and sees them
    }
    noted
}

/// From position `at` on, the messages of a partition are dealt out to several readers: closers no longer wait for its
/// previous reader, such as an import that was killed.
///
/// # Errors
/// When the store fails, or another process has become the partition's writer.
pub async fn deal_out(store: &dyn Store, partition: &Lease, at: Position) -> Result<(), crate::Error> {
    let key = key(&partition.writer.0);
    let is_waited_for = store.read(slice::from_ref(&key)).await?.into_iter().flatten().next().is_some();
    if partition.position == at && !is_waited_for {
        return Ok(()); // another reader has done so
    }
    let writes = vec![(key, None)];
    let commit = Commit { from: partition.position.clone(), to: at, writes, ..Commit::default() };
    match store.commit(partition, commit).await? {
        Outcome::LostLease => Err(crate::Error::LostLease { writer: partition.writer.0.clone() }),
        Outcome::Applied | Outcome::Exists => Ok(()),
    }
}

async fn note_all(store: &dyn Store, partitions: &[&str], wall: Timestamp, new: &mut bool) -> Result<(), crate::Error> {
    let lease = store.acquire(&Writer("partitions".to_owned())).await?;
    for partition in partitions {
        let (key, (slot, note)) = (key(partition), note(Origin::Partition, Timestamp::MIN, wall));
        let (from, to) = (lease.position.clone(), lease.position.clone());
        let writes = vec![(key.clone(), Some(Entity::one(slot, note)))];
        let commit = Commit { from, to, writes, absent: vec![key], ..Commit::default() };
        match store.commit(&lease, commit).await? {
            Outcome::LostLease => return Err(crate::Error::LostLease { writer: lease.writer.0 }), // another process does the same
            Outcome::Applied => *new = true,
            Outcome::Exists => {}
        }
    }
    Ok(())
}

/// What a writer noted last.
pub(super) fn noted(entity: &Entity) -> Timestamp {
    entity.newest()
}

/// How far a writer has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// A partition of a source, or a replica's `/feedback`.
    pub writer: String,
    /// Whether it is a partition.
    pub partition: bool,
    /// The event time that it has come to; `None` before its first event.
    pub watermark: Option<Timestamp>,
    /// When it said so, by the wall clock.
    pub seen: Timestamp,
}

/// How far all writers of a shared state have come that are alive, or were a moment ago; where none is, the last that was.
///
/// # Errors
/// When the store fails.
pub async fn reached(store: &dyn Store) -> Result<Vec<Reached>, Error> {
    let reached = |(key, entity): (Key, std::sync::Arc<Entity>)| {
        let (_, stored) = entity.values().next()?;
        Some(Reached {
            writer: key.scope.writer()?,
            partition: stored.cell == Cell::Flags(PARTITION),
            watermark: (stored.at > Timestamp::MIN).then_some(stored.at),
            seen: Timestamp::from_millis(i64::try_from(stored.event).unwrap_or(i64::MAX)),
        })
    };
    Ok(store.scan(Space::Watermarks).await?.into_iter().filter_map(reached).collect())
}

/// What is further ahead of the clock has come to its end; clocks differ by less.
const AHEAD: Duration = Duration::from_secs(86_400);

/// The newest event time that anybody has come to who is not at its end, and no further than the clock.
pub(super) async fn newest(store: &dyn Store, wall: Timestamp) -> Result<Option<Timestamp>, Error> {
    let reached = reached(store).await?.into_iter().filter_map(|reached| reached.watermark);
    Ok(reached.filter(|reached| *reached < wall.plus(AHEAD)).map(|reached| reached.min(wall)).max())
}

/// What the writers have noted.
#[derive(Default)]
pub(super) struct Watermarks {
    /// The lowest one of the writers that are waited for; `None` where there is none.
    pub(super) lowest: Option<Timestamp>,
    /// Where there is none: the replica that would have come farthest by now, and how far, as its time passes with the clock's.
    pub(super) resting: Option<(Writer, Timestamp)>,
    /// The partition that holds the lowest one, where it had no reader for long.
    pub(super) stalled: Option<String>,
    /// Other replicas and readers that do not show themselves, with the keys of their notes.
    pub(super) silent: Vec<(Key, Writer)>,
}

impl Watermarks {
    /// For a closer that has `looked` for this long without a gap. Silent readers of dealt-out messages may have been cut off
    /// from the store with all others, and still hold messages.
    pub(super) async fn read(store: &dyn Store, wall: Timestamp, looked: Duration) -> Result<Self, Error> {
        let (mut watermarks, mut silent_ones) = (Self::default(), Vec::new());
        let mut dealt = BTreeMap::<String, Vec<_>>::new();
        for (key, entity) in store.scan(Space::Watermarks).await? {
            let Some((_, stored)) = entity.values().next() else { continue };
            let silent = wall.millis_since(Timestamp::from_millis(i64::try_from(stored.event).unwrap_or(i64::MAX)));
            let silent = Duration::from_millis(u64::try_from(silent).unwrap_or(0));
            match stored.cell {
                Cell::Flags(REPLICA) if silent > SILENCE => {
                    // before its first event it has come nowhere
                    let by_now = if stored.at > Timestamp::MIN { stored.at.plus(silent) } else { stored.at };
                    silent_ones.extend(writer(key).map(|(key, writer)| (by_now, key, writer)));
                }
                Cell::Flags(DEALT) => {
                    let Some((key, writer)) = writer(key) else { continue };
                    dealt.entry(partition_of(&writer.0).to_owned()).or_default().push((stored.at, silent, key, writer));
                }
                _ => watermarks.wait_for(stored.at, silent, || key.scope.writer()),
            }
        }
        for (partition, readers) in dealt {
            // without any, what lies there unread has to be read first, as with any other partition
            let is_gone = |silent: Duration| silent.min(looked) > SILENCE;
            let is_read = readers.iter().any(|(_, silent, ..)| !is_gone(*silent));
            let is_left = looked > LOOKED && readers.iter().all(|(_, silent, ..)| *silent > ABANDONED);
            if is_left {
                tracing::warn!(partition, "no worker has read this for an hour: rankings no longer wait for it");
            }
            for (at, silent, key, writer) in readers {
                match is_left || (is_read && is_gone(silent)) {
                    true => watermarks.silent.push((key, writer)),
                    false => watermarks.wait_for(at, silent, || (!is_read).then(|| partition.clone())),
                }
            }
        }
        silent_ones.sort();
        if watermarks.lowest.is_none()
            && let Some((by_now, _, writer)) = silent_ones.pop()
        {
            watermarks.resting = Some((writer, by_now));
        }
        watermarks.silent.extend(silent_ones.into_iter().map(|(_, key, writer)| (key, writer)));
        Ok(watermarks)
    }

    /// One more who is waited for, has come so far, and was silent for this time.
    fn wait_for(&mut self, at: Timestamp, silent: Duration, partition: impl FnOnce() -> Option<String>) {
        if self.lowest.is_none_or(|lowest| at < lowest) {
            self.lowest = Some(at);
            self.stalled = (silent > STALLED).then(partition).flatten();
        }
    }
}

#[cfg(test)]
mod tests;
