//! Ids as the join and the notes of events have them. An id from outside has up to 4,096 characters, and a million of them
//! may be in memory at once: a long one is named by its digest.

use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_128;

/// The longest id that is its own name, in bytes.
const LONGEST: usize = 64;

/// The name of an id; that of a name is itself. Two ids that are made to share a name count as one.
pub(crate) fn short(id: &str) -> Cow<'_, str> {
    if id.len() <= LONGEST {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("#{:032x}", xxh3_128(id.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_id_has_a_short_name_that_stays_as_it_is() {
        let (longest, long) = ("x".repeat(LONGEST), "x".repeat(LONGEST + 1));
        assert_eq!(short(&longest), longest);
        assert_eq!(short(&long), format!("#{:032x}", xxh3_128(long.as_bytes())));
        assert_eq!(short(&short(&long)), short(&long));
        assert_ne!(short(&long), short(&"x".repeat(4096)));
    }
}
