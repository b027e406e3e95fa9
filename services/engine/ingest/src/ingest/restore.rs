//! What an earlier process left in a durable state.

use super::Ingest;
use crate::error::Error;
use crate::record::{self, Closed, JoinId, Open, Restored};
use rankwright_clickthrough::Clickthrough;
use rankwright_state::{Entity, Key, Scope, Space};

impl Ingest {
    /// Takes up the open rankings, the waiting interactions and the click-throughs of an earlier process.
    pub(super) async fn restore(&mut self) -> Result<(), Error> {
        for (key, entity) in self.store.scan(Space::Joins).await? {
            self.restore_join(key, &entity)?;
        }
        for (key, entity) in self.store.scan(Space::Outbox).await? {
            let interactions = restored(&key, &entity)?.interactions;
            let records = interactions.iter().map(Clickthrough::of_interaction);
            records.for_each(|record| self.outbox.push(Some(key.clone()), Closed::Written(record)));
        }
        Ok(())
    }

    fn restore_join(&mut self, key: Key, entity: &Entity) -> Result<(), Error> {
        let record = restored(&key, entity)?;
        let Scope::Join(ranking) = &key.scope else { return Ok(()) };
        let id = JoinId { tenant: key.tenant.clone(), ranking: ranking.clone() };
        let Some(shown) = record.shown else {
            for interaction in record.interactions {
                self.join.wait(id.clone(), interaction);
            }
            return Ok(());
        };
        let mut open = Open::from(shown);
        record.interactions.into_iter().for_each(|interaction| open.add(interaction));
        self.watermark = self.watermark.max(open.ranking.timestamp);
        if record.sealed {
            self.outbox.push(Some(key), Closed::Ranking(open));
        } else {
            self.join.open(open);
        }
        Ok(())
    }
}

fn restored(key: &Key, entity: &Entity) -> Result<Restored, Error> {
    let ranking = || match &key.scope {
        Scope::Join(ranking) | Scope::Outbox(ranking) => ranking.to_string(),
        other => format!("{other:?}"),
    };
    record::restore(entity).map_err(|reason| Error::Damaged { ranking: ranking(), reason })
}
