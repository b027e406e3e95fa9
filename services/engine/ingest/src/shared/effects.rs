//! What events do to a shared state, put together until it is committed.

use super::lane::Lane;
use super::stored;
use crate::counters::Counters;
use crate::error::Error;
use crate::ingest::Settings;
use crate::texts;
use rankwright_event::{Event, Interaction, Ranking, Timestamp};
use rankwright_feature::{Encoded, Plan, Purpose};
use rankwright_state::{Coming, Expected, Fetched, Key, Overlay, Rows, Store, View};
use std::collections::VecDeque;
use std::sync::Arc;

/// Effects of a batch of events.
pub(super) struct Effects {
    plan: Arc<Plan>,
    pub(super) store: Arc<dyn Store>,
    settings: Settings,
    pub(super) overlay: Overlay,
    pub(super) counters: Counters,
    /// What commits under way will leave, the first of them first.
    pub(super) coming: VecDeque<Coming>,
    /// Whether something was needed that can be told only when they are over.
    pub(super) unsure: bool,
}

impl Effects {
    pub(super) fn new(plan: Arc<Plan>, store: Arc<dyn Store>, settings: Settings) -> Self {
        let (overlay, counters) = Default::default();
        Self { plan, store, settings, overlay, counters, coming: VecDeque::new(), unsure: false }
    }

    /// Reads what a batch needs in two questions: what its events name, then what depends on that.
    async fn prefetch(&mut self, events: impl Iterator<Item = &Event> + Clone) -> Result<(), Error> {
        let mut named = Vec::new();
        for event in events.clone() {
            match event {
                Event::Ranking(ranking) => {
                    named.push(stored::join_key(&ranking.tenant, &ranking.id));
                    named.extend(self.plan.reads(ranking));
                }
                Event::Interaction(interaction) => {
                    named.extend(
                        interaction.ranking.as_ref().map(|ranking| stored::join_key(&interaction.tenant, ranking)),
                    );
                }
                Event::Item(_) | Event::User(_) => {}
            }
        }
        self.load(named).await?;
        let mut dependent = Vec::new();
        for event in events {
            if let Event::Ranking(ranking) = event {
                let (rows, _) = self.overlay.look_up(&self.plan.reads(ranking));
                dependent.extend(self.plan.follow(ranking, &Fetched::new(rows)));
            }
        }
        self.load(dependent).await
    }

    async fn load(&mut self, keys: Vec<Key>) -> Result<(), Error> {
        self.fetch(&super::distinct(keys)).await.map(drop)
    }

    /// What lies under the keys, with what this batch has written there.
    async fn fetch(&mut self, keys: &[Key]) -> Result<Rows, Error> {
        if !self.coming.is_empty() {
            for place in self.overlay.look_up(keys).1 {
                match Coming::expected(self.coming.iter(), &keys[place]) {
                    Expected::Unchanged => {}
                    Expected::Unsure => self.unsure = true,
                    Expected::Changed(entity) => self.overlay.expect(&keys[place], entity),
                }
            }
        }
        super::fetch(&mut self.overlay, &*self.store, keys).await
    }

    /// The effects of events, each with the place of its lane, at `wall` time. Event time does not go beyond that: one event that is
    /// ahead of the clock closes nothing.
    pub(super) async fn add(
        &mut self,
        lanes: &mut [&mut Lane],
        events: &[(usize, &Event)],
        wall: Timestamp,
    ) -> Result<(), Error> {
        self.prefetch(events.iter().map(|(_, event)| *event)).await?;
        for next in events.chunks(texts::EVENTS) {
            let encoded = texts::foresee(&self.plan, next.iter().map(|(_, event)| *event)).await;
            for &(lane, event) in next {
                self.one(&mut *lanes[lane], event, &encoded, wall).await?;
            }
        }
        Ok(())
    }

    async fn one(&mut self, lane: &mut Lane, event: &Event, encoded: &Encoded, wall: Timestamp) -> Result<(), Error> {
        lane.reach(event.timestamp().min(wall));
        self.counters.see(event);
        match event {
            Event::Ranking(ranking) => self.ranking(ranking, encoded).await?,
            Event::Interaction(interaction) => self.interaction(lane, interaction),
            update => self.plan.event_with(update, encoded, &mut self.overlay),
        }
        Ok(())
    }

    async fn ranking(&mut self, ranking: &Ranking, encoded: &Encoded) -> Result<(), Error> {
        let key = stored::join_key(&ranking.tenant, &ranking.id);
        if stored::shown_at(self.overlay.entity(&key)).is_some() {
            self.counters.repeated += 1;
            return Ok(());
        }
        let mut fetched = Fetched::new(self.fetch(&self.plan.reads(ranking)).await?);
        let keys = self.plan.follow(ranking, &fetched);
        let entities = self.fetch(&keys).await?;
        fetched.add(keys, entities);
        let encoded = texts::encoded(self.plan.texts(ranking, &fetched), encoded).await;
        let rows = self.plan.rows_with(ranking, &fetched, &encoded, Purpose::Training);
        self.plan.shown(ranking, &mut self.overlay);
        let (slot, value) = stored::shown(ranking, self.plan.tags(), &rows);
        self.overlay.write(&key, slot, value);
        Ok(())
    }

    fn interaction(&mut self, lane: &Lane, interaction: &Interaction) {
        let Some(ranking) = &interaction.ranking else { return self.unranked(interaction) };
        let key = stored::join_key(&interaction.tenant, ranking);
        if self.may_join(lane, &key, interaction) {
            self.plan.interaction(interaction, &mut self.overlay);
            let (slot, value) = stored::added(interaction);
            self.overlay.write(&key, slot, value);
        } else {
            let (slot, value) = stored::alone(interaction);
            self.overlay.write(&stored::waiting_key(interaction), slot, value);
        }
    }

    /// Whether a record takes an interaction at once: its ranking is known, and no closer can have closed it meanwhile. It
    /// closes when all watermarks have passed its end, and this writer's has not, even after this event.
    fn may_join(&self, lane: &Lane, key: &Key, interaction: &Interaction) -> bool {
        let Settings { session_length, ranking_wait, .. } = self.settings;
        let record = self.overlay.entity(key);
        stored::takes(record, interaction, ranking_wait)
            && record.is_some_and(|record| lane.watermark <= record.newest().plus(session_length))
    }

    /// An interaction that no ranking caused takes effect; its click-through is the closer's to write. Only the closer can tell
    /// what it counts under by values of item fields: when all updates from before it have come.
    fn unranked(&mut self, interaction: &Interaction) {
        self.plan.interaction(interaction, &mut self.overlay);
        let key = stored::waiting_key(interaction);
        let (slot, value) = stored::alone(interaction);
        self.overlay.write(&key, slot, value);
        if !self.plan.counts_by_values() {
            self.counters.unranked += 1;
            self.plan.unranked(interaction, &[], &mut self.overlay);
            let (slot, value) = stored::counted(interaction);
            self.overlay.write(&key, slot, value);
        }
    }
}
