//! Batches of partitions, one behind the other: the next one is put together while those before it are committed.
//!
//! A step is put together on what those under way are to leave. It is handed to the store at once, which makes it ready, and takes
//! place when the step before it has; where that comes to nothing, so does all behind it, and is put together again. So nothing ever
//! takes place that rests on a commit whose end is not known. Writers stand where they stood until their batch is committed.
//! What others have written meanwhile is seen some steps later than without a pipeline.

use super::effects::Effects;
use super::intake::by_time;
use super::lane::Lane;
use super::{Intake, Share, watermark};
use crate::error::Error;
use crate::ingest::Settings;
use rankwright_event::{Event, Timestamp};
use rankwright_feature::Plan;
use rankwright_state::{Coming, Commit, Key, Lease, Move, Outcome, Overlay, Space, Store};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio::task::{JoinError, JoinHandle};

/// Most steps under way: the store carries out one while the next is made ready.
const MOST: usize = 2;

/// Commits steps of several partitions one behind the other.
pub struct Pipeline {
    effects: Effects,
    under_way: VecDeque<UnderWay>,
    /// What was left, since a step was last put together, that none of those under way changes.
    written: Written,
    /// Steps that failed.
    failed: u64,
}

/// A step that is put together.
pub struct Prepared {
    /// Steps that had failed by then.
    failed: u64,
    lease: Lease,
    commit: Commit,
    coming: Coming,
    lanes: Vec<Lane>,
}

/// A step that is being committed.
struct UnderWay {
    /// The writers as they stand behind it.
    lanes: Vec<Lane>,
    /// What the step behind it hears of it.
    told: Option<Told>,
    task: JoinHandle<Result<Committed, rankwright_state::Error>>,
}

/// What a step hears of the one before it.
struct Told {
    /// That it has begun: stores keep commits in the order in which they are begun.
    begun: Receiver<()>,
    /// That it has taken place, and is known what it has left.
    over: Receiver<()>,
}

/// Who tells that.
struct Tells {
    begun: Sender<()>,
    over: Sender<()>,
}

/// What became of a step.
struct Committed {
    outcome: Outcome,
    /// What it has left.
    written: Written,
}

/// What lies under keys.
type Written = Vec<(Key, Option<Arc<rankwright_state::Entity>>)>;

impl Pipeline {
    /// A pipeline in which nothing is under way.
    pub fn new(plan: Arc<Plan>, store: Arc<dyn Store>, settings: Settings) -> Self {
        Self {
            effects: Effects::new(plan, store, settings),
            under_way: VecDeque::new(),
            written: Vec::new(),
            failed: 0,
        }
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether a step has to be [settled](Self::settle) before another one is sent.
    pub fn is_full(&self) -> bool {
        self.under_way.len() >= MOST
    }

    /// Puts a step together, as [`Intake::apply_together`] does, on top of those under way. `None` where that has to wait for
    /// them, or a writer is not waited for yet.
    ///
    /// # Errors
    /// When the store fails. Nothing has happened then.
    pub async fn prepare(&mut self, shares: &[Share<'_>], wall: Timestamp) -> Result<Option<Prepared>, Error> {
        let mut lanes: Vec<Lane> = shares.iter().map(|share| self.standing(&share.intake.lane)).collect();
        if lanes.is_empty() || lanes.iter().any(|lane| !lane.noted) {
            return Ok(None);
        }
        self.written.clear();
        let put = self.put(shares, &mut lanes, wall).await;
        let overlay = std::mem::take(&mut self.effects.overlay);
        if std::mem::take(&mut self.effects.unsure) {
            return put.map(|()| None);
        }
        put?;
        self.step(overlay, lanes, shares).await
    }

    async fn put(&mut self, shares: &[Share<'_>], lanes: &mut [Lane], wall: Timestamp) -> Result<(), Error> {
        let events: Vec<&[Event]> = shares.iter().map(|share| share.events).collect();
        let ordered = by_time(&events);
        self.effects.add(&mut lanes.iter_mut().collect::<Vec<_>>(), &ordered, wall).await?;
        for lane in lanes {
            let (slot, note) = watermark::note(lane.origin, lane.watermark, wall);
            self.effects.overlay.write(&watermark::key(&lane.lease.writer.0), slot, note);
        }
        Ok(())
    }

    /// What was put together, with what it will leave.
    async fn step(
        &self,
        mut overlay: Overlay,
        mut lanes: Vec<Lane>,
        shares: &[Share<'_>],
    ) -> Result<Option<Prepared>, Error> {
        let mut moves = lanes.iter_mut().zip(shares).map(|(lane, share)| {
            let (lease, to) = (lane.lease.clone(), share.to.clone());
            let from = std::mem::replace(&mut lane.lease.position, share.to.clone());
            Move { lease, from, to }
        });
        let Some(Move { lease, from, to }) = moves.next() else { return Ok(None) };
        let also = moves.collect();
        let (commit, mut coming) = overlay.take_coming(from, to);
        // what a step under way changes is known when that is over
        let unread = coming.unread().filter(|key| is_value(key));
        let asked: Vec<Key> =
            unread.filter(|key| !self.effects.coming.iter().any(|step| step.changes(key))).cloned().collect();
        let found = self.effects.store.read(&asked).await?;
        coming.rest_on(asked.into_iter().zip(found));
        Ok(Some(Prepared { failed: self.failed, lease, commit: Commit { also, ..commit }, coming, lanes }))
    }

    /// A writer as it stands behind what is under way.
    fn standing(&self, lane: &Lane) -> Lane {
        let mut lanes = self.under_way.iter().rev().flat_map(|step| &step.lanes);
        lanes.find(|known| known.lease.writer == lane.lease.writer).unwrap_or(lane).clone()
    }

    /// Whether a step may be sent: nothing that it rests on has failed.
    pub fn is_sound(&self, prepared: &Prepared) -> bool {
        !self.is_full() && self.failed == prepared.failed
    }

    /// Begins to commit a step, which takes place behind those under way, or not at all.
    ///
    /// # Panics
    /// Where it [is not sound](Self::is_sound).
    pub fn send(&mut self, prepared: Prepared) {
        assert!(self.is_sound(&prepared), "what it rests on is to be settled first, and dropped where that failed");
        let Prepared { lease, commit, mut coming, lanes, .. } = prepared;
        coming.rest_on(self.written.drain(..));
        let before = self.under_way.back_mut().and_then(|before| before.told.take());
        let ((tell_begun, begun), (tell_over, over)) = (channel(), channel());
        let tells = Tells { begun: tell_begun, over: tell_over };
        let task = tokio::spawn(commit_to(self.effects.store.clone(), lease, commit, before, tells));
        self.effects.coming.push_back(coming);
        self.under_way.push_back(UnderWay { lanes, told: Some(Told { begun, over }), task });
    }

    /// Waits for the first of the steps under way, if there is one: the writers stand behind it then.
    ///
    /// # Errors
    /// As [`Intake::apply_together`]. The writers stand before it then, whether it took place or not, and the steps behind it
    /// will not take place.
    pub async fn settle(&mut self, writers: impl Iterator<Item = &mut Intake>) -> Result<(), Error> {
        let Some(UnderWay { lanes, task, .. }) = self.under_way.front_mut() else { return Ok(()) };
        let ended = task.await;
        let lanes = std::mem::take(lanes);
        self.under_way.pop_front();
        self.effects.coming.pop_front();
        self.failed += 1; // until it is known to have taken place
        let Committed { outcome, written } = match ended.map_err(JoinError::try_into_panic) {
            Ok(ended) => ended?,
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
        self.rest_on(written);
        for intake in writers {
            if let Some(lane) = lanes.iter().find(|lane| lane.lease.writer == intake.lane.lease.writer) {
                intake.lane.clone_from(lane);
            }
        }
        Ok(())
    }

    /// Has steps rest on what lies in the store, not on what the step before was to leave there: else the writes of others
    /// would never be seen under a key that every step changes.
    fn rest_on(&mut self, mut written: Written) {
        for step in &mut self.effects.coming {
            let (changed, others): (Written, Written) = written.into_iter().partition(|(key, _)| step.changes(key));
            step.rest_on(changed);
            written = others;
        }
        self.written.append(&mut written);
    }
}

fn is_value(key: &Key) -> bool {
    key.scope.space() == Space::Values
}

/// Commits a step after the one before it, and reports its end to the next one.
async fn commit_to(
    store: Arc<dyn Store>,
    lease: Lease,
    commit: Commit,
    before: Option<Told>,
    tells: Tells,
) -> Result<Committed, rankwright_state::Error> {
    let keys: Vec<Key> = commit.writes.iter().map(|(key, _)| key).filter(|key| is_value(key)).cloned().collect();
    let mut committing = match before {
        Some(Told { begun, over }) => {
            let _ = begun.await; // one that has failed does not block the next
            store.commit_when(&lease, commit, over)
        }
        None => store.commit(&lease, commit),
    };
    let at_once = poll_fn(|context| Poll::Ready(committing.as_mut().poll(context))).await;
    let _ = tells.begun.send(()); // there may be none behind it
    let outcome = match at_once {
        Poll::Ready(outcome) => outcome?,
        Poll::Pending => committing.await?,
    };
    let mut written = Written::new();
    if outcome == Outcome::Applied {
        // before the next one changes it; where it cannot be told, that one does not take place
        match left(&*store, keys).await {
            Ok(left) => {
                written = left;
                let _ = tells.over.send(());
            }
            Err(error) => tracing::debug!(%error, "what rests on a batch is put together again"),
        }
    }
    Ok(Committed { outcome, written })
}

/// What lies under keys that were written just now.
async fn left(store: &dyn Store, keys: Vec<Key>) -> Result<Written, rankwright_state::Error> {
    let (mut known, mut asked) = (Written::with_capacity(keys.len()), Vec::new());
    let written = store.written(&keys);
    for (key, written) in keys.into_iter().zip(written) {
        match written {
            Some(entity) => known.push((key, entity)),
            None => asked.push(key),
        }
    }
    let found = store.read(&asked).await?;
    known.extend(asked.into_iter().zip(found));
    Ok(known)
}
