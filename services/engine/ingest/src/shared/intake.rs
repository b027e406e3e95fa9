//! Taking in the events of a writer, or of several in one step.

use super::effects::Effects;
use super::lane::Lane;
use super::{Origin, watermark};
use crate::counters::{Applied, Counters};
use crate::error::Error;
use crate::ingest::{NOTED_AT_ONCE, Settings};
use rankwright_event::{Event, Timestamp};
use rankwright_feature::Plan;
use rankwright_state::{Cell, Commit, Key, Move, Outcome, Overlay, Position, Slot, Store, Stored, Writer};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

/// Takes in the events of one writer.
pub struct Intake {
    effects: Effects,
    pub(super) lane: Lane,
}

/// A batch of one of several writers.
pub struct Share<'a> {
    /// The writer.
    pub intake: &'a mut Intake,
    /// In their order.
    pub events: &'a [Event],
    /// Behind them.
    pub to: Position,
}

/// What a writer brings to a batch.
struct Part<'a> {
    lane: &'a mut Lane,
    events: &'a [Event],
    to: Position,
}

/// What came of an attempt to commit.
enum Attempt {
    Applied(u64),
    /// Another process took in one of the events meanwhile.
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
        let lane = Lane::open(writer, origin, &*store).await?;
        let mut intake = Self { effects: Effects::new(plan, store, settings), lane };
        if origin == Origin::Partition && !intake.lane.noted {
            intake.announce(Timestamp::MIN, wall).await?;
        }
        Ok(intake)
    }

    /// Where the last batch of this writer ended, be it in an earlier process.
    pub fn position(&self) -> &Position {
        &self.lane.lease.position
    }

    /// Newest event time; [`Timestamp::MIN`] before the first event.
    pub fn watermark(&self) -> Timestamp {
        self.lane.watermark
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.effects.store
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.effects.counters
    }

    /// Takes in a batch of events, in their order, and commits its effects together with the position behind it. Events
    /// that lie under their key in `seen` already have no effect; the others are noted there.
    ///
    /// # Errors
    /// None of the batch took effect then, or all of it did and the answer was lost. Open the writer again to find out what is
    /// committed.
    pub async fn apply(
        &mut self,
        events: &[Event],
        seen: &[Key],
        to: Position,
        wall: Timestamp,
    ) -> Result<Applied, Error> {
        if !self.lane.noted {
            // one that is ahead of the clock moves event time no further than that
            let first = events.iter().map(Event::timestamp).min().map_or(Timestamp::MIN, |first| first.min(wall));
            self.announce(first, wall).await?;
        }
        let updated = self.effects.apply(&mut [Part { lane: &mut self.lane, events, to }], seen, wall).await?;
        Ok(Applied { accepted: events.len() as u64, updated })
    }

    /// Takes in batches of several partitions in one step, in the order of event time: as if each had brought its events in
    /// batches of its own that nothing came between. It counts with the first of them.
    ///
    /// # Errors
    /// As [`Intake::apply`]; where one writer has lost its lease, nothing took place of the others' batches either.
    pub async fn apply_together(shares: &mut [Share<'_>], wall: Timestamp) -> Result<(), Error> {
        let Some((Share { intake, events, to }, others)) = shares.split_first_mut() else { return Ok(()) };
        let Self { effects, lane } = &mut **intake;
        let mut parts = vec![Part { lane, events, to: to.clone() }];
        parts.extend(others.iter_mut().map(|Share { intake, events, to }| Part {
            lane: &mut intake.lane,
            events,
            to: to.clone(),
        }));
        effects.apply(&mut parts, &[], wall).await.map(drop)
    }

    /// Makes itself known before it joins anything. A closer that has not seen it yet has to start again, and sees it then.
    async fn announce(&mut self, watermark: Timestamp, wall: Timestamp) -> Result<(), Error> {
        self.pass(watermark, wall).await?;
        self.effects.store.acquire(&Writer(super::closer::WRITER.to_owned())).await?;
        self.lane.noted = true;
        Ok(())
    }

    /// Lets event time pass without events: the source has none before `now`.
    ///
    /// # Errors
    /// As [`Intake::apply`].
    pub async fn pass(&mut self, now: Timestamp, wall: Timestamp) -> Result<(), Error> {
        self.lane.reach(now);
        let to = self.position().clone();
        let mut parts = [Part { lane: &mut self.lane, events: &[], to }];
        self.effects.commit(&mut parts, Vec::new(), wall).await.map(drop)
    }

    /// Notes events that were taken in: where they come again in requests, to whichever process, they are known.
    ///
    /// # Errors
    /// As [`Intake::apply`].
    pub async fn remember(&mut self, ids: &[Key], wall: Timestamp) -> Result<(), Error> {
        for some in ids.chunks(NOTED_AT_ONCE) {
            for key in some {
                self.effects.overlay.write(key, Slot(0), Stored { at: wall, event: 0, cell: Cell::Counter(1) });
            }
            self.pass(self.lane.watermark, wall).await?;
        }
        Ok(())
    }

    /// Says that nothing more will come of this writer: closers no longer wait for it.
    ///
    /// # Errors
    /// As [`Intake::apply`].
    pub async fn leave(&mut self) -> Result<(), Error> {
        let Self { effects, lane } = self;
        effects.overlay.remove(&watermark::key(&lane.lease.writer.0));
        let (commit, _) = effects.overlay.take(lane.lease.position.clone(), lane.lease.position.clone());
        match effects.store.commit(&lane.lease, commit).await? {
            Outcome::LostLease => Err(lane.lost()),
            Outcome::Applied | Outcome::Exists => Ok(()),
        }
    }
}

impl Effects {
    /// Commits what the parts bring; how many values that changes. After an error nothing is left of it here.
    async fn apply(&mut self, parts: &mut [Part<'_>], seen: &[Key], wall: Timestamp) -> Result<u64, Error> {
        let counters = self.counters;
        let before: Vec<Timestamp> = parts.iter().map(|part| part.lane.watermark).collect();
        loop {
            let outcome = self.attempt(parts, seen, wall).await;
            if let Ok(Attempt::Applied(updated)) = outcome {
                return Ok(updated);
            }
            self.counters = counters;
            parts.iter_mut().zip(&before).for_each(|(part, before)| part.lane.watermark = *before);
            if let Err(error) = outcome {
                self.overlay = Overlay::default();
                return Err(error);
            }
        }
    }

    async fn attempt(&mut self, parts: &mut [Part<'_>], seen: &[Key], wall: Timestamp) -> Result<Attempt, Error> {
        let known = self.store.read(seen).await?;
        let is_new = |place: usize| known.get(place).is_none_or(Option::is_none);
        let mut noted = HashSet::new();
        let mut is_fresh = |place: usize| is_new(place) && seen.get(place).is_none_or(|key| noted.insert(key.clone()));
        let fresh: Vec<(usize, &Event)> = match &*parts {
            [Part { events, .. }] => {
                let events: &[Event] = events;
                (0..events.len()).filter(|&place| is_fresh(place)).map(|place| (0, &events[place])).collect()
            }
            several => by_time(&several.iter().map(|part| part.events).collect::<Vec<_>>()),
        };
        self.counters.known += (parts.iter().map(|part| part.events.len()).sum::<usize>() - fresh.len()) as u64;
        let mut lanes: Vec<&mut Lane> = parts.iter_mut().map(|part| &mut *part.lane).collect();
        self.add(&mut lanes, &fresh, wall).await?;
        // repetitions tell how far this writer has come, too
        for Part { lane, events, .. } in &mut *parts {
            events.iter().for_each(|event| lane.reach(event.timestamp().min(wall)));
        }
        for key in &noted {
            self.overlay.write(key, Slot(0), Stored { at: wall, event: 0, cell: Cell::Counter(1) });
        }
        self.commit(parts, noted.into_iter().collect(), wall).await
    }

    /// Commits what was put together, and moves the writers behind it.
    async fn commit(&mut self, parts: &mut [Part<'_>], absent: Vec<Key>, wall: Timestamp) -> Result<Attempt, Error> {
        for Part { lane, .. } in &*parts {
            let (slot, note) = watermark::note(lane.origin, lane.watermark, wall);
            self.overlay.write(&watermark::key(&lane.lease.writer.0), slot, note);
        }
        let (commit, values) = self.overlay.take(Position::default(), Position::default());
        let Some((first, others)) = parts.split_first() else { return Ok(Attempt::Applied(0)) };
        let Move { lease, from, to } = first.step();
        let also = others.iter().map(Part::step).collect();
        match self.store.commit(&lease, Commit { from, to, absent, also, ..commit }).await? {
            Outcome::LostLease => return Err(first.lane.lost()),
            Outcome::Exists => return Ok(Attempt::Repeated),
            Outcome::Applied => {}
        }
        for Part { lane, to, .. } in parts {
            lane.lease.position.clone_from(to);
        }
        self.counters.updated += values;
        Ok(Attempt::Applied(values))
    }
}

impl Part<'_> {
    fn step(&self) -> Move {
        let lease = self.lane.lease.clone();
        Move { from: lease.position.clone(), lease, to: self.to.clone() }
    }
}

/// The events of all parts, each with the place of its part: that one comes next which is the oldest of those that are next
/// in their parts.
pub(super) fn by_time<'a>(parts: &[&'a [Event]]) -> Vec<(usize, &'a Event)> {
    let mut merged = Vec::with_capacity(parts.iter().map(|events| events.len()).sum());
    let next =
        |part: usize, place: usize| parts[part].get(place).map(|event| Reverse((event.timestamp(), part, place)));
    let mut heads: BinaryHeap<_> = (0..parts.len()).filter_map(|part| next(part, 0)).collect();
    while let Some(Reverse((_, part, place))) = heads.pop() {
        merged.push((part, &parts[part][place]));
        heads.extend(next(part, place + 1));
    }
    merged
}
