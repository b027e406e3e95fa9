//! Removing the parts of one service.

use super::S3Store;
use crate::part::packing::unpack;
use crate::store::remote::Place;
use crate::{Error, Part, Result, read_part};

/// What became of the parts under a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Purged {
    /// Parts of the service, which are gone.
    pub removed: u64,
    /// Parts of other services: they stay.
    pub left: u64,
    /// Places of parts whose beginning is damaged, so that it does not say to which service they belong: they stay.
    pub unreadable: Vec<String>,
}

impl S3Store {
    /// Removes all parts that this store's service has written. Several services may share a prefix, so each part is
    /// asked whose it is.
    ///
    /// # Errors
    /// When the service cannot be reached or refuses; what was removed by then is gone.
    pub fn purge(&self) -> Result<Purged> {
        let (place, service) = (self.place.clone(), self.service.clone());
        self.runner.wait(async move {
            let mut purged = Purged::default();
            for (name, _) in place.list().await? {
                let key = place.key(&name);
                let Some(bytes) = place.bucket.get(&key).await? else { continue };
                let part =
                    Part::new(place.name(&name), name.kind.format, unpack(bytes, name.kind.packing, name.kind.format));
                match writer(part) {
                    Some(writer) if *writer == *service => {
                        place.bucket.delete(&key).await?;
                        purged.removed += 1;
                    }
                    Some(_) => purged.left += 1,
                    None => purged.unreadable.push(place.name(&name)),
                }
            }
            Ok::<_, Error>(purged)
        })
    }
}

/// The service that wrote a part, where it can be read.
fn writer(part: Part) -> Option<String> {
    let mut reader = read_part(part);
    let _first = reader.next(); // the header comes before it
    reader.header().map(|header| header.service.clone())
}
