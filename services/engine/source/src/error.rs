//! Why a source cannot be read at all; single bad lines are [`BadLine`](crate::BadLine)s.

use crate::Position;
#[cfg(feature = "streams")]
use crate::{KafkaError, KinesisError, PulsarError};
use rankwright_event::Timestamp;
use std::io;
use std::path::{Path, PathBuf};

/// A file as messages name it. Its name comes from outside: control characters in it are escaped, so a message keeps its line.
pub fn shown(file: impl AsRef<Path>) -> String {
    let mut name = String::new();
    for sign in file.as_ref().to_string_lossy().chars() {
        match sign {
            _ if sign.is_control() || matches!(sign, '\u{2028}' | '\u{2029}') => name.extend(sign.escape_default()),
            _ => name.push(sign),
        }
    }
    name
}

/// Why a source cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A kind of source, a format or a place that later versions read.
    #[error(
        "{what} is not available in this version: read JSON from a file or folder, or send events to POST /feedback"
    )]
    Unavailable {
        /// What was asked for.
        what: String,
    },
    /// A stream, in a program that has no clients of streams.
    #[error("this program is built without streams (kafka, pulsar, kinesis): './run build' builds all of it")]
    NotBuilt,
    /// A file, where a stream is wanted.
    #[error("files are no stream; 'rankwright import' reads them")]
    NoStream,
    /// There is no such path.
    #[error("{} does not exist; {nearest}", shown(path))]
    Missing {
        /// The path.
        path: PathBuf,
        /// What lies in the nearest folder that there is, in words.
        nearest: String,
    },
    /// A pipe or a device.
    #[error("{} is no file, but a pipe or a device: write the events to a file first", shown(path))]
    NoFile {
        /// The path.
        path: PathBuf,
    },
    /// A folder without files that could hold events.
    #[error("{} holds no files named {names}, plain or with .gz, .zst, .zstd; {found}", shown(folder))]
    Empty {
        /// The folder.
        folder: PathBuf,
        /// How files with events are named, in words.
        names: &'static str,
        /// What lies in it, in words.
        found: String,
    },
    /// A file or folder that cannot be opened.
    #[error("cannot open {}: {source}", shown(path))]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system failed to read on in a file.
    #[error("cannot read on after {position}: {source}")]
    Read {
        /// Where reading stopped.
        position: Position,
        /// Why.
        source: io::Error,
    },
    /// A Kafka topic.
    #[cfg(feature = "streams")]
    #[error(transparent)]
    Kafka(#[from] KafkaError),
    /// A topic of Pulsar.
    #[cfg(feature = "streams")]
    #[error(transparent)]
    Pulsar(#[from] PulsarError),
    /// A stream of Kinesis.
    #[cfg(feature = "streams")]
    #[error(transparent)]
    Kinesis(#[from] KinesisError),
    /// Reading began later before, and cannot be extended to older events.
    #[error(
        "these files were read before, from {since} on; with an earlier offset the newer events would count twice. \
         Import into a fresh state, or name an offset that is not earlier"
    )]
    EarlierOffset {
        /// Where reading began.
        since: Timestamp,
    },
}
