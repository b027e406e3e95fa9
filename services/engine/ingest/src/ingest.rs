//! Events in, effects and click-throughs out.

mod closing;
mod joining;
mod restore;

use crate::counters::{Applied, Counters};
use crate::error::Error;
use crate::join::{Bounds, Join};
use crate::outbox::Outbox;
use crate::record::JoinId;
use crate::rows::Workshop;
use crate::texts;
use closing::Owed;
use foldhash::fast::RandomState;
use hashbrown::HashSet;
use rankwright_clickthrough::ClickthroughStore;
use rankwright_event::{Event, RankingId, Timestamp};
use rankwright_feature::{Encoded, Plan};
use rankwright_state::{
    Cell, Entity, Key, Lease, Outcome, Overlay, Position, Rows, Slot, Space, Store, Stored, Writer,
};
use std::sync::Arc;
use std::time::Duration;

/// How long a value of a slot that no feature uses any more is kept.
const FORGOTTEN: Duration = Duration::from_secs(90 * 86_400);
/// Outdated values are removed once in so much event time.
const SWEEP: Duration = Duration::from_secs(86_400);

/// Interactions wait for at most this many rankings where a durable state keeps the open ones.
const MOST_AWAITED: usize = 100_000;

/// About this many bytes of interactions may wait for their rankings.
pub(crate) const MOST_AWAITED_BYTES: usize = 32 << 20;

/// Events that are noted with one commit.
pub(crate) const NOTED_AT_ONCE: usize = 10_000;

/// Slot of a note.
const NOTE: Slot = Slot(0);

/// How rankings and interactions become click-throughs.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Inactivity after which a ranking closes.
    pub session_length: Duration,
    /// How long an interaction waits for its ranking.
    pub ranking_wait: Duration,
    /// How many open rankings are held in memory. With a state in memory these are all that may be open at once; a durable
    /// one keeps any number, and those that memory has no room for are read back from it when something happens to them.
    pub max_open: usize,
    /// About how many bytes of memory open rankings may take, with the same consequence; one may be larger.
    pub max_open_bytes: usize,
}

/// Takes in the events of one writer.
pub struct Ingest {
    plan: Arc<Plan>,
    store: Arc<dyn Store>,
    lease: Lease,
    join: Join,
    outbox: Outbox,
    overlay: Overlay,
    workshop: Workshop,
    /// What models made of the texts of these events.
    encoded: Arc<Encoded>,
    /// What this batch has closed.
    owed: Owed,
    /// Records whose interactions the state does not have as they are.
    changed: HashSet<JoinId, RandomState>,
    /// Newest event time.
    watermark: Timestamp,
    swept: Timestamp,
    /// Whether join records must outlive this process.
    durable: bool,
    /// Whether events were taken that are not committed yet.
    taken: bool,
    counters: Counters,
    /// Some rankings that interactions waited for in vain.
    unknown: Vec<RankingId>,
}

impl Ingest {
    /// Becomes `writer`, and takes up what it left open.
    ///
    /// # Errors
    /// When a store fails, or holds a damaged record.
    pub async fn open(
        writer: &str,
        plan: Arc<Plan>,
        store: Arc<dyn Store>,
        clickthroughs: Arc<dyn ClickthroughStore>,
        settings: Settings,
    ) -> Result<Self, Error> {
        let durable = store.durable();
        let (bytes, awaited_bytes) = (settings.max_open_bytes, MOST_AWAITED_BYTES);
        let bounds = match settings.max_open {
            here if durable => Bounds { open: usize::MAX, here, bytes, awaited: MOST_AWAITED, awaited_bytes },
            open => Bounds { open, here: usize::MAX, bytes, awaited: open.max(1), awaited_bytes },
        };
        let mut ingest = Self {
            workshop: Workshop::new(plan.clone()),
            plan,
            lease: store.acquire(&Writer(writer.to_string())).await?,
            store,
            join: Join::new(settings.session_length, settings.ranking_wait, bounds),
            outbox: Outbox::new(clickthroughs),
            overlay: Overlay::default(),
            encoded: Arc::default(),
            owed: Owed::default(),
            changed: HashSet::default(),
            watermark: Timestamp::MIN,
            swept: Timestamp::MIN,
            durable,
            taken: false,
            counters: Counters::default(),
            unknown: Vec::new(),
        };
        if durable {
            ingest.restore().await?;
        }
        Ok(ingest)
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
        Counters {
            open: self.join.open_rankings() as u64,
            open_bytes: Some(self.join.bytes() as u64),
            awaited: self.join.awaited_rankings() as u64,
            evicted_interactions: self.join.evicted_interactions(),
            outbox: self.outbox.len() as u64,
            outbox_bytes: self.outbox.bytes() as u64,
            ..self.counters
        }
    }

    /// Some rankings that interactions waited for in vain.
    pub fn unknown_rankings(&self) -> &[RankingId] {
        &self.unknown
    }

    /// Whether what it keeps outlives this process.
    pub(crate) fn durable(&self) -> bool {
        self.durable
    }

    /// Notes an event that was taken in at a time of the wall clock, with the next commit.
    pub(crate) fn note(&mut self, key: &Key, at: Timestamp) {
        self.overlay.write(key, NOTE, Stored { at, event: 0, cell: Cell::Counter(1) });
    }

    /// Removes a note with the next commit.
    pub(crate) fn remove_note(&mut self, key: &Key) {
        self.overlay.remove(key);
    }

    /// The notes that were kept in the space, by all processes.
    pub(crate) async fn notes(&self, space: Space) -> Result<Vec<(Key, Timestamp)>, Error> {
        let at = |entity: &Entity| entity.values().next().map(|(_, stored)| stored.at);
        let noted = self.store.scan(space).await?;
        Ok(noted.into_iter().filter_map(|(key, entity)| at(&entity).map(|at| (key, at))).collect())
    }

    /// Notes events that were taken in: where they come again in requests, [`Feedback`](crate::Feedback) knows them.
    ///
    /// # Errors
    /// As [`Ingest::apply`].
    pub async fn remember(&mut self, ids: &[Key], wall: Timestamp) -> Result<(), Error> {
        for some in ids.chunks(NOTED_AT_ONCE) {
            self.apply_at(Vec::new(), some, self.lease.position.clone(), wall).await?;
        }
        Ok(())
    }

    /// Takes in a batch of events, in their order, and commits its effects together with the position behind it.
    ///
    /// Click-throughs that their store does not take wait, and are no error before too many do.
    ///
    /// # Errors
    /// Nothing of the batch took place then. After an error of the state store this must not be used any further.
    pub async fn apply(&mut self, events: Vec<Event>, to: Position) -> Result<Applied, Error> {
        self.apply_at(events, &[], to, Timestamp::MAX).await
    }

    /// The same while events happen: event time does not go beyond the `wall` clock, so that one event that is ahead of it
    /// closes nothing. Notes under the keys become durable together with the effects, and not before.
    ///
    /// # Errors
    /// As [`Ingest::apply`].
    pub(crate) async fn apply_at(
        &mut self,
        events: Vec<Event>,
        notes: &[Key],
        to: Position,
        wall: Timestamp,
    ) -> Result<Applied, Error> {
        let accepted = events.len() as u64;
        self.take_at(events, wall).await?;
        notes.iter().for_each(|key| self.note(key, wall));
        let updated = self.commit(to).await?;
        Ok(Applied { accepted, updated })
    }

    /// Takes in events, in their order, whose effects [`Ingest::commit_taken`] commits together. They have to be
    /// committed before anything else is done.
    ///
    /// # Errors
    /// As [`Ingest::apply`].
    pub async fn take(&mut self, events: Vec<Event>) -> Result<(), Error> {
        self.take_at(events, Timestamp::MAX).await
    }

    /// Commits the effects of what was taken together with the position behind it.
    ///
    /// # Errors
    /// As [`Ingest::apply`].
    pub async fn commit_taken(&mut self, to: Position) -> Result<(), Error> {
        self.commit(to).await.map(|_| ())
    }

    async fn take_at(&mut self, events: Vec<Event>, wall: Timestamp) -> Result<(), Error> {
        if self.outbox.is_full() {
            self.outbox.flush()?;
        }
        if let Some(first) = events.first().filter(|_| !self.taken) {
            self.close_by_commits(first.timestamp().min(wall)).await?;
        }
        self.taken |= !events.is_empty();
        let mut events = events.into_iter();
        while !events.as_slice().is_empty() {
            let next = &events.as_slice()[..events.len().min(texts::EVENTS)];
            self.encoded = Arc::new(texts::foresee(&self.plan, next.iter()).await);
            for event in events.by_ref().take(texts::EVENTS) {
                self.one(event, wall).await?;
            }
        }
        self.encoded = Arc::default();
        Ok(())
    }

    /// Event time as it was restored from what is open is not beyond the `wall` clock.
    pub(crate) fn not_beyond(&mut self, wall: Timestamp) {
        self.watermark = self.watermark.min(wall);
    }

    /// Lets event time pass without events.
    ///
    /// # Errors
    /// As [`Ingest::apply`].
    pub async fn pass(&mut self, now: Timestamp) -> Result<(), Error> {
        if now > self.watermark {
            self.close_by_commits(now).await?;
            self.advance(now).await?;
        }
        self.commit(self.lease.position.clone()).await?;
        self.outbox.flush_due()?;
        self.settle().await
    }

    /// Closes everything that is open: no more events of its time will come.
    ///
    /// # Errors
    /// As [`Ingest::apply`].
    pub async fn finish(&mut self) -> Result<(), Error> {
        self.close_by_commits(Timestamp::MAX).await?;
        self.close_until(Timestamp::MAX).await?;
        self.commit(self.lease.position.clone()).await?;
        self.outbox.flush()?;
        self.settle().await
    }

    async fn one(&mut self, event: Event, wall: Timestamp) -> Result<(), Error> {
        self.advance(event.timestamp().min(wall)).await?;
        self.counters.see(&event);
        match event {
            Event::Ranking(ranking) => self.ranking(ranking).await,
            Event::Interaction(interaction) => self.interaction(interaction).await,
            update => {
                self.plan.event_with(&update, &self.encoded, &mut self.overlay);
                Ok(())
            }
        }
    }

    /// Event time moves on: what is due closes.
    async fn advance(&mut self, now: Timestamp) -> Result<(), Error> {
        if now <= self.watermark {
            return Ok(());
        }
        self.watermark = now;
        self.close_until(now).await?;
        if now > self.swept.plus(SWEEP) {
            self.store.expire(now, self.plan.retention(), FORGOTTEN).await?;
            self.swept = now;
        }
        Ok(())
    }

    /// What lies under the keys, with what this batch has written there.
    async fn fetch(&mut self, keys: &[Key]) -> Result<Rows, Error> {
        let (mut found, unknown) = self.overlay.look_up(keys);
        if unknown.is_empty() {
            return Ok(found);
        }
        let wanted: Vec<Key> = unknown.iter().map(|&place| keys[place].clone()).collect();
        let entities = self.store.read(&wanted).await?;
        for ((place, key), entity) in unknown.into_iter().zip(&wanted).zip(entities) {
            found[place] = self.overlay.load(key, entity);
        }
        Ok(found)
    }

    async fn commit(&mut self, to: Position) -> Result<u64, Error> {
        self.workshop.nudge();
        self.taken = false;
        self.write_changed();
        for (key, closed) in self.owed.take() {
            self.outbox.push(key, closed);
        }
        let settled = self.outbox.settled();
        settled.keys().for_each(|key| self.overlay.remove(key));
        let (commit, values) = self.overlay.take(self.lease.position.clone(), to.clone());
        if commit.writes.is_empty() && commit.from == commit.to {
            return Ok(0);
        }
        match self.store.commit(&self.lease, commit).await? {
            Outcome::Applied => self.lease.position = to,
            Outcome::LostLease | Outcome::Exists => {
                return Err(Error::LostLease { writer: self.lease.writer.0.clone() });
            }
        }
        self.counters.updated += values;
        if let Err(error) = self.outbox.send() {
            let waiting = self.outbox.len();
            tracing::warn!(error = &error as &dyn std::error::Error, waiting, "click-throughs wait for their store");
        }
        Ok(values)
    }

    /// Removes from the state what has become durable elsewhere.
    async fn settle(&mut self) -> Result<(), Error> {
        self.commit(self.lease.position.clone()).await.map(|_| ())
    }
}

#[cfg(test)]
mod tests;
