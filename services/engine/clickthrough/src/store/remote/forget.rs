//! Taking a visitor or an item out of the parts at a place.

use super::{Name, Place, RemoteStore};
use crate::forget::{Rewritten, rewritten};
use crate::part::packing::unpack;
use crate::{Forgotten, Part, Result, Subject};
use std::time::Duration;

/// Most time between putting a part and listing it, unless the process that puts it was killed or is suspended.
const PUT_WITHIN: Duration = Duration::from_secs(3);

impl<P: Place> RemoteStore<P> {
    /// A part gets the place, in the order of parts, of the one that it replaces.
    pub(super) fn forget_in_parts(&self, subject: &Subject) -> Result<Forgotten> {
        let mut forgotten = Forgotten { unlisted: self.sweep()?, ..Forgotten::default() };
        let place = self.place.clone();
        for (name, size) in self.runner.wait(async move { place.list().await })? {
            let place = self.place.clone();
            let Some(bytes) = self.runner.wait(async move { place.get(&name, size).await })? else { continue };
            let unpacked = unpack(bytes, name.kind.packing, name.kind.format);
            let part = Part::new(self.place.name(&name), name.kind.format, unpacked).with_records(name.records);
            let changed = rewritten(part, Some(&self.service), name.kind.packing, subject, &mut forgotten)?;
            let Some(Rewritten { bytes, records }) = changed else { continue };
            let new = Name::of(&bytes, records, name.kind, name.completed, i64::MIN);
            let place = self.place.clone();
            self.runner.wait(async move {
                match records {
                    0 => place.remove(&name, size).await,
                    _ => place.replace((&name, size), &new, bytes.into()).await,
                }
            })?;
        }
        Ok(forgotten)
    }

    /// Removes parts that are not listed, and returns how many: their records are stored again in other parts. A put that is
    /// under way has ended by the second look.
    fn sweep(&self) -> Result<u64> {
        let unlisted = || {
            let place = self.place.clone();
            self.runner.wait(async move { place.unlisted().await })
        };
        let first = unlisted()?;
        if first.is_empty() {
            return Ok(0);
        }
        std::thread::sleep(PUT_WITHIN);
        let left: Vec<Name> = unlisted()?.into_iter().filter(|name| first.contains(name)).collect();
        for name in left.clone() {
            let place = self.place.clone();
            self.runner.wait(async move { place.remove(&name, 0).await })?;
        }
        Ok(left.len() as u64)
    }
}
