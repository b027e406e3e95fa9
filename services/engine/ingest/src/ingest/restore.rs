//! What an earlier process left in a durable state.

use super::Ingest;
use crate::error::Error;
use crate::record::{self, Closed, JoinId, Open, Restored};
use rankwright_clickthrough::Clickthrough;
use rankwright_event::Timestamp;
use rankwright_state::{Entity, Key, Scope, Space};
use std::sync::Arc;

impl Ingest {
    /// Takes up the open rankings, the waiting interactions and the click-throughs of an earlier process.
    pub(super) async fn restore(&mut self) -> Result<(), Error> {
        for (key, entity) in self.store.scan(Space::Outbox).await? {
            self.restore_closed(key, &entity)?;
        }
        let mut outcome = Ok(());
        let store = self.store.clone();
        let mut join = |key: Key, entity: Arc<Entity>| {
            if outcome.is_ok() {
                outcome = self.restore_join(key, &entity);
            }
        };
        store.each(Space::Joins, &mut join).await?;
        outcome
    }

    fn restore_closed(&mut self, key: Key, entity: &Entity) -> Result<(), Error> {
        let last = record::closed_number(&key);
        self.owed.next = self.owed.next.max(last.map_or(0, |last| last.saturating_add(1)));
        let Restored { shown, interactions, .. } = restored(&key, entity)?;
        let newest = interactions.iter().map(|interaction| interaction.timestamp);
        self.watermark =
            newest.chain(shown.iter().map(|shown| shown.ranking.timestamp)).fold(self.watermark, Timestamp::max);
        match shown {
            Some(shown) => {
                let open = Open::restored(shown, interactions, &self.plan);
                self.outbox.push(Some(key), Closed::Ranking(open));
            }
            None => {
                // the key goes with the last of them: it is not forgotten before all are durable
                let mut records = interactions.iter().map(Clickthrough::of_interaction).peekable();
                while let Some(record) = records.next() {
                    let key = records.peek().is_none().then(|| key.clone());
                    self.outbox.push(key, Closed::Written(record));
                }
            }
        }
        Ok(())
    }

    fn restore_join(&mut self, key: Key, entity: &Entity) -> Result<(), Error> {
        let record = restored(&key, entity)?;
        let Scope::Join(ranking) = &key.scope else { return Ok(()) };
        let id = JoinId::new(&key.tenant, ranking);
        if id.ranking != *ranking {
            // versions before this one kept a record under an id of any length
            self.overlay.remove(&key);
            if !record.sealed {
                self.overlay.absorb(&id.key(), entity);
            }
        }
        let Some(shown) = record.shown else {
            for interaction in record.interactions {
                self.join.wait_anyhow(id.clone(), interaction);
            }
            return Ok(());
        };
        let open = Open::restored(shown, record.interactions, &self.plan);
        self.watermark = self.watermark.max(open.ranking.timestamp);
        if record.sealed {
            self.overlay.remove(&key);
            self.owe(open);
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
