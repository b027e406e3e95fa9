//! What lies where on disk, and how it is read.

use super::FileOptions;
use super::address::{self, Address};
use super::cache::Cache;
use super::journal::{self, Trouble as JournalTrouble};
use super::making::{Making, Trouble};
use super::meta::{self, Meta};
use crate::expiry::Pace;
use crate::timeline::Timeline;
use crate::{Entity, Error, Fingerprint, Format, Key, Lease, Listed, Show, Slot, Space, Stats, Writer, codec};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use parking_lot::Mutex;
use rankwright_event::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The open store below [`super::FileStore`].
pub(super) struct Disk {
    pub(super) db: Database,
    pub(super) values: Keyspace,
    work: Keyspace, // joins, outbox and seen events: written and removed soon after
    pub(super) meta: Meta,
    pub(super) cache: Cache,
    pub(super) format: Format,
    pub(super) writing: Mutex<()>, // held by the one that changes anything
    pub(super) entities: AtomicU64,
    pub(super) pace: Pace,
    /// Event time when an earlier process looked for outdated values last.
    pub(super) swept_before: Option<Timestamp>,
    /// Of work; changed by the one that changes anything.
    pub(super) timeline: Mutex<Option<Timeline>>,
}

/// Why a folder that can be read is not opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("another process holds it")]
    Held,
    #[error("it belongs to the service {found:?}, not to {wanted:?}")]
    Service { found: String, wanted: String },
    #[error(
        "only a part of a state is there, its file `version` is missing: put it back, or remove the folder to start again"
    )]
    Part,
    #[error("its file `version` is damaged: put it back, or remove the folder to start again")]
    Version,
    #[error("its journal is damaged ({0}): put it back, or remove the folder to start again")]
    Journal(fjall::JournalRecoveryError),
    #[error(
        "its journal {} is damaged at byte {at}, and finished commits may lie behind: restore the folder from a backup{}",
        .journal.display(), in_place(.journal, *.at, *.newest)
    )]
    JournalAt { journal: PathBuf, at: usize, newest: bool },
    #[error(
        "its journal is missing, and the last commits with it: put it back, or restore the folder from a backup; or run `touch {}`, \
         which gives up these commits, and send the events again",
        .0.display()
    )]
    JournalMissing(PathBuf),
    #[error(
        "it was finished, and neither its journal nor its tables say whose it is: they are lost or damaged; restore the folder from a \
         backup, or remove it to begin again, and send the events again"
    )]
    Blank,
    #[error("it is no folder")]
    NoFolder,
    #[error("its tables are damaged ({0}): put a backup in its place, or remove the folder to start again")]
    Tables(String),
    #[error(
        "an earlier write failed, as where the disk was full, and nothing is written since: see to the disk, and start the program again"
    )]
    Poisoned,
}

/// Names the folder in an error.
pub(super) fn cannot_open<E: Into<Box<dyn std::error::Error + Send + Sync>>>(path: &Path) -> impl Fn(E) -> Error {
    let place = path.display().to_string();
    move |source| Error::Open { place: place.clone(), source: source.into() }
}

/// How a damaged journal is mended where it lies. One that another follows is not: that would be read on behind a gap.
fn in_place(journal: &Path, at: usize, newest: bool) -> String {
    match newest {
        true => format!(
            "; or keep a copy of the file and run `truncate -s {at} {}`, which gives up all commits from there on, and send the \
             events again",
            journal.display()
        ),
        false => ", or remove it to begin again".to_owned(),
    }
}

/// What the store below says, in words of ours where they help.
fn refused(error: fjall::Error) -> Box<dyn std::error::Error + Send + Sync> {
    match error {
        fjall::Error::Locked => Refusal::Held.into(),
        fjall::Error::InvalidVersion(_) => Refusal::Version.into(),
        fjall::Error::JournalRecovery(error) => Refusal::Journal(error).into(),
        fjall::Error::Io(error) => not_read(error),
        fjall::Error::Storage(error) => Refusal::Tables(error.to_string()).into(),
        error => error.into(),
    }
}

fn not_read(error: std::io::Error) -> Box<dyn std::error::Error + Send + Sync> {
    if error.kind() == std::io::ErrorKind::NotADirectory { Refusal::NoFolder.into() } else { error.into() }
}

/// Names what was tried in an error.
pub(super) fn failed(action: &'static str) -> impl Fn(fjall::Error) -> Error {
    move |source| match source {
        fjall::Error::Poisoned => Error::Failed { action, source: Box::new(Refusal::Poisoned) },
        source => Error::Failed { action, source: Box::new(source) },
    }
}

impl Disk {
    pub(super) fn open(path: &Path, options: FileOptions, service: &str) -> Result<Self, Error> {
        let blocks = options.cache_bytes / 4;
        let io = |error: std::io::Error| cannot_open(path)(not_read(error));
        let making = Making::begin(path).map_err(|trouble| match trouble {
            Trouble::Refused(refusal) => cannot_open(path)(refusal),
            Trouble::Io(error) => io(error),
        })?;
        let (mut unfinished, mut empty) = (Vec::new(), None);
        for trouble in journal::troubles(path).map_err(io)? {
            match trouble {
                JournalTrouble::Unfinished { journal, bytes } => unfinished.push((journal, bytes)),
                JournalTrouble::Damaged { journal, at, newest } if making.is_none() => {
                    return Err(cannot_open(path)(Refusal::JournalAt { journal, at, newest }));
                }
                JournalTrouble::Missing { journal } if making.is_none() => {
                    return Err(cannot_open(path)(Refusal::JournalMissing(journal)));
                }
                JournalTrouble::Empty { journal } if making.is_none() => empty = Some(journal),
                _ => {} // what is being made holds nothing yet
            }
        }
        let opened = || Database::builder(path).cache_size(blocks).open();
        let db = match (opened(), &making) {
            (Err(error), Some(making)) if !matches!(error, fjall::Error::Locked) => {
                tracing::warn!(path = %path.display(), %error, "a state that was never finished is started again");
                making.clear().map_err(io)?;
                opened()
            }
            (opened, _) => opened,
        };
        let db = db.map_err(|error| cannot_open(path)(refused(error)))?;
        for (journal, bytes) in unfinished {
            tracing::warn!(
                journal = %journal.display(), bytes,
                "an unfinished commit is removed from the journal: its process, or the machine, ended while writing it"
            );
        }
        let meta = Meta::open(&db, path, service, making.is_some())?;
        if let Some(journal) = empty {
            tracing::warn!(
                journal = %journal.display(),
                "the newest journal is empty, as it is between the beginning of a journal and the next write: if the disk was \
                 damaged since, the last commits are lost"
            );
        }
        let keyspace = |name: &str| {
            let name = format!("{name}.{}", meta.generation);
            let options = || KeyspaceCreateOptions::default().max_memtable_size(options.buffer_bytes);
            db.keyspace(&name, options).map_err(cannot_open(path))
        };
        let (values, work) = (keyspace("values")?, keyspace("work")?);
        let (pace, entities) = (Pace::default(), AtomicU64::new(meta.entities()?));
        let swept_before = meta.swept()?;
        let cache = Cache::new(options.cache_bytes - blocks);
        let (writing, timeline) = (Mutex::default(), Mutex::default());
        let format = options.format.in_layout(meta.format);
        if let Some(making) = making {
            db.persist(PersistMode::SyncAll).map_err(failed("begin a state"))?;
            making.finish().map_err(io)?;
        }
        Ok(Self { values, work, meta, cache, format, writing, entities, pace, swept_before, timeline, db })
    }

    pub(super) fn database(&self) -> Database {
        self.db.clone()
    }

    pub(super) fn generation(&self) -> u32 {
        self.meta.generation
    }

    /// All that there is of it, each with the bytes of memory for what waits to be sorted into files.
    pub(super) fn keyspaces(&self, options: FileOptions) -> [(&Keyspace, u64); 3] {
        let buffer = options.buffer_bytes;
        [(self.meta.keyspace(), meta::BUFFER_BYTES), (&self.values, buffer), (&self.work, buffer)]
    }

    /// Where the keys of a part lie.
    pub(super) fn keyspace(&self, space: Space) -> &Keyspace {
        match space {
            Space::Values => &self.values,
            _ => &self.work,
        }
    }

    /// What lies under a key, from the cache or through it.
    pub(super) fn get(&self, key: &Key) -> Result<Option<Arc<Entity>>, Error> {
        self.cache.get_or_load(key, || self.load(key))
    }

    /// What lies under a key, not kept in the cache.
    pub(super) fn current(&self, key: &Key) -> Result<Option<Arc<Entity>>, Error> {
        self.cache.get(key).map_or_else(|| self.load(key), Ok)
    }

    fn load(&self, key: &Key) -> Result<Option<Arc<Entity>>, Error> {
        let address = Address::of(key);
        let row = self.keyspace(key.scope.space()).get(address.bytes()).map_err(failed("read"))?;
        let Some(value) = row.as_deref().and_then(|row| address.value(row)) else { return Ok(None) };
        codec::decode(key, value).map(|entity| Some(Arc::new(entity)))
    }

    pub(super) fn scan(&self, space: Space) -> Result<Listed, Error> {
        let mut entries = Listed::new();
        self.each(space, &mut |key, entity| entries.push((key, entity)))?;
        entries.sort_by(|left, right| left.0.cmp(&right.0)); // only keys of thousands of bytes lie out of order
        Ok(entries)
    }

    /// As [`crate::Store::each`].
    pub(super) fn each(&self, space: Space, show: &mut Show<'_>) -> Result<(), Error> {
        for row in self.db.snapshot().prefix(self.keyspace(space), [space.prefix()]) {
            let (address, row) = row.into_inner().map_err(failed("list"))?;
            let (key, entity) = decode_row(&address, &row)?;
            show(key, Arc::new(entity));
        }
        Ok(())
    }

    /// Looks at the times of all keys but those of values.
    pub(super) fn in_timeline<T>(&self, look: impl FnOnce(&Timeline) -> T) -> Result<T, Error> {
        const WORK: [Space; 5] = [Space::Joins, Space::Outbox, Space::Seen, Space::Waiting, Space::Watermarks];
        let _writing = self.writing.lock();
        let mut kept = self.timeline.lock();
        let timeline = match kept.take() {
            Some(timeline) => timeline,
            None => {
                let mut timeline = Timeline::default();
                for space in WORK {
                    self.each(space, &mut |key, entity| timeline.note(&key, Some(entity.newest())))?;
                }
                timeline
            }
        };
        Ok(look(kept.insert(timeline)))
    }

    /// As [`crate::Store::oldest`].
    pub(super) fn oldest(&self, space: Space, until: Timestamp, limit: usize) -> Result<Listed, Error> {
        let keys = self.in_timeline(|timeline| timeline.oldest(space, until, limit))?;
        let mut listed = Listed::with_capacity(keys.len());
        for key in keys {
            if let Some(entity) = self.get(&key)?.filter(|entity| entity.newest() <= until) {
                listed.push((key, entity));
            }
        }
        Ok(listed)
    }

    pub(super) fn slots(&self, wanted: &[Fingerprint]) -> Result<Vec<Slot>, Error> {
        let _writing = self.writing.lock();
        let mut batch = self.db.batch();
        let slots = self.meta.slots(&mut batch, wanted)?;
        batch.commit().map_err(failed("give out slots"))?;
        Ok(slots)
    }

    pub(super) fn acquire(&self, writer: &Writer) -> Result<Lease, Error> {
        let _writing = self.writing.lock();
        let (epoch, position) = self.meta.writer(writer)?.unwrap_or_default();
        let lease = Lease { writer: writer.clone(), epoch: epoch + 1, position };
        let mut batch = self.db.batch();
        self.meta.put_writer(&mut batch, writer, lease.epoch, &lease.position)?;
        batch.commit().map_err(failed("acquire a lease"))?;
        Ok(lease)
    }

    pub(super) fn stats(&self) -> Stats {
        Stats { entities: self.entities.load(Ordering::Relaxed), bytes: self.db.disk_space().ok() }
    }
}

/// Key and entity of a row as it lies on disk.
pub(super) fn decode_row(address: &[u8], row: &[u8]) -> Result<(Key, Entity), Error> {
    let (key, value) = address::parse(address, row).ok_or_else(|| Error::Damaged {
        key: address.escape_ascii().to_string(),
        reason: "these are not the bytes of a key".to_owned(),
    })?;
    let entity = codec::decode(&key, value)?;
    Ok((key, entity))
}
