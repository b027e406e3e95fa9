//! Records of the join: what comes to a ranking, and when the state has it.

use super::Ingest;
use crate::error::Error;
use crate::join::{Place, Waits};
use crate::record::{self, JoinId, JoinRef, Open};
use crate::rows::Promise;
use crate::texts;
use rankwright_event::{Interaction, Ranking, Timestamp};
use rankwright_feature::Purpose;
use rankwright_state::Fetched;
use std::sync::Arc;

/// Open rankings that close early when another one opens, where a durable state has them.
const MOST_EVICTED: usize = 2;

impl Ingest {
    pub(super) async fn ranking(&mut self, mut ranking: Ranking) -> Result<(), Error> {
        let id = JoinRef::new(&ranking.tenant, &ranking.id);
        if self.join.place(&id).is_some() {
            self.counters.repeated += 1;
            return Ok(());
        }
        if self.join.is_awaited(&id) {
            self.remove(&JoinId::of(&ranking)); // a list that waited may be longer than that of the open ranking, and longer ones stay
        }
        ranking.shrink_to_fit();
        let ranking = Arc::new(ranking);
        let rows = self.rows(&ranking).await?;
        self.plan.shown(&ranking, &mut self.overlay);
        let (let_go, waited) = self.join.open(Open::new(ranking, self.plan.width(), rows));
        self.let_go(let_go);
        for interaction in waited {
            self.joined(interaction).await?;
        }
        self.make_room().await
    }

    /// Open rankings take no more memory than they may: the state keeps the oldest of them, or they close.
    async fn make_room(&mut self) -> Result<(), Error> {
        let let_go = self.join.make_room();
        self.let_go(let_go);
        // what a state in a folder brings along goes little by little: all at once would have no room in a batch
        let most = if self.durable { MOST_EVICTED } else { usize::MAX };
        for _ in 0..most {
            let Some(evicted) = self.join.evict() else { break };
            self.counters.evicted += 1;
            self.close(evicted).await?;
        }
        Ok(())
    }

    /// The rows of a ranking as state stands; a record that must outlive this process has them at once.
    async fn rows(&mut self, ranking: &Arc<Ranking>) -> Result<Promise, Error> {
        let mut fetched = Fetched::new(self.fetch(&self.plan.reads(ranking)).await?);
        let keys = self.plan.follow(ranking, &fetched);
        let entities = self.fetch(&keys).await?;
        fetched.add(keys, entities);
        if self.durable {
            let encoded = texts::encoded(self.plan.texts(ranking, &fetched), &self.encoded).await;
            let rows = self.plan.rows_with(ranking, &fetched, &encoded, Purpose::Training);
            let (slot, stored) = record::shown_value(ranking, self.plan.tags(), &rows);
            self.overlay.write(&JoinId::of(ranking).key(), slot, stored);
            return Ok(Promise::kept(rows));
        }
        Ok(self.workshop.add(ranking.clone(), fetched, self.encoded.clone()))
    }

    pub(super) async fn interaction(&mut self, interaction: Interaction) -> Result<(), Error> {
        let Some(ranking) = &interaction.ranking else { return self.unranked(interaction).await };
        if self.join.place(&JoinRef::new(&interaction.tenant, ranking)).is_some() {
            self.joined(interaction).await?;
            return self.make_room().await;
        }
        let id = JoinId::new(&interaction.tenant, ranking);
        match self.join.wait(&id, interaction) {
            Waits::Kept => self.changed(id),
            Waits::Known => {} // it takes effect once, with its ranking, as where the state is shared
            Waits::NoRoom(too_many) => return self.unranked(too_many).await,
        }
        self.give_up(Timestamp::MIN).await // those that are too many, though event time stands still
    }

    /// An interaction of an open ranking takes effect.
    async fn joined(&mut self, interaction: Interaction) -> Result<(), Error> {
        self.plan.interaction(&interaction, &mut self.overlay);
        let Some(ranking) = &interaction.ranking else { return Ok(()) };
        let id = JoinId::new(&interaction.tenant, ranking);
        if self.join.place(&id.borrowed()) == Some(Place::Stored) {
            let open = self.stored(&id).await?;
            let let_go = self.join.put_back(open);
            self.let_go(let_go);
        }
        if self.join.add(&id.borrowed(), interaction) {
            self.changed(id);
        }
        Ok(())
    }

    /// The interactions of a ranking, or of one that is awaited, are not as the state has them: they are written with the commit,
    /// once, however many came.
    fn changed(&mut self, id: JoinId) {
        if self.durable {
            self.changed.insert(id);
        }
    }

    /// Writes the interactions of rankings of which the state has all from now on.
    fn let_go(&mut self, rankings: Vec<Open>) {
        for open in rankings {
            let id = JoinId::of(&open.ranking);
            if self.changed.remove(&id) {
                let (slot, stored) = record::interactions_value(&open.interactions);
                self.overlay.write(&id.key(), slot, stored);
            }
        }
    }

    /// Writes the interactions that have changed.
    pub(super) fn write_changed(&mut self) {
        for id in self.changed.drain() {
            if let Some(interactions) = self.join.interactions(&id.borrowed()) {
                let (slot, stored) = record::interactions_value(interactions);
                self.overlay.write(&id.key(), slot, stored);
            }
        }
    }

    /// An open ranking as the state has it.
    pub(super) async fn stored(&mut self, id: &JoinId) -> Result<Open, Error> {
        let damaged = |reason| Error::Damaged { ranking: id.ranking.to_string(), reason };
        let entity = self.fetch(&[id.key()]).await?.pop().flatten();
        let entity = entity.ok_or_else(|| damaged("it is gone".to_owned()))?;
        let record = record::restore(&entity).map_err(damaged)?;
        let shown = record.shown.ok_or_else(|| damaged("it does not say what was shown".to_owned()))?;
        Ok(Open::restored(shown, record.interactions, &self.plan))
    }
}
