//! Where events come from, and how far they are read.
//!
//! A source delivers [`Batch`]es in order: events, the lines that are none with the reason, and the [`Position`] behind
//! them. Files and folders ([`Files`]) come to an end; [`Marks`] keep how far each file was read, and a reader that starts from
//! them delivers exactly the rest. A [`Stream`] goes on, in partitions that readers share; [`Kafka`] is one, and [`Merged`] puts the
//! batches of its partitions in order; [`Pulsar`] and [`Kinesis`] are others.

#![cfg_attr(not(feature = "streams"), allow(dead_code))] // what streams alone use

mod batch;
mod building;
mod dead_letter;
mod decode;
mod error;
mod file;
mod format;
#[cfg(feature = "streams")]
mod kafka;
#[cfg(feature = "streams")]
mod kinesis;
mod leases;
mod marks;
mod merged;
mod open;
#[cfg(feature = "streams")]
mod pulsar;
mod stream;

pub use batch::{BadLine, Batch, Cut, Position, Progress};
pub use building::BatchLimits;
pub use dead_letter::{DeadLetters, LettersLost};
pub use error::{Error, shown};
pub use file::{Compression, Files, Limits, Reader, Record, Records, missing};
#[cfg(feature = "streams")]
pub use kafka::{Kafka, KafkaError};
#[cfg(feature = "streams")]
pub use kinesis::{Kinesis, KinesisError};
pub use leases::Leases;
pub use marks::Marks;
pub use merged::Merged;
pub use open::{check, open};
#[cfg(feature = "streams")]
pub use pulsar::{Pulsar, PulsarError};
pub use stream::{BoxFuture, Clock, Lag, Partition, Step, Stream, StreamSettings};
