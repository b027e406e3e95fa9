//! Identifiers, a type each. Short ones (up to 24 bytes) need no allocation.

use compact_str::CompactString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Characters of an identifier, at most: the service keeps it for as long as it may come again.
pub(crate) const MOST_CHARACTERS: usize = 4096;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(#[schemars(with = "String", length(min = 1, max = 4096))] CompactString);

        impl $name {
            /// The identifier as the client wrote it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: AsRef<str>> From<T> for $name {
            fn from(text: T) -> Self {
                Self(CompactString::from(text.as_ref()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

identifier! {
    /// What can be ranked: a product, a film, an article.
    ItemId
}
identifier! {
    /// A visitor.
    UserId
}
identifier! {
    /// One visit of a visitor.
    SessionId
}
identifier! {
    /// A ranking shown to a visitor; interactions name it as their cause.
    RankingId
}
identifier! {
    /// Any other event.
    EventId
}
identifier! {
    /// Partitions all state, joins and click-throughs.
    Tenant
}

impl Default for Tenant {
    fn default() -> Self {
        Self(CompactString::const_new("default"))
    }
}

impl EventId {
    /// A stable 64-bit digest (FNV-1a, Fowler, Noll and Vo 1991), for ordering events of equal time.
    pub fn digest(&self) -> u64 {
        digest(self.0.as_bytes())
    }
}

impl RankingId {
    /// A stable 64-bit digest, which seeds whatever is random about this ranking.
    pub fn digest(&self) -> u64 {
        digest(self.0.as_bytes())
    }
}

fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
