//! Where events come from, and how far they are read.
//!
//! A source delivers [`Batch`]es in order: events, the lines that are none with the reason, and the [`Position`] behind
//! them. [`Marks`] keep how far each file was read; a reader that starts from them delivers exactly the rest. Files and folders are
//! read here ([`Files`]); streams are named in configurations and refused with a clear [`Error`].

mod batch;
mod error;
mod file;
mod marks;

pub use batch::{BadLine, Batch, Position, Progress};
pub use error::Error;
pub use file::{Files, Limits, Reader};
pub use marks::Marks;
