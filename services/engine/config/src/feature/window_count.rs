//! `window_count` (also `window_event_count`): counts over the last N buckets.

use super::counting::{bucket, interaction, windows};
use super::{Definition, Scope, Source};
use crate::schema::{Key, key};
use crate::section::Section;
use std::time::Duration;

/// Counts over the last N buckets; one column for each window of N buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowCount {
    /// Interaction type.
    pub interaction: String,
    /// Whose counters.
    pub scope: Scope,
    /// Length of a bucket; at least a millisecond.
    pub bucket: Duration,
    /// Window lengths in buckets; never empty, each at least 1.
    pub windows: Vec<u32>,
}

impl Definition for WindowCount {
    const NAME: &str = "window_count";
    const ALIASES: &[&str] = &["window_event_count"];
    const EXAMPLE: &str = "{name: recent_clicks, type: window_count, interaction: click, scope: item, bucket_size: 24h, windows: [7, 30]}";
    const DOC: &str = "the number of interactions in the last N buckets of time, a column per window of N";
    const OF_FIELDS_ALONE: bool = false;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("interaction", "", "type of the interactions that are counted"),
        key("bucket_size", "", "length of a bucket of time"),
        key("windows", "", "lengths of the windows in buckets, a column each"),
        key("count", "", "accepted, and has no effect"),
        key("scope", "", "what has a counter of its own: `item`, `user`, `session`, `global` (one counter), each value of `item.<field>`, or an item within one value of `ranking.<field>`"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let (interaction, scope) = (interaction(section, "interaction"), Scope::read(section));
        let bucket = bucket(section, "bucket_size", "bucket");
        let windows = windows(section, "windows", "periods");
        if let Some(value) = section.get("count") {
            value.warn("count does nothing in a window_count");
        }
        Some(Self { interaction: interaction?, scope, bucket: bucket?, windows: windows? })
    }

    fn suffixes(&self) -> Vec<String> {
        self.windows.iter().map(ToString::to_string).collect()
    }

    fn sources(&self) -> Vec<Source> {
        self.scope.source().into_iter().collect()
    }

    fn interactions(&self) -> Vec<&str> {
        vec![&self.interaction]
    }
}
