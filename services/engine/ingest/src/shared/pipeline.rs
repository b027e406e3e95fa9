//! Batches of partitions, one behind the other: the next one is put together while the one before it is committed.
//!
//! What is put together takes the commit under way for done. Where that fails, it is thrown away, and the batch is put
//! together again: nothing is ever sent that rests on a commit whose end is not known. Writers stand where they stood until
//! their batch is committed. What others have written meanwhile is seen one step later than without a pipeline.

use super::effects::Effects;
use super::intake::by_time;
use super::lane::Lane;
use super::{Intake, Share, watermark};
use crate::error::Error;
use crate::ingest::Settings;
use rankwright_event::{Event, Timestamp};
use rankwright_feature::Plan;
use rankwright_state::{Coming, Commit, Key, Lease, Move, Outcome, Overlay, Position, Space, Store};
use std::sync::Arc;
use tokio::task::{JoinError, JoinHandle};

/// Commits steps of several partitions one behind the other.
pub struct Pipeline {
    effects: Effects,
    under_way: Option<UnderWay>,
    /// Steps that failed.
    failed: u64,
}

/// A step that is put together.
pub struct Prepared {
    /// Steps that had failed by then.
    failed: u64,
    overlay: Overlay,
    moves: Vec<Move>,
    lanes: Vec<Lane>,
}

/// A step that is being committed.
struct UnderWay {
    /// The writers as they stand behind it.
    lanes: Vec<Lane>,
    task: JoinHandle<Result<Outcome, rankwright_state::Error>>,
}

impl Pipeline {
    /// A pipeline in which nothing is under way.
    pub fn new(plan: Arc<Plan>, store: Arc<dyn Store>, settings: Settings) -> Self {
        Self { effects: Effects::new(plan, store, settings), under_way: None, failed: 0 }
    }

    /// Puts a step together, as [`Intake::apply_together`] does, on top of the one under way. `None` where that has to be
    /// over first, or a writer is not waited for yet.
    ///
    /// # Errors
    /// When the store fails. Nothing has happened then.
    pub async fn prepare(&mut self, shares: &[Share<'_>], wall: Timestamp) -> Result<Option<Prepared>, Error> {
        let mut lanes: Vec<Lane> = shares.iter().map(|share| self.standing(&share.intake.lane)).collect();
        if lanes.is_empty() || lanes.iter().any(|lane| !lane.noted) {
            return Ok(None);
        }
        let put = self.put(shares, &mut lanes, wall).await;
        let overlay = std::mem::take(&mut self.effects.overlay);
        if std::mem::take(&mut self.effects.unsure) {
            return put.map(|()| None);
        }
        put?;
        let step = |(lane, share): (&mut Lane, &Share<'_>)| {
            let (lease, to) = (lane.lease.clone(), share.to.clone());
            let from = std::mem::replace(&mut lane.lease.position, share.to.clone());
            Move { lease, from, to }
        };
        let moves = lanes.iter_mut().zip(shares).map(step).collect();
        Ok(Some(Prepared { failed: self.failed, overlay, moves, lanes }))
    }

    async fn put(&mut self, shares: &[Share<'_>], lanes: &mut [Lane], wall: Timestamp) -> Result<(), Error> {
        let events: Vec<&[Event]> = shares.iter().map(|share| share.events).collect();
        let ordered = by_time(&events);
        self.effects.prefetch(ordered.iter().map(|(_, event)| *event)).await?;
        for (part, event) in ordered {
            self.effects.add(&mut lanes[part], event, wall).await?;
        }
        for lane in lanes {
            let (slot, note) = watermark::note(lane.origin, lane.watermark, wall);
            self.effects.overlay.write(&watermark::key(&lane.lease.writer.0), slot, note);
        }
        Ok(())
    }

    /// A writer as it stands behind what is under way.
    fn standing(&self, lane: &Lane) -> Lane {
        let lanes = self.under_way.as_ref().map_or(&[][..], |under_way| &under_way.lanes);
        lanes.iter().find(|known| known.lease.writer == lane.lease.writer).unwrap_or(lane).clone()
    }

    /// Whether a step may be sent: what it rests on took place.
    pub fn is_sound(&self, prepared: &Prepared) -> bool {
        self.under_way.is_none() && self.failed == prepared.failed
    }

    /// Begins to commit a step, when the one before it is over and took place: what was prepared rests on it.
    ///
    /// # Errors
    /// When the store fails. Nothing has happened then.
    ///
    /// # Panics
    /// Where it [is not sound](Self::is_sound).
    pub async fn send(&mut self, prepared: Prepared) -> Result<(), Error> {
        assert!(self.is_sound(&prepared), "what it rests on is to be settled first, and dropped where that failed");
        let Prepared { mut overlay, moves, lanes, .. } = prepared;
        let coming = self.coming(&overlay).await?;
        let (commit, _) = overlay.take(Position::default(), Position::default());
        let mut moves = moves.into_iter();
        let Some(Move { lease, from, to }) = moves.next() else { return Ok(()) };
        let commit = Commit { from, to, also: moves.collect(), ..commit };
        let task = tokio::spawn(commit_to(self.effects.store.clone(), lease, commit));
        self.effects.coming = Some(coming);
        self.under_way = Some(UnderWay { lanes, task });
        Ok(())
    }

    /// What a step will leave, where nothing is under way. It rests on what lies in the store, not on what the step before was
    /// to leave there: else the writes of others would never be seen under a key that every step changes.
    async fn coming(&self, overlay: &Overlay) -> Result<Coming, Error> {
        let values = |key: &&Key| key.scope.space() == Space::Values;
        let expected: Vec<Key> = overlay.expected().filter(values).cloned().collect();
        let mut asked: Vec<Key> = overlay.unread().filter(values).cloned().collect();
        let mut read = Vec::with_capacity(expected.len());
        let written = self.effects.store.written(&expected); // by the step before
        for (key, written) in expected.into_iter().zip(written) {
            match written {
                Some(entity) => read.push((key, entity)),
                None => asked.push(key),
            }
        }
        let found = self.effects.store.read(&asked).await?;
        Ok(overlay.coming(read.into_iter().chain(asked.into_iter().zip(found))))
    }

    /// Waits for the step under way, if there is one: the writers stand behind it then.
    ///
    /// # Errors
    /// As [`Intake::apply_together`]. The writers stand before it then, whether it took place or not.
    pub async fn settle(&mut self, writers: impl Iterator<Item = &mut Intake>) -> Result<(), Error> {
        let Some(UnderWay { lanes, task }) = &mut self.under_way else { return Ok(()) };
        let ended = task.await;
        let lanes = std::mem::take(lanes);
        (self.under_way, self.effects.coming) = (None, None);
        self.failed += 1; // until it is known to have taken place
        let outcome = match ended.map_err(JoinError::try_into_panic) {
            Ok(outcome) => outcome?,
            Err(Ok(panicked)) => std::panic::resume_unwind(panicked),
            Err(Err(_)) => std::future::pending().await, // the runtime ends
        };
        match outcome {
            Outcome::Applied => {}
            Outcome::LostLease | Outcome::Exists => {
                let writer = lanes.first().map(|lane| lane.lease.writer.0.clone()).unwrap_or_default();
                return Err(Error::LostLease { writer });
            }
        }
        self.failed -= 1;
        for intake in writers {
            if let Some(lane) = lanes.iter().find(|lane| lane.lease.writer == intake.lane.lease.writer) {
                intake.lane.clone_from(lane);
            }
        }
        Ok(())
    }
}

async fn commit_to(store: Arc<dyn Store>, lease: Lease, commit: Commit) -> Result<Outcome, rankwright_state::Error> {
    store.commit(&lease, commit).await
}
