//! Click-throughs: what was shown, what visitors did with it, and the feature values behind it.
//!
//! A [`Clickthrough`] is the record that models are trained on. A closed one goes to a [`ClickthroughStore`], which
//! keeps records in parts that check themselves; whatever a crash or a bad disk took from a part is counted and
//! named, and the rest of it is read.

#[cfg(any(test, feature = "testing"))]
pub mod contract;
pub mod dedup;
mod digest;
pub mod error;
pub mod forget;
pub mod losses;
pub mod part;
pub mod record;
pub mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use dedup::Dedup;
pub use error::{Error, Result};
pub use forget::{Forgotten, Subject, Who};
pub use losses::{Loss, Losses};
pub use part::{Format, Header, Part, PartReader, read_part};
pub use record::{Click, Clickthrough, Identity, Kind, Rows, Shown};
pub use store::{ClickthroughStore, Column, Entry, Mark, Records, Status};
pub use store::{discard::DiscardStore, file::FileStore, memory::MemoryStore, redis::RedisStore, s3::S3Store};
