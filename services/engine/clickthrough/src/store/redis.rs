//! `redis`: click-throughs in parts that are values of a Redis, see `remote`, each with a time to live.
//!
//! Each part is a key of its own, so in a cluster parts lie on all nodes. Which parts there are says an index, one sorted
//! set (`keys`). Looking for their keys (`SCAN`) needs no index, but goes through all keys of the database: in a
//! cluster, and wherever databases are shared, those are the keys of the state, millions of them, each time that the store
//! is opened or read. An index can be behind, and then hides parts; so a part is durable only once it is in there.

mod keys;
mod settings;

use super::remote::{Cut, RemoteStore};
use crate::part::Header;
use crate::part::packing::Compression;
use crate::{Error, Result};
use keys::Keys;
use rankwright_redis::Link;
pub use settings::RedisSettings;

/// Keeps records in a Redis.
pub type RedisStore = RemoteStore<Keys>;

impl RedisStore {
    /// Opens the parts of the service that `header` names, for records with its columns.
    ///
    /// # Errors
    /// When the parts cannot be listed, as the server does not answer or refuses; when the service's name fits in no key.
    pub fn open(settings: &RedisSettings, header: Header) -> Result<Self> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if header.service.is_empty() || !header.service.bytes().all(fits) {
            let reason = "the service's name may have letters, digits, '-', '_' and '.' only";
            return Err(Error::Setting { key: "RANKWRIGHT_SERVICE", reason });
        }
        let cut = Cut {
            format: settings.format,
            packing: Compression::None, // binary blocks are compressed, and who asks for JSON wants to read it there
            bytes: settings.part_bytes,
            records: settings.part_records,
            age: settings.part_interval,
            block_bytes: settings.block_bytes,
        };
        let keys = Keys::new(Link::new(settings.server.clone(), None)?, &header.service, settings.ttl);
        Self::begin(cut, header, async move { Ok(keys) })
    }
}
