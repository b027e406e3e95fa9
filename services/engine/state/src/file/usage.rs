//! What a state on disk takes: a walk over its rows, some at each call.
//!
//! Rows lie in the order of keys, items before visitors, so that some of them say little of the others. A state of more
//! rows than a call looks at is told whole when the walk has come to its end; from then on each answer is that of the
//! last whole walk. Bytes are those of keys and values as they were written, before the files below compress them.

use super::disk::{Disk, decode_row, failed};
use crate::usage::Sample;
use crate::{Error, Space, Usage};
use std::ops::Bound;
use std::sync::atomic::Ordering;

const WORK: [Space; 5] = [Space::Joins, Space::Outbox, Space::Seen, Space::Waiting, Space::Watermarks];

/// How far it has come.
#[derive(Default)]
pub(super) struct Walk {
    /// The last address that was looked at.
    after: Option<Vec<u8>>,
    values: Sample,
    last: Option<Usage>,
}

impl Walk {
    /// Looks at `keys` further rows, and says what is known.
    pub(super) fn go_on(&mut self, disk: &Disk, keys: usize) -> Result<Usage, Error> {
        let ended = self.step(disk, keys)?;
        if !ended && let Some(last) = &self.last {
            return Ok(last.clone());
        }
        let (looked, all) = (self.values.sampled(), disk.entities.load(Ordering::Relaxed));
        let stands_for = if ended { 1.0 } else { (all as f64 / looked.max(1) as f64).max(1.0) };
        let mut sample = if ended { std::mem::take(&mut self.values) } else { self.values.clone() };
        sample.scale(stands_for);
        let work = work(disk, keys, &mut sample)?;
        let keys = looked as f64 * stands_for + work as f64;
        let usage = sample.usage(keys, ended, Vec::new());
        if ended {
            (self.after, self.last) = (None, Some(usage.clone()));
        }
        Ok(usage)
    }

    /// Whether the walk has come to its end.
    fn step(&mut self, disk: &Disk, keys: usize) -> Result<bool, Error> {
        let first = [Space::Values.prefix()];
        let after = self.after.as_deref().unwrap_or(&first).to_vec();
        let mut rows = disk.values.range::<&[u8], _>((Bound::Excluded(after.as_slice()), Bound::Unbounded));
        for row in rows.by_ref().take(keys) {
            let (address, row) = row.into_inner().map_err(failed("list"))?;
            let (key, entity) = decode_row(&address, &row)?;
            let bytes = (address.len() + row.len()) as f64;
            self.values.entity(&key, &entity, (bytes, disk.format), 1.0)?;
            self.after = Some(address.to_vec());
        }
        Ok(rows.next().is_none())
    }
}

/// What is under way: at most `keys` rows of each part; how many there were.
fn work(disk: &Disk, keys: usize, sample: &mut Sample) -> Result<u64, Error> {
    let before = sample.sampled();
    for space in WORK {
        for row in disk.keyspace(space).prefix([space.prefix()]).take(keys) {
            let (address, row) = row.into_inner().map_err(failed("list"))?;
            let (key, entity) = decode_row(&address, &row)?;
            sample.entity(&key, &entity, ((address.len() + row.len()) as f64, disk.format), 1.0)?;
        }
    }
    Ok(sample.sampled() - before)
}
