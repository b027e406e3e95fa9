//! What a store in Redis is told.

use crate::part::{BLOCK_BYTES, Format};
use rankwright_redis::Settings;
use std::time::Duration;

/// Where parts are, how they are written, how long they stay, and when one is put.
#[derive(Clone)]
pub struct RedisSettings {
    /// The server, and which of its databases.
    pub server: Settings,
    /// How new parts are written; there may be others.
    pub format: Format,
    /// So long a part is read after it was put; its memory is free ten minutes later.
    pub ttl: Duration,
    /// A part is put with this many bytes, before compression; it is held in memory until then.
    pub part_bytes: u64,
    /// A part is put with this many records.
    pub part_records: u64,
    /// A part is put this long after its first record came.
    pub part_interval: Duration,
    /// Records are written in blocks of this many bytes, before compression.
    pub block_bytes: usize,
}

/// Eight parts are read at once, and have to arrive within `timeout.command`, 1 s unless it is set: these do over 100
/// Mbit/s, even as JSON. The server, which does one thing at a time, is busy with one for a millisecond at most.
const PART_BYTES: u64 = 1 << 20;

/// As many as in a bucket; rankings of a few items each get there first.
const PART_RECORDS: u64 = 1024;

/// How late another process sees a record when little happens. Until then an outbox of the state keeps it, which is no
/// less safe; each part costs an entry of the index and two headers, and there are 52,560 of such intervals in a year.
const PART_INTERVAL: Duration = Duration::from_secs(600);

impl RedisSettings {
    /// Parts of the usual size.
    pub fn new(server: Settings, format: Format, ttl: Duration) -> Self {
        Self {
            server,
            format,
            ttl,
            part_bytes: PART_BYTES,
            part_records: PART_RECORDS,
            part_interval: PART_INTERVAL,
            block_bytes: BLOCK_BYTES,
        }
    }
}
