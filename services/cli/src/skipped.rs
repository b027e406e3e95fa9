//! What files hold that is no event: warned of, counted, and left out.

use anyhow::{Result, bail};
use rankwright_source::BadLine;
use std::sync::Arc;
use tracing::{debug, warn};

/// Warnings about lines that cannot be read; further ones are logged on level `debug`.
const SHOWN: u64 = 100;

/// Lines that cannot be read, so far.
pub(crate) struct Skipped {
    strict: bool,
    count: u64,
    /// Files that cannot be read to their end.
    damaged: Vec<Arc<str>>,
}

impl Skipped {
    /// None yet. If `strict`, the first one is an error.
    pub(crate) fn new(strict: bool) -> Self {
        Self { strict, count: 0, damaged: Vec::new() }
    }

    /// Takes one more. One that says that a file is not what its name says is an error.
    pub(crate) fn see(&mut self, bad: &BadLine) -> Result<()> {
        if self.strict || bad.is_misnamed() {
            bail!("{bad}");
        }
        self.count += 1;
        match self.count {
            1..=SHOWN => warn!("skipped {bad}"),
            _ => debug!("skipped {bad}"),
        }
        if self.count == SHOWN {
            warn!("further lines that cannot be read are counted, and shown with RUST_LOG=debug");
        }
        self.damaged.extend(bad.ends_file().then(|| bad.file.clone()));
        Ok(())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// What files hold in place of the events that are looked for: `: 1 line that is no event`; nothing where they are empty.
    pub(crate) fn instead(&self, others: u64, before_offset: u64) -> String {
        let counted = |count, one: &str, more: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {more}")),
        };
        let told = [
            counted(others, "other event", "other events"),
            counted(self.count, "line that is no event", "lines that are no events"),
            counted(before_offset, "event before --offset", "events before --offset"),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) }
    }

    /// Files that cannot be read to their end.
    pub(crate) fn damaged(&self) -> &[Arc<str>] {
        &self.damaged
    }
}
