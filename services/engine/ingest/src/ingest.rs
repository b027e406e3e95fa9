//! Events in, effects and click-throughs out.

mod restore;

use crate::counters::{self, Applied, Counters};
use crate::error::Error;
use crate::join::{Bounds, Due, Join, Place};
use crate::outbox::Outbox;
use crate::record::{self, Closed, JoinId, JoinRef, Open};
use crate::rows::{Promise, Workshop};
use crate::texts;
use rankwright_clickthrough::{Clickthrough, ClickthroughStore};
use rankwright_event::{Event, Interaction, Ranking, RankingId, Tenant, Timestamp};
use rankwright_feature::{Plan, Purpose};
use rankwright_state::{
    Cell, Entity, Fetched, Key, Lease, Outcome, Overlay, Position, Rows, Slot, Space, Store, Stored, Writer,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// How long a value of a slot that no feature uses any more is kept.
const FORGOTTEN: Duration = Duration::from_secs(90 * 86_400);
/// Outdated values are removed once in so much event time.
const SWEEP: Duration = Duration::from_secs(86_400);

/// So many rankings are awaited at most where a durable state keeps any number of open ones.
const MOST_AWAITED: usize = 100_000;

/// About this many bytes of interactions may wait for their rankings.
pub(crate) const MOST_AWAITED_BYTES: usize = 32 << 20;

/// So many rankings are closed with one commit, where no events belong to it as well,
const AT_ONCE: usize = 1000;
/// unless their click-throughs take more bytes of memory than this before.
const MOST_CLOSED_BYTES: usize = 16 << 20;

/// So many events are noted with one commit.
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
    /// What this batch has closed, in order.
    closed: Vec<(Option<Key>, Closed)>,
    /// About how many bytes that takes.
    closed_bytes: usize,
    /// Records whose interactions the state does not have as they are.
    changed: HashSet<JoinId>,
    /// Number of the next closed record in a durable state: a ranking that is shown again may close again before its first
    /// click-through is durable elsewhere.
    next_closed: u64,
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
            closed: Vec::new(),
            closed_bytes: 0,
            changed: HashSet::new(),
            next_closed: 0,
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
            outbox: self.outbox.len() as u64,
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
        for key in notes {
            self.overlay.write(key, NOTE, Stored { at: wall, event: 0, cell: Cell::Counter(1) });
        }
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
        texts::foresee(&self.plan, events.iter()).await;
        for event in events {
            self.one(event, wall).await?;
        }
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
                self.plan.event(&update, &mut self.overlay);
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
            if self.swept != Timestamp::MIN {
                self.store.expire(now, self.plan.retention(), FORGOTTEN).await?;
            }
            self.swept = now;
        }
        Ok(())
    }

    /// Closes what is due before `watermark`, some with each commit, however many there are.
    async fn close_by_commits(&mut self, watermark: Timestamp) -> Result<(), Error> {
        debug_assert!(!self.taken, "these commits would have effects in them whose position they do not name");
        let mut closed = 0;
        while let Some(due) = self.join.close_before(watermark) {
            self.close(due).await?;
            closed += 1;
            if closed % AT_ONCE == 0 || self.closed_bytes > MOST_CLOSED_BYTES {
                self.commit(self.lease.position.clone()).await?;
                if self.outbox.is_full() {
                    self.outbox.flush()?;
                }
            }
        }
        Ok(())
    }

    async fn close_until(&mut self, watermark: Timestamp) -> Result<(), Error> {
        while let Some(due) = self.join.close_before(watermark) {
            self.close(due).await?;
        }
        self.give_up(watermark).await
    }

    /// Interactions wait no longer whose rankings have not come by `watermark`, or that are too many.
    async fn give_up(&mut self, watermark: Timestamp) -> Result<(), Error> {
        while let Some((id, interactions)) = self.join.give_up(watermark) {
            self.remove(&id);
            for interaction in interactions {
                self.unranked(interaction).await?;
            }
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

    async fn ranking(&mut self, mut ranking: Ranking) -> Result<(), Error> {
        if self.join.place(&JoinRef { tenant: &ranking.tenant, ranking: &ranking.id }).is_some() {
            self.counters.repeated += 1;
            return Ok(());
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
        while let Some(evicted) = self.join.evict() {
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
            let encoded = texts::encoded(self.plan.texts(ranking, &fetched)).await;
            let rows = self.plan.rows_with(ranking, &fetched, &encoded, Purpose::Training);
            let (slot, stored) = record::shown_value(ranking, self.plan.tags(), &rows);
            self.overlay.write(&JoinId::of(ranking).key(), slot, stored);
            return Ok(Promise::kept(rows));
        }
        Ok(self.workshop.add(ranking.clone(), fetched))
    }

    async fn interaction(&mut self, interaction: Interaction) -> Result<(), Error> {
        let Some(ranking) = &interaction.ranking else { return self.unranked(interaction).await };
        if self.join.place(&JoinRef { tenant: &interaction.tenant, ranking }).is_some() {
            return self.joined(interaction).await;
        }
        let id = JoinId { tenant: interaction.tenant.clone(), ranking: ranking.clone() };
        if self.join.has_no_room(&id.borrowed()) {
            return self.unranked(interaction).await;
        }
        self.join.wait(id.clone(), interaction);
        self.changed(id);
        self.give_up(Timestamp::MIN).await // those that are too many, though event time stands still
    }

    /// An interaction of an open ranking takes effect.
    async fn joined(&mut self, interaction: Interaction) -> Result<(), Error> {
        self.plan.interaction(&interaction, &mut self.overlay);
        let Some(ranking) = interaction.ranking.clone() else { return Ok(()) };
        let id = JoinId { tenant: interaction.tenant.clone(), ranking };
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
    fn write_changed(&mut self) {
        for id in self.changed.drain() {
            if let Some(interactions) = self.join.interactions(&id.borrowed()) {
                let (slot, stored) = record::interactions_value(interactions);
                self.overlay.write(&id.key(), slot, stored);
            }
        }
    }

    /// An open ranking as the state has it.
    async fn stored(&mut self, id: &JoinId) -> Result<Open, Error> {
        let damaged = |reason| Error::Damaged { ranking: id.ranking.to_string(), reason };
        let entity = self.fetch(&[id.key()]).await?.pop().flatten();
        let entity = entity.ok_or_else(|| damaged("it is gone".to_owned()))?;
        let record = record::restore(&entity).map_err(damaged)?;
        let shown = record.shown.ok_or_else(|| damaged("it does not say what was shown".to_owned()))?;
        Ok(Open::restored(shown, record.interactions, &self.plan))
    }

    /// An interaction that no known ranking caused takes effect.
    async fn unranked(&mut self, interaction: Interaction) -> Result<(), Error> {
        self.counters.unranked += 1;
        if let Some(ranking) = &interaction.ranking {
            self.counters.unknown += 1;
            counters::name(&mut self.unknown, ranking);
        }
        let item = self.fetch(self.plan.unranked_reads(&interaction).as_slice()).await?;
        self.plan.unranked(&interaction, &item, &mut self.overlay);
        let record = Clickthrough::of_interaction(&interaction);
        let key = self.durable.then(|| self.closed_key(&interaction.tenant, interaction.id.as_str()));
        if let Some(key) = &key {
            let (slot, stored) = record::alone_value(&interaction);
            self.overlay.write(key, slot, stored);
        }
        self.plan.interaction(&interaction, &mut self.overlay);
        self.owed(key, Closed::Written(record));
        Ok(())
    }

    /// A ranking takes no more interactions.
    async fn close(&mut self, due: Due) -> Result<(), Error> {
        let mut open = match due {
            Due::Here(open) => open,
            Due::Stored { id, worth_keeping: true } => self.stored(&id).await?,
            Due::Stored { id, worth_keeping: false } => {
                self.remove(&id);
                return Ok(());
            }
        };
        self.remove(&JoinId::of(&open.ranking));
        if !open.is_worth_keeping() {
            return Ok(());
        }
        let items = self.fetch(&open.close_reads(&self.plan)).await?;
        open.close(&self.plan, &items, &mut self.overlay);
        self.counters.clickthroughs += 1;
        self.owe(open);
        Ok(())
    }

    /// The state has the record no longer.
    fn remove(&mut self, id: &JoinId) {
        if self.durable {
            self.changed.remove(id);
            self.overlay.remove(&id.key());
        }
    }

    /// A click-through whose effects are there is on its way.
    fn owe(&mut self, open: Open) {
        let key = self.durable.then(|| self.closed_key(&open.ranking.tenant, open.ranking.id.as_str()));
        if let Some(key) = &key {
            let values = [open.shown_value(self.plan.tags()), record::interactions_value(&open.interactions)];
            values.into_iter().for_each(|(slot, stored)| self.overlay.write(key, slot, stored));
        }
        self.owed(key, Closed::Ranking(open));
    }

    fn owed(&mut self, key: Option<Key>, closed: Closed) {
        self.closed_bytes += closed.bytes();
        self.closed.push((key, closed));
    }

    /// Where a click-through lies until it is durable elsewhere, in the order of closing.
    fn closed_key(&mut self, tenant: &Tenant, id: &str) -> Key {
        let number = self.next_closed;
        self.next_closed += 1;
        record::closed_key(tenant, number, id)
    }

    async fn commit(&mut self, to: Position) -> Result<u64, Error> {
        self.workshop.nudge();
        self.taken = false;
        self.write_changed();
        self.closed_bytes = 0;
        for (key, closed) in self.closed.drain(..) {
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
