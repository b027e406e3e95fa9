//! Events from a file or from the files of a folder.
//!
//! One thread reads, decompresses and cuts the text into blocks of whole lines (or whole elements of an array); others
//! decode blocks; batches are delivered in the order of the files. Memory is bounded by the size of blocks and queues,
//! whatever the size of files and lines.

mod array;
mod block;
mod cut;
mod decode;
mod input;
mod lines;
mod listing;
mod name;
mod order;
mod reader;
mod records;

pub use listing::missing;
pub use name::Compression;
pub use reader::Reader;
pub use records::{Record, Records};

use crate::Error;
use crate::marks::Head;
use rankwright_config::{EventFormat, FileOrder, Offset, SourceConfig, SourceKind};
use rankwright_event::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files with events, in the order in which they are read.
#[derive(Debug, Clone)]
pub struct Files {
    files: Arc<[File]>,
    /// Older events are left out.
    since: Timestamp,
    /// Later events are bad lines.
    until: Timestamp,
    limits: Limits,
    format: EventFormat,
}

/// How much is held in memory at once, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Text that is decoded at once; default 256 KiB. Queues hold a few blocks for each thread.
    pub block: usize,
    /// The longest line, or element of an array; default 64 MiB. Longer ones are bad lines.
    pub line: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { block: 256 << 10, line: 64 << 20 }
    }
}

/// One file.
#[derive(Debug, Clone)]
struct File {
    path: PathBuf,
    name: Arc<str>,
    bytes: u64,
    modified: std::time::SystemTime,
    compression: Compression,
    head: Head,
}

impl Files {
    /// The files that `path` names: itself, or those in it if it is a folder.
    ///
    /// Hidden files, folders and files that are not named like those of the format are left out, each with a line of log; a file that
    /// is named itself is read whatever its name. Offsets count by the time of events: `last` counts back from `now`,
    /// and `latest` leaves nothing to read.
    pub fn open(
        path: &Path,
        format: EventFormat,
        order: FileOrder,
        offset: Offset,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let files = listing::list(path, format)?;
        let all =
            Self { files: [].into(), since: Timestamp::MIN, until: Timestamp::MAX, limits: Limits::default(), format };
        let since = match offset {
            Offset::Earliest => Timestamp::MIN,
            Offset::At(time) => time,
            Offset::Last(length) => now.minus(length),
            Offset::Latest => return Ok(Self { since: now, ..all }),
        };
        let files = order::sorted(files, order, &all)?.into();
        Ok(Self { files, since, ..all })
    }

    /// The files that a configuration names.
    pub fn configured(source: &SourceConfig, now: Timestamp) -> Result<Self, Error> {
        match &source.kind {
            SourceKind::File { path: Some(path), sort } => Self::open(path, source.format, *sort, source.offset, now),
            SourceKind::File { path: None, .. } => Err(unavailable("a source of type file without a path")),
            SourceKind::Kafka { .. } => Err(unavailable("source kafka")),
            SourceKind::Pulsar { .. } => Err(unavailable("source pulsar")),
            SourceKind::Kinesis { .. } => Err(unavailable("source kinesis")),
        }
    }

    /// The same files with other limits.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same files; events later than this are bad lines.
    pub fn until(self, until: Timestamp) -> Self {
        Self { until, ..self }
    }

    /// Older events are left out.
    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    /// The start of a file, and its size on disk.
    pub(crate) fn known_by(&self, name: &str) -> Option<(Head, u64)> {
        self.files.iter().find(|file| &*file.name == name).map(|file| (file.head, file.bytes))
    }

    /// How their events are written.
    pub fn format(&self) -> EventFormat {
        self.format
    }

    /// Names of the files, without their folder, in the order in which they are read.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| &*file.name)
    }

    /// Size of all files together, in bytes as they lie on disk.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

fn unavailable(what: &str) -> Error {
    Error::Unavailable { what: what.to_owned() }
}
