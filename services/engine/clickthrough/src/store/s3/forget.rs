//! Taking a visitor or an item out of the parts of a bucket.

use super::S3Store;
use super::name::Name;
use crate::forget::{Rewritten, rewritten};
use crate::part::packing::unpack;
use crate::{Forgotten, Part, Result, Subject};

impl S3Store {
    /// As [`crate::ClickthroughStore::forget`]. A part gets the place of the one that it replaces.
    pub(super) fn forget_in_bucket(&self, subject: &Subject) -> Result<Forgotten> {
        let mut forgotten = Forgotten::default();
        let place = self.place.clone();
        for (name, _) in self.runner.wait(async move { place.list().await })? {
            let (place, key) = (self.place.clone(), self.place.key(&name));
            let Some(bytes) = self.runner.wait(async move { place.bucket.get(&key).await })? else { continue };
            let unpacked = unpack(bytes, name.kind.packing, name.kind.format);
            let part = Part::new(self.place.name(&name), name.kind.format, unpacked).with_records(name.records);
            let changed = rewritten(part, Some(&self.service), name.kind.packing, subject, &mut forgotten)?;
            let Some(Rewritten { bytes, records }) = changed else { continue };
            let new = Name::of(&bytes, records, name.kind, name.completed, i64::MIN);
            let (place, old) = (self.place.clone(), self.place.key(&name));
            self.runner.wait(async move {
                if records > 0 {
                    place.put(&new, bytes.into()).await?;
                }
                place.bucket.delete(&old).await
            })?;
        }
        Ok(forgotten)
    }
}
