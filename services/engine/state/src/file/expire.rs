//! Outdated values go, a thousand keys at a time: memory stays bounded, and commits go on between.

use super::commit::{Change, Changes};
use super::disk::{Disk, decode_row, failed};
use crate::{Error, Slot, Space};
use rankwright_event::Timestamp;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const KEYS_AT_ONCE: usize = 1000;
const DAY: Duration = Duration::from_secs(86_400);

impl Disk {
    /// Removes what is outdated at `now`, unless a process did so within the last day of event time: one that ends each night and begins
    /// again goes on with the day of the one before.
    pub(super) fn expire(&self, now: Timestamp, outdated: impl Fn(Slot, Timestamp) -> bool) -> Result<u64, Error> {
        let is_new_day = self.swept_before.is_none_or(|swept| now > swept.plus(DAY) || now < swept);
        if !is_new_day || !self.pace.is_due() {
            return Ok(0);
        }
        let (mut removed, mut after) = (0, vec![Space::Values.prefix()]);
        while let Some(last) = self.expire_some(&after, &outdated, &mut removed)? {
            after = last;
        }
        let mut batch = self.db.batch();
        self.meta.put_swept(&mut batch, now)?;
        batch.commit().map_err(failed("note when values were looked through"))?;
        self.pace.swept(self.entities.load(Ordering::Relaxed));
        Ok(removed)
    }

    /// Goes on behind the address `after`; returns the last address looked at, or `None` at the end.
    fn expire_some(
        &self,
        after: &[u8],
        outdated: &impl Fn(Slot, Timestamp) -> bool,
        removed: &mut u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let writing = self.writing.lock();
        let (mut last, mut changes) = (None, Changes::default());
        let rows = self.values.range::<&[u8], _>((Bound::Excluded(after), Bound::Unbounded));
        for row in rows.take(KEYS_AT_ONCE) {
            let (address, row) = row.into_inner().map_err(failed("list"))?;
            let (key, mut entity) = decode_row(&address, &row)?;
            if entity.values().any(|(slot, stored)| outdated(slot, stored.at)) {
                entity.retain(|slot, stored| !outdated(slot, stored.at));
                let now = (!entity.is_empty()).then(|| Arc::new(entity));
                *removed += u64::from(now.is_none());
                changes.insert(key, Change { existed: true, now });
            }
            last = Some(address.to_vec());
        }
        if !changes.is_empty() {
            self.write(&writing, self.db.batch(), changes)?;
        }
        Ok(last)
    }
}
