//! Reading parts, some ahead of the one that is being read.

use super::Place;
use super::name::Name;
use crate::part::packing::unpack;
use crate::{Error, Loss, Part, Result};
use rankwright_object::{Bytes, Pending, Runner};
use std::collections::VecDeque;
use std::sync::Arc;
use std::vec;

/// Parts that are fetched ahead,
const AHEAD: usize = 8;
/// and their bytes together; one part may have more.
const AHEAD_BYTES: u64 = 32 << 20;

/// A part that is to be read, and where its bytes are.
pub(super) enum Source {
    /// At the place, and how many they are.
    Place(u64),
    /// Here, as they are not there yet.
    Memory(Bytes),
}

/// Streams parts in order.
pub(super) struct Parts<P> {
    pub(super) place: P,
    pub(super) runner: Arc<Runner>,
    pub(super) left: vec::IntoIter<(Name, Source)>,
    pub(super) ahead: VecDeque<Fetched>,
}

/// A part whose bytes are on their way.
pub(super) struct Fetched {
    name: Name,
    size: u64,
    bytes: Pending<Result<Option<Bytes>>>,
}

impl<P: Place> Parts<P> {
    fn fetch(&mut self) {
        while self.ahead.len() < AHEAD {
            let size: u64 = self.ahead.iter().map(|part| part.size).sum();
            let next = self.left.as_slice().first().map(|(_, source)| match source {
                Source::Place(bytes) => *bytes,
                Source::Memory(_) => 0,
            });
            let fits = next.is_some_and(|next| self.ahead.is_empty() || size + next <= AHEAD_BYTES);
            let Some((name, source)) = fits.then(|| self.left.next()).flatten() else { return };
            let place = self.place.clone();
            let work = async move {
                match source {
                    Source::Place(bytes) => place.get(&name, bytes).await,
                    Source::Memory(bytes) => Ok(Some(bytes)),
                }
            };
            self.ahead.push_back(Fetched { name, size: next.unwrap_or(0), bytes: self.runner.begin(work) });
        }
    }
}

impl<P: Place> Iterator for Parts<P> {
    type Item = Result<Part>;

    fn next(&mut self) -> Option<Self::Item> {
        self.fetch();
        let Fetched { name, bytes, .. } = self.ahead.pop_front()?;
        let place = self.place.name(&name);
        Some(match bytes.wait() {
            Ok(Some(bytes)) => {
                let unpacked = unpack(bytes, name.kind.packing, name.kind.format);
                Ok(Part::new(place, name.kind.format, unpacked).with_records(name.records))
            }
            Ok(None) => Err(Error::Lost(Loss { place, offset: 0, reason: "gone since it was listed" })),
            Err(error) => Err(error),
        })
    }
}
