//! Leaving out records that were read before.

use crate::digest::Digest;
use crate::{Clickthrough, Kind};
use foldhash::fast::RandomState;
use std::collections::HashSet;

/// Remembers which records were read, over any number of parts: 16 bytes each.
#[derive(Debug, Clone, Default)]
pub struct Dedup {
    seen: HashSet<u128, RandomState>,
}

impl Dedup {
    /// Whether no record of this identity (tenant, kind and id) has come before; remembers it.
    pub fn is_new(&mut self, record: &Clickthrough) -> bool {
        let mut digest = Digest::new();
        digest.update(record.tenant.as_str().as_bytes());
        digest.update(match record.kind {
            Kind::Ranking => &[0xff], // no byte of UTF-8, so that tenant and id cannot run into each other
            Kind::Interaction => &[0xfe],
        });
        digest.update(record.ranking.as_str().as_bytes());
        self.seen.insert(digest.value())
    }
}
