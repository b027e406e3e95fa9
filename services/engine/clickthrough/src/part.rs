//! The format of a part: a header, then blocks of records, each with its checksum.
//!
//! *Binary*: frames (`frame`), the header as the first two of them, then compressed blocks of records (`block`).
//! *JSON*: lines (`json`), the header as the first two, then a record a line, for people and their tools.
//!
//! The header stands there twice, because without the names of its columns a row is worth nothing. Every frame and
//! every line begins with a marker, so that a reader finds the next undamaged one behind a damaged stretch, whatever
//! happened there. A part without its end is read up to where it was cut. Where a part is stored it may be packed as a
//! whole as well (`packing`).

pub(crate) mod block;
pub(crate) mod column;
pub(crate) mod encoder;
pub(crate) mod frame;
pub(crate) mod json;
pub(crate) mod number;
pub(crate) mod packing;
pub(crate) mod reader;
pub(crate) mod stored;
pub(crate) mod window;

use crate::store::Column;
use std::io::Read;
use std::sync::Arc;

pub use encoder::{BLOCK_BYTES, Block, Encoder};
pub use rankwright_config::state::Format;
pub use reader::{PartReader, read_part};

/// Version of the format that this program writes; it reads all up to it.
pub const VERSION: u8 = 1;

/// The most bytes a block may have before compression, or a line.
pub(crate) const LIMIT: usize = 256 << 20;

/// What a part says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Name of the service that wrote it.
    pub service: String,
    /// Columns of its rows, in order.
    pub columns: Arc<[Column]>,
}

/// One part, to be read.
pub struct Part {
    /// Its name, for messages.
    pub place: String,
    /// How it is written.
    pub format: Format,
    /// Its bytes.
    pub bytes: Box<dyn Read + Send>,
    /// How many records it was written with, where that is known: fewer are a loss.
    pub records: Option<u64>,
}

impl Part {
    /// A part that counts its own records.
    pub fn new(place: impl Into<String>, format: Format, bytes: impl Read + Send + 'static) -> Self {
        Self { place: place.into(), format, bytes: Box::new(bytes), records: None }
    }

    /// A part that was written with this number of records.
    pub fn with_records(self, records: u64) -> Self {
        Self { records: Some(records), ..self }
    }
}
