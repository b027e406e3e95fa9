//! The contract of a state store.

use crate::usage::Sample;
use crate::{Entity, Format, Key, Scope, Slot, Space, Usage, codec};
use rankwright_event::Timestamp;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot::Receiver;

/// What a store answers with, now or later; embedded stores are ready at once.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What lies under keys, in the order asked for; `None` where nothing does.
pub type Rows = Vec<Option<Arc<Entity>>>;

/// Keys with what lies under them.
pub type Listed = Vec<(Key, Arc<Entity>)>;

/// What is shown a key and what lies under it.
pub type Show<'a> = dyn FnMut(Key, Arc<Entity>) + Send + 'a;

/// What becomes of an entity; `None` where it stays as it is, an empty one where it goes.
pub type Rewrite = Arc<dyn Fn(&Key, &Entity) -> Option<Entity> + Send + Sync>;

/// Stable digest of what a slot means (kind, interaction, scope, field, length of a period).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub u64);

/// A writer: a partition of a source, or a replica's feedback.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Writer(pub String);

/// How far a writer has come, in the words of its source; empty at the very start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Position(pub String);

/// The right to commit as a writer, until another process acquires it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Who writes.
    pub writer: Writer,
    /// Raised by each acquisition.
    pub epoch: u64,
    /// Where the last commit of this writer ended.
    pub position: Position,
}

/// Effects of a batch of events, which take place together or not at all.
#[derive(Debug, Clone, Default)]
pub struct Commit {
    /// Where the writer stood before.
    pub from: Position,
    /// Where it stands afterwards.
    pub to: Position,
    /// What each key absorbs, in order; `None` removes the key. A removal directly followed by an entity for the same
    /// key replaces what was there: no reader finds nothing in between.
    pub writes: Vec<(Key, Option<Entity>)>,
    /// Keys under which nothing may lie, else the batch is not applied; those that are written are so for the first time.
    pub absent: Vec<Key>,
    /// Keys under which nothing lay when the batch was put together. Something may by now: a store is spared the question, that
    /// is all.
    pub fresh: Vec<Key>,
    /// What is written under the second key of a pair is what lies under the first, which is removed: a store may move it. All of what is
    /// written there: nothing else may be.
    pub moved: Vec<(Key, Key)>,
    /// Further writers, whose batches are in this one; see [`Store::moves_together`].
    pub also: Vec<Move>,
}

impl Commit {
    /// Each writer's part, that of the holder of `lease` first.
    pub(crate) fn moves(&self, lease: &Lease) -> Vec<Move> {
        let first = Move { lease: lease.clone(), from: self.from.clone(), to: self.to.clone() };
        std::iter::once(first).chain(self.also.iter().cloned()).collect()
    }
}

/// What a writer adds to a batch that several have made together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// Its right to commit; without it, nothing of the batch takes place.
    pub lease: Lease,
    /// Where it stood before.
    pub from: Position,
    /// Where it stands afterwards.
    pub to: Position,
}

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All effects are there, and will be after a crash where the store is durable.
    Applied,
    /// Nothing was changed: another process has the lease or position of the writer, or of one of several, by now.
    LostLease,
    /// Nothing was changed: something lies under a key of [`Commit::absent`].
    Exists,
}

/// Size of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Number of keys that hold values of features.
    pub entities: u64,
    /// Bytes on disk, where there is a disk.
    pub bytes: Option<u64>,
}

/// What was asked of a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CacheUse {
    /// Keys that it knew.
    pub hits: u64,
    /// Keys that had to be read.
    pub misses: u64,
}

/// What can go wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store could not be opened.
    #[error("failed to open the state store at {place}")]
    Open {
        /// Path or address.
        place: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store did not do what it was asked for.
    #[error("the state store failed to {action}")]
    Failed {
        /// What was tried.
        action: &'static str,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Stored bytes that no version of this program wrote.
    #[error("damaged value under {key} in the state store: {reason}")]
    Damaged {
        /// Where it lies.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// A newer version's state.
    #[error("the state at {place} has format {found}, written by a newer version; this one reads up to {known}")]
    Newer {
        /// Path or address.
        place: String,
        /// Its format.
        found: u32,
        /// The newest one known here.
        known: u32,
    },
    /// The state of another service, or of one in another cluster.
    #[error(
        "the state at {place} belongs to {owner}: stop the programs there, then set RANKWRIGHT_TAKE_OVER=true \
         (stateStore.takeOver of a RankingService) to take it over"
    )]
    Owned {
        /// Path or address.
        place: String,
        /// Whose it is, in words.
        owner: String,
    },
    /// More slots than a state can hold.
    #[error("the state holds {0} slots, no more can be added")]
    Full(usize),
}

const SPACES: [Space; 6] = [Space::Values, Space::Joins, Space::Outbox, Space::Seen, Space::Waiting, Space::Watermarks];

/// Where values live. A store belongs to one service and one generation of its data.
pub trait Store: Send + Sync {
    /// Numbers for what slots mean, given out once and for all; same order as asked.
    fn slots<'a>(&'a self, wanted: &'a [Fingerprint]) -> BoxFuture<'a, Result<Vec<Slot>, Error>>;

    /// What lies under `keys`, in their order; `None` where nothing does. An entity is whole: it has all of a
    /// commit's effects on it, or none.
    fn read<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<Rows, Error>>;

    /// Becomes the only one that may commit as `writer`: the previous holder no longer may.
    fn acquire<'a>(&'a self, writer: &'a Writer) -> BoxFuture<'a, Result<Lease, Error>>;

    /// Applies a batch whose `from` is the writer's position, and moves the position.
    fn commit<'a>(&'a self, lease: &'a Lease, commit: Commit) -> BoxFuture<'a, Result<Outcome, Error>>;

    /// As [`Store::commit`], but nothing takes place before `due` is told; nothing at all ([`Outcome::LostLease`]) where its
    /// other end is dropped. What can be done before is done. Later commits of this process may wait for it.
    fn commit_when<'a>(
        &'a self,
        lease: &'a Lease,
        commit: Commit,
        due: Receiver<()>,
    ) -> BoxFuture<'a, Result<Outcome, Error>> {
        Box::pin(async move {
            match due.await {
                Ok(()) => self.commit(lease, commit).await,
                Err(_) => Ok(Outcome::LostLease),
            }
        })
    }

    /// What this process has last read or written under keys, in their order, without asking anybody; `None` where that is
    /// not remembered. Others may have written since.
    fn written(&self, keys: &[Key]) -> Vec<Option<Option<Arc<Entity>>>> {
        vec![None; keys.len()]
    }

    /// Whether one batch may move the positions of several writers.
    fn moves_together(&self) -> bool {
        true
    }

    /// Everything in a part of the keys, in order of keys.
    fn scan(&self, space: Space) -> BoxFuture<'_, Result<Listed, Error>>;

    /// Shows everything in a part of the keys, one after the other and in no order that is promised; a store that lies on
    /// a disk has no more of it in memory than it shows.
    fn each<'a>(&'a self, space: Space, show: &'a mut Show<'a>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            self.scan(space).await?.into_iter().for_each(|(key, entity)| show(key, entity));
            Ok(())
        })
    }

    /// Shows what lies under the keys of items, as [`Store::each`]; a store that is far away reads no others, and some at a time.
    fn each_item<'a>(&'a self, show: &'a mut Show<'a>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let mut of_item = |key: Key, entity| {
                if let Scope::Item(_) = key.scope {
                    show(key, entity);
                }
            };
            self.each(Space::Values, &mut of_item).await
        })
    }

    /// At most `limit` keys of a part that have no value newer than `until`, with what lies under them; those first whose
    /// newest value is the oldest.
    fn oldest(&self, space: Space, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Listed, Error>> {
        Box::pin(async move {
            let mut listed = self.scan(space).await?;
            listed.retain(|(_, entity)| entity.newest() <= until);
            listed.sort_by(|left, right| (left.1.newest(), &left.0).cmp(&(right.1.newest(), &right.0)));
            listed.truncate(limit);
            Ok(listed)
        })
    }

    /// How many keys there are in a part of them other than values; one whose time is over may be counted yet.
    fn count(&self, space: Space) -> BoxFuture<'_, Result<usize, Error>> {
        Box::pin(async move { Ok(self.scan(space).await?.len()) })
    }

    /// Holds a task that only one process should do, for a time from now on; whether this holder has it. An embedded store
    /// has one process, which holds everything. A holder's pause may outlast its time: commits are guarded by leases.
    fn hold<'a>(&'a self, _task: &'a str, _holder: &'a str, _time: Duration) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async { Ok(true) })
    }

    /// Removes states beside the live one that did not replace it, such as a killed rebuild leaves; how many keys. A rebuild that
    /// is under way can no longer replace the live state then: first ask whether a process holds that task.
    fn clear_unfinished(&self) -> BoxFuture<'_, Result<u64, Error>> {
        Box::pin(async { Ok(0) })
    }

    /// Removes what is left of the state that the live one has replaced, once no process reads it any more; how many keys.
    fn clear_former(&self) -> BoxFuture<'_, Result<u64, Error>> {
        Box::pin(async { Ok(0) })
    }

    /// Brings to its end what writers have begun to commit that were killed, or stand still; these lose their leases by it.
    fn settle(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    /// Whether other processes may write to it.
    fn shared(&self) -> bool {
        false
    }

    /// Removes values of the listed slots that are older than their time to live at `now`, and values of slots that
    /// are not listed and older than `other`; returns how many keys went away whole. Joins, outbox and seen events stay.
    ///
    /// An embedded store does so when as many keys were written since the last time as that has left, and nothing otherwise: values
    /// that are outdated take room until then. Features leave them out by their time.
    fn expire<'a>(
        &'a self,
        now: Timestamp,
        ttl: &'a [(Slot, Duration)],
        other: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>>;

    /// Puts what `change` makes of them in the place of entities that hold values of features, also while others write to
    /// them; how many were changed.
    fn rewrite(&self, change: Rewrite) -> BoxFuture<'_, Result<u64, Error>> {
        Box::pin(async move {
            let lease = self.acquire(&Writer("rewrite".to_owned())).await?;
            let (mut changed, mut writes) = (0, Vec::new());
            for (key, entity) in self.scan(Space::Values).await? {
                let Some(entity) = change(&key, &entity) else { continue };
                changed += 1;
                writes.push((key.clone(), None));
                writes.extend((!entity.is_empty()).then_some((key, Some(entity))));
            }
            let (from, to) = (lease.position.clone(), lease.position.clone());
            self.commit(&lease, Commit { from, to, writes, ..Commit::default() }).await?;
            Ok(changed)
        })
    }

    /// Whether state outlives this process.
    fn durable(&self) -> bool;

    /// How large it is.
    fn stats(&self) -> BoxFuture<'_, Result<Stats, Error>>;

    /// How useful its cache was so far; `None` where values are not far away.
    fn cache_use(&self) -> Option<CacheUse> {
        None
    }

    /// Memory that it takes, by purpose, from a sample of about this number of keys. A store of many keys reads only the sample;
    /// this default looks at all.
    fn usage(&self, _keys: usize) -> BoxFuture<'_, Result<Usage, Error>> {
        Box::pin(async move {
            let mut sample = Sample::default();
            for space in SPACES {
                for (key, entity) in self.scan(space).await? {
                    let bytes = key.to_bytes().len() + codec::encode(&entity, Format::Binary)?.len();
                    sample.entity(&key, &entity, (bytes as f64, Format::Binary), 1.0)?;
                }
            }
            let keys = sample.sampled() as f64;
            Ok(sample.usage(keys, true, Vec::new()))
        })
    }

    /// Slots that were given out, without giving out any.
    fn known_slots(&self) -> BoxFuture<'_, Result<Vec<(Fingerprint, Slot)>, Error>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Where writers stand, without becoming one of them; `None` for one that never began.
    fn positions<'a>(&'a self, writers: &'a [Writer]) -> BoxFuture<'a, Result<Vec<Option<Position>>, Error>> {
        Box::pin(async { Ok(vec![None; writers.len()]) })
    }

    /// The holder of a task, as far as one store knows holders; see [`Store::hold`].
    fn holder<'a>(&'a self, _task: &'a str) -> BoxFuture<'a, Result<Option<String>, Error>> {
        Box::pin(async { Ok(None) })
    }

    /// Stores a note of how the state grows, in place of the previous one, for programs that look at the state once. A store of
    /// one process needs none.
    fn tell_growth(&self, _word: String) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    /// The newest word of how it grows, as [`Store::tell_growth`] was given it.
    fn growth(&self) -> BoxFuture<'_, Result<Option<String>, Error>> {
        Box::pin(async { Ok(None) })
    }

    /// Why nothing can be written, where the newest commit failed and the store knows by itself; reads may answer all the same.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Number of the generation that is live.
    fn live_generation(&self) -> u32 {
        1
    }

    /// Which state it is, where others may lie in the same place: one that is made there later has another id.
    fn id(&self) -> Option<String> {
        None
    }

    /// Whether a state that this process has worked on is gone, and what took its place was not filled by an import yet.
    fn emptied(&self) -> bool {
        false
    }
}
