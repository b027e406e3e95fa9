//! `time_diff`: seconds from a field of epoch seconds to the time of the ranking.

use super::{Definition, Source, source};
use crate::schema::{Key, key};
use crate::section::Section;

/// Seconds from a field of epoch seconds to the ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeDiff {
    /// Where the time is.
    pub source: Source,
}

impl Definition for TimeDiff {
    const NAME: &str = "time_diff";
    const EXAMPLE: &str = "{name: since_release, type: time_diff, field: item.released}";
    const DOC: &str = "seconds from a field of epoch seconds to the time of the ranking";
    const OF_FIELDS_ALONE: bool = false;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("field", "", "the field with epoch seconds or an ISO 8601 date and time with a zone: `item.x`, `user.x` or `ranking.x`"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        source::scoped(section).map(|source| Self { source })
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }
}
