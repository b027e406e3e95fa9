//! `time_diff`: seconds from a field of epoch seconds to the time of the ranking.

use super::{Definition, Source, source};
use crate::schema::FeatureType;
use crate::section::Section;

/// Seconds from a field of epoch seconds to the ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeDiff {
    /// Where the time is.
    pub source: Source,
}

impl Definition for TimeDiff {
    const TYPE: FeatureType = FeatureType {
        name: "time_diff",
        aliases: &[],
        example: "{name: since_release, type: time_diff, field: item.released}",
        doc: "seconds from a field of epoch seconds to the time of the ranking",
    };

    fn read(section: &Section<'_>) -> Option<Self> {
        source::scoped(section).map(|source| Self { source })
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }
}
