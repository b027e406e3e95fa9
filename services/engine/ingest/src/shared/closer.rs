//! The closer decides what writers cannot: it assigns waiting interactions, ends rankings, and brings click-throughs to their
//! store.
//!
//! There is one closer at a time. The lease of its writer guards its commits, so a second process that takes itself for the
//! closer changes nothing.

mod bounds;

use super::stored;
use super::watermark::Watermarks;
use crate::counters::{self, Counters};
use crate::error::Error;
use crate::ingest::Settings;
use crate::outbox::{Outbox, Taken};
use crate::record::{Closed, Open};
use rankwright_clickthrough::{Clickthrough, ClickthroughStore};
use rankwright_event::{Interaction, RankingId, Timestamp};
use rankwright_feature::Plan;
use rankwright_state::{Commit, Entity, Key, Lease, Outcome, Overlay, Position, Rows, Space, Store, View, Writer};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) const WRITER: &str = "closer";
/// In milliseconds.
const WARN_EVERY: i64 = 60_000;
/// It has stood still where it has not looked for other processes for this time.
const GAP: Duration = Duration::from_secs(30);
/// A closer that works for this long asks whether it is still its turn before anything is brought away.
const LONG: Duration = Duration::from_secs(2);
/// Most records of a batch. What they have in common, such as the items that they show, is written once for all.
const BATCH: usize = 4000;
/// Rankings of the first batch, when it is not known yet how large they are,
const FIRST: usize = 200;
/// and about the bytes of a later one: they come with one answer of a server, which has a time limit.
const BATCH_BYTES: usize = 16 << 20;
/// Waiting interactions that are looked at together.
const WAITING: usize = 100_000;

/// What came of what was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worked {
    /// All was done.
    All,
    /// Something was, and something is left.
    Some,
    /// What is left waits for other writers, or for room.
    Nothing,
}

/// Closes the rankings of all writers.
pub struct Closer {
    name: String,
    plan: Arc<Plan>,
    store: Arc<dyn Store>,
    lease: Lease,
    settings: Settings,
    overlay: Overlay,
    outbox: Outbox,
    /// Rankings that are closed at once.
    batch: usize,
    /// What this batch has closed.
    closed: Vec<(Key, Closed)>,
    /// Records that go on their way as they are, and where from.
    moved: Vec<(Key, Key)>,
    counters: Counters,
    /// Some rankings that interactions waited for in vain.
    unknown: Vec<RankingId>,
    /// What of it has taken place.
    done: Counters,
    /// Time of the last "closing is held up" warning.
    warned: Timestamp,
    /// The last replica, whose lease was taken away.
    resting: Option<Writer>,
    /// Since when it has looked at who is there, and when it did so last.
    looks_since: Instant,
    looked: Instant,
    /// Whether the next commit takes place without anything to write, too.
    asks: bool,
}

impl Closer {
    /// Becomes the closer and resumes its work: click-throughs that are not durable yet. No other process has this `name`.
    /// `taken` is what this process kept when it stopped closing: where no other process has closed anything since, its
    /// click-throughs are in their store already, and are not brought there again.
    ///
    /// # Errors
    /// When the store fails, or holds a damaged record.
    pub async fn open(
        name: &str,
        taken: &mut Taken,
        plan: Arc<Plan>,
        store: Arc<dyn Store>,
        clickthroughs: Arc<dyn ClickthroughStore>,
        settings: Settings,
    ) -> Result<Self, Error> {
        let lease = store.acquire(&Writer(WRITER.to_owned())).await?;
        let owed = store.scan(Space::Outbox).await?;
        let taken = std::mem::take(taken); // it was kept for another attempt until here
        let mut taken = if lease.position.0 == name { taken } else { Taken::default() };
        taken.retain(&owed.iter().map(|(key, _)| key.clone()).collect());
        let known: HashSet<Key> = taken.keys().cloned().collect();
        let mut outbox = Outbox::after(clickthroughs, taken);
        for (key, entity) in owed.into_iter().filter(|(key, _)| !known.contains(key)) {
            let closed = stored::closed(&key, &entity, &plan)?;
            outbox.push(Some(key), closed);
        }
        let (overlay, closed, moved, counters) = (Overlay::default(), Vec::new(), Vec::new(), Counters::default());
        let warned = Timestamp::from_millis(0);
        let name = name.to_owned();
        Ok(Self {
            name,
            plan,
            store,
            lease,
            settings,
            overlay,
            outbox,
            batch: FIRST,
            closed,
            moved,
            counters,
            unknown: Vec::new(),
            done: counters,
            warned,
            resting: None,
            looks_since: Instant::now(),
            looked: Instant::now(),
            asks: false,
        })
    }

    /// Stops closing; what the store of click-throughs has taken by now, see [`Closer::open`].
    pub fn hand_over(self) -> Taken {
        let again: HashSet<Key> = self.closed.into_iter().map(|(key, _)| key).collect();
        let mut taken = self.outbox.hand_over();
        taken.leave_out(&again);
        taken
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        let (outbox, outbox_bytes) = (self.outbox.len() as u64, self.outbox.bytes() as u64);
        Counters { outbox, outbox_bytes, ..self.done }
    }

    /// Some rankings that interactions waited for in vain.
    pub fn unknown_rankings(&self) -> &[RankingId] {
        &self.unknown
    }

    /// Does what is due by the watermarks of all writers.
    ///
    /// # Errors
    /// When a store fails, or this one was replaced. It must not be used any further after an error of the state store.
    pub async fn tick(&mut self, wall: Timestamp) -> Result<(), Error> {
        let began = Instant::now();
        let watermark = self.watermark(wall).await?;
        if self.has_room().await? {
            self.work(watermark).await?;
            self.evict().await?;
        }
        self.count_open().await?;
        if began.elapsed() > LONG {
            self.settle().await?; // another process may have its turn by now
        }
        self.outbox.flush_due()?;
        self.settle().await
    }

    /// The same, however long the store of click-throughs takes: what is read next is to see all that was due.
    ///
    /// # Errors
    /// As [`Closer::tick`].
    pub async fn tick_through(&mut self, wall: Timestamp) -> Result<(), Error> {
        let watermark = self.watermark(wall).await?;
        self.work_through(watermark).await?;
        self.evict().await?;
        self.outbox.flush_due()?;
        self.settle().await
    }

    /// What is due, and all click-throughs that the state holds until they are durable elsewhere: they are, afterwards.
    ///
    /// # Errors
    /// As [`Closer::tick`].
    pub async fn bring(&mut self, wall: Timestamp) -> Result<(), Error> {
        let watermark = self.watermark(wall).await?;
        self.work_through(watermark).await?;
        self.outbox.flush()?;
        self.settle().await
    }

    /// Closes all that no live writer will add to: everything, where no other writer is left.
    ///
    /// # Errors
    /// As [`Closer::tick`].
    pub async fn finish(&mut self, wall: Timestamp) -> Result<(), Error> {
        let watermarks = self.watermarks(wall).await?;
        self.work_through(watermarks.lowest.unwrap_or(Timestamp::MAX)).await?;
        self.count_open().await?;
        self.outbox.flush()?;
        self.settle().await
    }

    /// The time up to which rankings close. Where no writer is left, the clock moves the watermark of the last replica on: what
    /// it has left open closes though no event comes any more.
    async fn watermark(&mut self, wall: Timestamp) -> Result<Timestamp, Error> {
        let watermarks = self.watermarks(wall).await?;
        let resting = watermarks.resting.map(|(_, by_now)| by_now);
        Ok(watermarks.lowest.or(resting).unwrap_or(Timestamp::MIN))
    }

    /// Does all that is due; waits for room where there is none.
    async fn work_through(&mut self, watermark: Timestamp) -> Result<(), Error> {
        loop {
            if self.outbox.is_full() {
                self.outbox.flush()?;
                self.commit().await?;
            }
            match self.work(watermark).await? {
                Worked::All => return Ok(()),
                Worked::Nothing if !self.outbox.is_full() => return Ok(()),
                Worked::Some | Worked::Nothing => {}
            }
        }
    }

    /// The lowest watermark of the writers that are waited for; to be read before anything else is.
    ///
    /// Each writer that may add to a record is waited for. So the closer takes away the lease of a silent replica before it
    /// stops waiting for it: if the replica comes back, it has to start again.
    async fn watermarks(&mut self, wall: Timestamp) -> Result<Watermarks, Error> {
        if self.looked.elapsed() > GAP {
            self.looks_since = Instant::now(); // it stood still
        }
        let watermarks = Watermarks::read(&*self.store, wall, self.looks_since.elapsed()).await?;
        self.looked = Instant::now();
        for (key, writer) in &watermarks.silent {
            self.store.acquire(writer).await?;
            self.overlay.remove(key);
        }
        if let Some((writer, _)) = &watermarks.resting
            && self.resting.as_ref() != Some(writer)
        {
            self.store.acquire(writer).await?;
            self.resting = Some(writer.clone());
        }
        if let Some(partition) = &watermarks.stalled
            && wall.millis_since(self.warned) > WARN_EVERY
        {
            self.warned = wall;
            tracing::warn!(
                partition,
                "no ranking closes: no worker has read this for minutes; start its reader again (the closer waits an hour for sources that are shared among readers)"
            );
        }
        Ok(watermarks)
    }

    /// Whether there is room for what closes: nothing does while too much waits for the store of click-throughs.
    async fn has_room(&mut self) -> Result<bool, Error> {
        if self.outbox.is_full() {
            self.outbox.hurry()?;
            self.commit().await?; // what is durable makes room
        }
        Ok(!self.outbox.is_full())
    }

    /// Does what is due, as far as there is room for it.
    async fn work(&mut self, watermark: Timestamp) -> Result<Worked, Error> {
        let waiting = self.store.oldest(Space::Waiting, Timestamp::MAX, WAITING).await?;
        self.counters.awaited = waiting.len() as u64;
        let mut left = waiting.len();
        let (too_many, others) = waiting.split_at(self.too_many_wait(&waiting));
        for (some, are_too_many) in [(too_many, true), (others, false)] {
            for some in some.chunks(BATCH) {
                left -= self.waiting(some, watermark, are_too_many).await?;
            }
        }
        if waiting.len() == WAITING {
            // a ranking does not close before those that wait for it have had their turn
            return Ok(if left < WAITING { Worked::Some } else { Worked::Nothing });
        }
        let until = watermark.minus(self.settings.session_length).minus(Duration::from_millis(1));
        loop {
            let batch = self.batch;
            let due = self.store.oldest(Space::Joins, until, batch).await?;
            self.close(&due).await?;
            if due.len() < batch {
                return Ok(Worked::All);
            }
            if self.outbox.is_full() {
                return Ok(Worked::Some);
            }
        }
    }

    /// Interactions that no writer could join; how many of them wait no longer, by this watermark, or because they are too many.
    async fn waiting(
        &mut self,
        waiting: &[(Key, Arc<Entity>)],
        watermark: Timestamp,
        are_too_many: bool,
    ) -> Result<usize, Error> {
        let mut interactions = Vec::with_capacity(waiting.len());
        for (key, entity) in waiting {
            interactions.push((stored::interaction(key, entity)?, stored::is_counted(entity)));
        }
        let record = |interaction: &Interaction| {
            interaction.ranking.as_ref().map(|ranking| stored::join_key(&interaction.tenant, ranking))
        };
        let wait = self.settings.ranking_wait;
        let is_due = |one: &Interaction| one.timestamp.plus(wait) < watermark;
        let is_over = |one: &Interaction| are_too_many || is_due(one);
        let alone = interactions.iter().filter(|(one, counted)| !counted && is_over(one));
        let items = alone.filter_map(|(one, _)| self.plan.unranked_reads(one));
        let keys = super::distinct(interactions.iter().filter_map(|(one, _)| record(one)).chain(items));
        self.fetch(&keys).await?;
        let mut dealt_with = 0;
        for (interaction, counted) in interactions {
            dealt_with += 1;
            let key = record(&interaction);
            let known = key.filter(|key| stored::takes(self.overlay.entity(key), &interaction, wait));
            match known {
                _ if counted => self.lone(&interaction),
                Some(key) => self.joined(&interaction, &key),
                None if is_over(&interaction) => {
                    if let Some(ranking) = &interaction.ranking {
                        self.counters.unknown += 1;
                        self.counters.evicted_interactions += u64::from(!is_due(&interaction));
                        counters::name(&mut self.unknown, ranking);
                        self.plan.interaction(&interaction, &mut self.overlay); // else it took effect when it came
                    }
                    self.unranked(&interaction).await?;
                    self.lone(&interaction);
                }
                None => dealt_with -= 1,
            }
        }
        self.commit().await.map(|()| dealt_with)
    }

    /// Its ranking was seen by now.
    fn joined(&mut self, interaction: &Interaction, record: &Key) {
        self.plan.interaction(interaction, &mut self.overlay);
        let (slot, value) = stored::added(interaction);
        self.overlay.write(record, slot, value);
        self.overlay.remove(&stored::waiting_key(interaction));
    }

    /// It counts as one of an unknown ranking.
    async fn unranked(&mut self, interaction: &Interaction) -> Result<(), Error> {
        self.counters.unranked += 1;
        let item = self.fetch(self.plan.unranked_reads(interaction).as_slice()).await?;
        self.plan.unranked(interaction, &item, &mut self.overlay);
        Ok(())
    }

    /// It took effect; its click-through is owed.
    fn lone(&mut self, interaction: &Interaction) {
        self.overlay.remove(&stored::waiting_key(interaction));
        let key = stored::closed_alone_key(interaction);
        let (slot, value) = stored::alone(interaction);
        self.overlay.write(&key, slot, value);
        self.closed.push((key, Closed::Written(Clickthrough::of_interaction(interaction))));
    }

    /// Rankings that take no more interactions.
    async fn close(&mut self, due: &[(Key, Arc<Entity>)]) -> Result<(), Error> {
        let (mut ended, mut late, mut bytes) = (Vec::with_capacity(due.len()), Vec::new(), 0);
        for (key, record) in due {
            self.overlay.remove(key);
            let Some(mut open) = stored::open(key, record, &self.plan)? else {
                late.append(&mut stored::late(key, record)?); // it was closed early while they came
                continue;
            };
            bytes += open.bytes();
            let mut too_late = open.split_off_late(self.settings.session_length);
            let whole = too_late.is_empty().then_some((key, record));
            late.append(&mut too_late);
            ended.extend(Some((open, whole)).filter(|(open, _)| open.is_worth_keeping()));
        }
        if !due.is_empty() {
            self.batch = next_batch(bytes, due.len());
        }
        let reads = ended.iter().flat_map(|(open, _)| open.close_reads(&self.plan));
        let reads = super::distinct(reads.chain(late.iter().filter_map(|one| self.plan.unranked_reads(one))));
        self.fetch(&reads).await?;
        for (open, whole) in ended {
            self.end(open, whole).await?;
        }
        for interaction in late {
            self.unranked(&interaction).await?; // its other effects are there already
            self.lone(&interaction);
        }
        self.commit().await
    }

    /// A ranking, with the record that it was read from where all of that is to go on its way.
    async fn end(&mut self, mut open: Open, whole: Option<(&Key, &Arc<Entity>)>) -> Result<(), Error> {
        let items = self.fetch(&open.close_reads(&self.plan)).await?;
        open.close(&self.plan, &items, &mut self.overlay);
        self.counters.clickthroughs += 1;
        let key = stored::closed_key(&open.ranking);
        if let Some((from, record)) = whole {
            self.overlay.absorb(&key, record);
            self.moved.push((from.clone(), key.clone()));
        } else {
            let (slot, value) = stored::shown(&open.ranking, self.plan.tags(), open.rows.kept_rows());
            self.overlay.write(&key, slot, value);
            for interaction in &open.interactions {
                let (slot, value) = stored::added(interaction);
                self.overlay.write(&key, slot, value);
            }
        }
        self.closed.push((key, Closed::Ranking(open)));
        Ok(())
    }

    async fn fetch(&mut self, keys: &[Key]) -> Result<Rows, Error> {
        super::fetch(&mut self.overlay, &*self.store, keys).await
    }

    /// Commits what this batch has decided; then its click-throughs go on their way.
    async fn commit(&mut self) -> Result<(), Error> {
        let settled = self.outbox.settled();
        let again: HashSet<&Key> = self.closed.iter().map(|(key, _)| key).collect();
        settled.keys().filter(|key| !again.contains(key)).for_each(|key| self.overlay.remove(key));
        let committed = self.commit_overlay().await;
        if committed.is_err() {
            self.outbox.put_back(settled);
        }
        committed?;
        self.done = self.counters;
        for (key, closed) in self.closed.drain(..) {
            self.outbox.push(Some(key), closed);
        }
        if let Err(error) = self.outbox.send() {
            let waiting = self.outbox.len();
            tracing::warn!(error = &error as &dyn std::error::Error, waiting, "click-throughs wait for their store");
        }
        Ok(())
    }

    async fn commit_overlay(&mut self) -> Result<(), Error> {
        let (from, to) = (self.lease.position.clone(), Position(self.name.clone()));
        let (commit, values) = self.overlay.take(from, to.clone());
        let commit = Commit { moved: std::mem::take(&mut self.moved), ..commit };
        let due = !commit.writes.is_empty() || std::mem::take(&mut self.asks);
        if due && self.store.commit(&self.lease, commit).await? != Outcome::Applied {
            return Err(Error::LostLease { writer: self.lease.writer.0.clone() });
        }
        if due {
            self.lease.position = to;
        }
        self.counters.updated += values;
        Ok(())
    }

    /// Removes from the state what has become durable elsewhere.
    async fn settle(&mut self) -> Result<(), Error> {
        self.asks = self.store.shared(); // whether it is still its turn, though there may be nothing to do
        self.commit().await
    }
}

/// How many rankings to close at once when `records` of them (one at least) had `bytes`.
fn next_batch(bytes: usize, records: usize) -> usize {
    (BATCH_BYTES / (bytes / records).max(1)).clamp(1, BATCH)
}

#[cfg(test)]
mod tests;
