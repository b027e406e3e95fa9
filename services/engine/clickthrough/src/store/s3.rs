//! `s3`: click-throughs in a bucket of parts, see `remote`.
//!
//! The list of the bucket is what parts there are. A manifest beside them would save little (a thousand parts come with
//! a page of the list, while each of them is fetched by a request of its own), and can be behind: then it hides parts.
//! What a manifest would say of a part, its number of records, its digest and how it is packed, is in its name.

mod folder;
mod purge;
mod settings;

use super::remote::{Cut, RemoteStore};
use crate::Result;
use crate::part::Header;
use folder::Folder;
pub use purge::Purged;
use rankwright_object::Bucket;
pub use settings::S3Settings;

/// Keeps records in a bucket.
pub type S3Store = RemoteStore<Folder>;

impl S3Store {
    /// Opens a bucket, for records with the columns of `header`.
    ///
    /// # Errors
    /// When the parts there cannot be listed: the bucket is missing, the service does not answer or refuses.
    pub fn open(settings: &S3Settings, header: Header) -> Result<Self> {
        let cut = Cut {
            format: settings.format,
            packing: settings.compress,
            bytes: settings.part_bytes,
            records: settings.part_records,
            age: settings.part_interval,
            block_bytes: settings.block_bytes,
        };
        let (of, prefix) = (settings.bucket.clone(), settings.prefix.clone());
        Self::begin(cut, header, async move { Ok(Folder::new(Bucket::connect(&of).await, &prefix)) })
    }
}
