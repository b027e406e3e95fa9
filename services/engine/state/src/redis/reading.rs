//! Reading: what is known here, and what the server has to be asked for.

use super::cache::{Asked, Known};
use super::layout::{Stamp, unframe};
use super::{Shared, failed};
use crate::{Entity, Error, Key, Rows, Space};
use futures_util::future::try_join_all;
use hashbrown::HashMap;
use rankwright_redis::redis::cmd;
use rankwright_redis::{Link, slot_of};
use std::sync::Arc;

impl Shared {
    pub(super) async fn read(&self, keys: Vec<Key>) -> Result<Rows, Error> {
        let watched = self.reading.is_watching();
        let names: Vec<Vec<u8>> = keys.iter().map(|key| self.names.entity(key)).collect();
        let mut rows = Rows::with_capacity(keys.len());
        let (mut unknown, mut hits, mut misses) = (Vec::new(), 0, 0);
        for (place, (key, name)) in keys.iter().zip(&names).enumerate() {
            // Work is shared out by what is there this moment.
            let kept = key.scope.space() == Space::Values;
            match kept.then(|| self.cache.get(name, watched)).flatten() {
                Some(known) => {
                    hits += 1;
                    rows.push(known.map(|(_, entity)| entity));
                }
                None => {
                    misses += usize::from(kept);
                    unknown.push(place);
                    rows.push(None);
                }
            }
        }
        self.cache.count(hits, misses);
        let asked: Vec<(&Key, &Vec<u8>)> = unknown.iter().map(|&place| (&keys[place], &names[place])).collect();
        for (place, known) in unknown.iter().zip(self.fetch(&asked).await?) {
            rows[*place] = known.map(|(_, entity)| entity);
        }
        Ok(rows)
    }

    /// What lies under keys in the server.
    pub(super) async fn fetch(&self, wanted: &[(&Key, &Vec<u8>)]) -> Result<Vec<Known>, Error> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let asked: Vec<Asked> = wanted.iter().map(|(_, name)| self.cache.ask(name)).collect();
        // the server that takes the commit decides whether an event is new: a former master would say again and again that it is
        let decides = wanted.iter().all(|(key, _)| key.scope.space() == Space::Seen);
        let link = if decides { &self.link } else { &self.reading };
        let values = self.values_by(link, wanted.iter().map(|(_, name)| name.as_slice())).await?;
        let mut found = Vec::with_capacity(wanted.len());
        for (((key, name), asked), value) in wanted.iter().zip(asked).zip(values) {
            let known = value.map(|value| known(key, &value)).transpose()?;
            if is_kept(key.scope.space()) {
                self.cache.keep((*name).clone(), known.clone(), asked);
            }
            found.push(known);
        }
        Ok(found)
    }

    /// The bytes under names.
    pub(super) async fn values<'n>(
        &self,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        self.values_by(&self.reading, names).await
    }

    /// The same over this link; those of a slot are asked for together, and all slots at once.
    pub(super) async fn values_by<'n>(
        &self,
        link: &Link,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let names: Vec<&[u8]> = names.collect();
        if !link.is_cluster() {
            return together(link, &names).await;
        }
        let mut slots: HashMap<u16, Vec<usize>, foldhash::fast::RandomState> = HashMap::default();
        for (place, name) in names.iter().enumerate() {
            slots.entry(slot_of(name)).or_default().push(place);
        }
        let ask = |places: Vec<usize>| {
            let some: Vec<&[u8]> = places.iter().map(|&place| names[place]).collect();
            async move { together(link, &some).await.map(|values| (places, values)) }
        };
        let mut found = vec![None; names.len()];
        for (places, values) in try_join_all(slots.into_values().map(ask)).await? {
            places.into_iter().zip(values).for_each(|(place, value)| found[place] = value);
        }
        Ok(found)
    }
}

/// The bytes under names of one slot.
async fn together(link: &Link, names: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let Some(first) = names.first() else { return Ok(Vec::new()) };
    let mut command = cmd("MGET");
    command.arg(names);
    let command = &command;
    let read = link.send(first, |mut connection| async move { command.query_async(&mut connection).await });
    read.await.map_err(failed("read"))
}

/// Whether what lies under keys of a space is read, or merged into, more than once: else there is no use in keeping it.
pub(super) fn is_kept(space: Space) -> bool {
    matches!(space, Space::Values | Space::Joins | Space::Watermarks)
}

pub(super) fn known(key: &Key, value: &[u8]) -> Result<(Stamp, Arc<Entity>), Error> {
    unframe(key, value).map(|(stamp, entity)| (stamp, Arc::new(entity)))
}
