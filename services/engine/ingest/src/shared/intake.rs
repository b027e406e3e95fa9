//! One writer's events, batch by batch.

use super::{stored, watermark};
use crate::counters::{Applied, Counters};
use crate::error::Error;
use crate::ingest::Settings;
use rankwright_event::{Event, Interaction, Ranking, Timestamp};
use rankwright_feature::{Plan, Purpose};
use rankwright_state::{
    Cell, Fetched, Key, Lease, Outcome, Overlay, Position, Rows, Slot, Store, Stored, View, Writer,
};
use std::sync::Arc;

/// Where a writer's events come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A part of a source, whose events are there whether anybody reads them or not: rankings stay open until it was
    /// read far enough.
    Partition,
    /// The requests to one process, which are over when it is gone.
    Replica,
}

/// Takes in the events of one writer.
pub struct Intake {
    plan: Arc<Plan>,
    store: Arc<dyn Store>,
    lease: Lease,
    origin: Origin,
    settings: Settings,
    /// Whether the one who closes rankings knows of this writer, and waits for it.
    noted: bool,
    overlay: Overlay,
    watermark: Timestamp,
    counters: Counters,
}

/// What came of an attempt to commit.
enum Attempt {
    Applied(u64),
    /// Somebody else took in one of the events meanwhile.
    Repeated,
}

impl Intake {
    /// Becomes `writer`, and goes on where it stopped. A partition is waited for from now on.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open(
        writer: &str,
        origin: Origin,
        plan: Arc<Plan>,
        store: Arc<dyn Store>,
        settings: Settings,
        wall: Timestamp,
    ) -> Result<Self, Error> {
        let lease = store.acquire(&Writer(writer.to_owned())).await?;
        let found = store.read(&[watermark::key(writer)]).await?.pop().flatten();
        let watermark = found.as_deref().map_or(Timestamp::MIN, watermark::noted);
        let (overlay, counters) = (Overlay::default(), Counters::default());
        // what a replica left there may be removed this moment, by one who believes that it is gone
        let noted = origin == Origin::Partition && found.is_some();
        let mut intake = Self { plan, store, lease, origin, settings, noted, overlay, watermark, counters };
        if origin == Origin::Partition && !noted {
            intake.announce(Timestamp::MIN, wall).await?;
        }
        Ok(intake)
    }

    /// Where the last batch of this writer ended, be it in an earlier process.
    pub fn position(&self) -> &Position {
        &self.lease.position
    }

    /// Newest event time; [`Timestamp::MIN`] before the first event.
    pub fn watermark(&self) -> Timestamp {
        self.watermark
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Takes in a batch of events, in their order, and commits its effects together with the position behind it. Events
    /// that lie under their key in `seen` already have no effect; the others are noted there.
    ///
    /// # Errors
    /// Nothing of the batch took place then, or all of it did and the answer was lost: what is committed is found by
    /// opening the writer anew.
    pub async fn apply(
        &mut self,
        events: &[Event],
        seen: &[Key],
        to: Position,
        wall: Timestamp,
    ) -> Result<Applied, Error> {
        if !self.noted {
            let first = events.iter().map(Event::timestamp).min().unwrap_or(Timestamp::MIN);
            self.announce(first, wall).await?;
        }
        loop {
            let (before, counters) = (self.watermark, self.counters);
            match self.attempt(events, seen, &to, wall).await {
                Ok(Attempt::Applied(updated)) => return Ok(Applied { accepted: events.len() as u64, updated }),
                Ok(Attempt::Repeated) => {}
                Err(error) => {
                    (self.watermark, self.counters, self.overlay) = (before, counters, Overlay::default());
                    return Err(error);
                }
            }
            (self.watermark, self.counters) = (before, counters);
        }
    }

    /// Makes itself known before it joins anything. Somebody may be closing rankings without having seen it: that one has to
    /// begin anew, and sees it then.
    async fn announce(&mut self, watermark: Timestamp, wall: Timestamp) -> Result<(), Error> {
        self.pass(watermark, wall).await?;
        self.store.acquire(&Writer(super::closer::WRITER.to_owned())).await?;
        self.noted = true;
        Ok(())
    }

    async fn attempt(
        &mut self,
        events: &[Event],
        seen: &[Key],
        to: &Position,
        wall: Timestamp,
    ) -> Result<Attempt, Error> {
        let known = self.store.read(seen).await?;
        let is_new = |place: usize| known.get(place).is_none_or(Option::is_none);
        let mut noted = std::collections::HashSet::new();
        let fresh: Vec<&Event> = (0..events.len())
            .filter(|&place| is_new(place) && seen.get(place).is_none_or(|key| noted.insert(key.clone())))
            .map(|place| &events[place])
            .collect();
        self.prefetch(&fresh).await?;
        for event in fresh {
            self.one(event).await?;
        }
        // repetitions tell how far this writer has come, too
        self.watermark = events.iter().map(Event::timestamp).fold(self.watermark, Timestamp::max);
        for key in &noted {
            self.overlay.write(key, Slot(0), Stored { at: wall, event: 0, cell: Cell::Counter(1) });
        }
        self.commit(to.clone(), noted.into_iter().collect(), wall).await
    }

    /// Lets event time pass without events: the source has none before `now`.
    ///
    /// # Errors
    /// As [`Intake::apply`].
    pub async fn pass(&mut self, now: Timestamp, wall: Timestamp) -> Result<(), Error> {
        self.watermark = self.watermark.max(now);
        self.commit(self.lease.position.clone(), Vec::new(), wall).await.map(|_| ())
    }

    /// Nothing more will come of this writer: nobody waits for it any more.
    ///
    /// # Errors
    /// As [`Intake::apply`].
    pub async fn leave(&mut self) -> Result<(), Error> {
        self.overlay.remove(&watermark::key(&self.lease.writer.0));
        let (commit, _) = self.overlay.take(self.lease.position.clone(), self.lease.position.clone());
        match self.store.commit(&self.lease, commit).await? {
            Outcome::LostLease => Err(self.lost()),
            Outcome::Applied | Outcome::Exists => Ok(()),
        }
    }

    /// Reads what a batch needs in two questions: what its events name, then what depends on that.
    async fn prefetch(&mut self, events: &[&Event]) -> Result<(), Error> {
        let mut named = Vec::new();
        for event in events {
            match event {
                Event::Ranking(ranking) => {
                    named.push(stored::join_key(&ranking.tenant, &ranking.id));
                    named.extend(self.plan.reads(ranking));
                }
                Event::Interaction(interaction) => match &interaction.ranking {
                    Some(ranking) => named.push(stored::join_key(&interaction.tenant, ranking)),
                    None => named.extend(self.plan.unranked_reads(interaction)),
                },
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

    async fn load(&mut self, mut keys: Vec<Key>) -> Result<(), Error> {
        keys.sort_unstable();
        keys.dedup();
        self.fetch(&keys).await.map(|_| ())
    }

    /// What lies under the keys, with what this batch has written there.
    async fn fetch(&mut self, keys: &[Key]) -> Result<Rows, Error> {
        super::fetch(&mut self.overlay, &*self.store, keys).await
    }

    async fn one(&mut self, event: &Event) -> Result<(), Error> {
        self.watermark = self.watermark.max(event.timestamp());
        match event {
            Event::Item(_) => self.counters.items += 1,
            Event::User(_) => self.counters.users += 1,
            Event::Ranking(_) => self.counters.rankings += 1,
            Event::Interaction(_) => self.counters.interactions += 1,
        }
        match event {
            Event::Ranking(ranking) => self.ranking(ranking).await,
            Event::Interaction(interaction) => self.interaction(interaction).await,
            update => {
                self.plan.event(update, &mut self.overlay);
                Ok(())
            }
        }
    }

    async fn ranking(&mut self, ranking: &Ranking) -> Result<(), Error> {
        let key = stored::join_key(&ranking.tenant, &ranking.id);
        if stored::shown_at(self.overlay.entity(&key)).is_some() {
            self.counters.repeated += 1;
            return Ok(());
        }
        let mut fetched = Fetched::new(self.fetch(&self.plan.reads(ranking)).await?);
        let keys = self.plan.follow(ranking, &fetched);
        let entities = self.fetch(&keys).await?;
        fetched.add(keys, entities);
        let rows = self.plan.rows(ranking, &fetched, Purpose::Training);
        self.plan.shown(ranking, &mut self.overlay);
        let (slot, value) = stored::shown(ranking, self.plan.width(), &rows);
        self.overlay.write(&key, slot, value);
        Ok(())
    }

    async fn interaction(&mut self, interaction: &Interaction) -> Result<(), Error> {
        let Some(ranking) = &interaction.ranking else { return self.unranked(interaction).await };
        let key = stored::join_key(&interaction.tenant, ranking);
        if self.may_join(&key, interaction) {
            self.plan.interaction(interaction, &mut self.overlay);
            let (slot, value) = stored::added(interaction);
            self.overlay.write(&key, slot, value);
        } else {
            let (slot, value) = stored::alone(interaction);
            self.overlay.write(&stored::waiting_key(interaction), slot, value);
        }
        Ok(())
    }

    /// Whether a record takes an interaction at once: its ranking is known, and nobody can have closed it meanwhile. It
    /// closes when all watermarks have passed its end, and this writer's is not beyond that even behind this event.
    fn may_join(&self, key: &Key, interaction: &Interaction) -> bool {
        let Settings { session_length, ranking_wait, .. } = self.settings;
        let record = self.overlay.entity(key);
        stored::takes(record, interaction, ranking_wait)
            && record.is_some_and(|record| self.watermark <= record.newest().plus(session_length))
    }

    /// An interaction that no ranking caused takes effect; its click-through is the closer's to write.
    async fn unranked(&mut self, interaction: &Interaction) -> Result<(), Error> {
        self.counters.unranked += 1;
        let fetched = Fetched::new(self.fetch(self.plan.unranked_reads(interaction).as_slice()).await?);
        self.plan.unranked(interaction, &fetched, &mut self.overlay);
        self.plan.interaction(interaction, &mut self.overlay);
        let key = stored::waiting_key(interaction);
        for (slot, value) in [stored::alone(interaction), stored::counted(interaction)] {
            self.overlay.write(&key, slot, value);
        }
        Ok(())
    }

    async fn commit(&mut self, to: Position, absent: Vec<Key>, wall: Timestamp) -> Result<Attempt, Error> {
        let (slot, note) = watermark::note(self.origin, self.watermark, wall);
        self.overlay.write(&watermark::key(&self.lease.writer.0), slot, note);
        let (commit, values) = self.overlay.take(self.lease.position.clone(), to.clone());
        let own = 1 + absent.len() as u64; // the watermark and the notes of what was seen
        match self.store.commit(&self.lease, rankwright_state::Commit { absent, ..commit }).await? {
            Outcome::LostLease => return Err(self.lost()),
            Outcome::Exists => return Ok(Attempt::Repeated),
            Outcome::Applied => self.lease.position = to,
        }
        let values = values.saturating_sub(own);
        self.counters.updated += values;
        Ok(Attempt::Applied(values))
    }

    fn lost(&self) -> Error {
        Error::LostLease { writer: self.lease.writer.0.clone() }
    }
}
