//! Where events come from, and how far they are read.
//!
//! A source delivers [`Batch`]es in order: events, the lines that are none with the reason, and the [`Position`] behind
//! them. Files and folders ([`Files`]) come to an end; [`Marks`] keep how far each file was read, and a reader that starts from
//! them delivers exactly the rest. A [`Stream`] goes on, in partitions that readers share; [`Kafka`] is one, and [`Merged`] puts the
//! batches of its partitions in order. Other streams are named in configurations and refused with a clear [`Error`].

mod batch;
mod dead_letter;
mod error;
mod file;
mod kafka;
mod marks;
mod merged;
mod stream;

pub use batch::{BadLine, Batch, Position, Progress};
pub use dead_letter::{DeadLetters, LettersLost};
pub use error::Error;
pub use file::{Files, Limits, Reader};
pub use kafka::{BatchLimits, Clock, Kafka, KafkaError, KafkaSettings};
pub use marks::Marks;
pub use merged::Merged;
pub use stream::{BoxFuture, Partition, Step, Stream};
