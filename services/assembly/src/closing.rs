//! Closing rankings, by one process at a time.

mod holding;

pub(crate) use holding::{FORGETS, HELD, Holding, REBUILD, TASK, Tenure};

use crate::engine::Engine;
use holding::AGAIN;
use rankwright_event::{RankingId, Timestamp};
use rankwright_ingest::shared::{Closer, Taken};
use rankwright_ingest::{Counters, Error, aside};
use rankwright_serve::clock::{believed, earliest};
use rankwright_state::{Commit, Space, Writer};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Who has not let go of a task by then keeps it.
const PATIENCE: Duration = Duration::from_secs(60);
/// Milliseconds between two looks through the ids of events.
const LOOKS_EVERY: i64 = 60_000;

/// Another process closes rankings and does not let go of the task.
#[derive(Debug)]
pub struct StillOpen;

impl fmt::Display for StillOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "rankings are still open: another process closes them, and cannot hand that over while its store of \
             click-throughs does not answer; run this again when it does",
        )
    }
}

impl std::error::Error for StillOpen {}

/// What is to be closed.
#[derive(Debug, Clone, Copy)]
enum What {
    /// What is due, as far as the store of click-throughs has room for it.
    Due,
    /// All that is due.
    AllDue,
    /// All that no writer will add to.
    All,
    /// What is due, and all click-throughs that the state holds, until they are durable elsewhere.
    Owed,
}

/// Closes rankings while no other process does.
pub struct Closing {
    engine: Arc<Engine>,
    holder: String,
    /// What its closers are called: nothing else, not even an earlier run, has this name.
    name: String,
    closer: Option<Closer>,
    /// What the last closer of this process had brought to the store of click-throughs.
    taken: Taken,
    /// Tells whether another process had the task: what this one brought there may become durable only if none had.
    tenure: Arc<Tenure>,
    /// What this process closed before another one took over.
    before: Counters,
    /// Some rankings that interactions waited for in vain while this process closed.
    unknown: Vec<RankingId>,
    /// When ids of events were last looked through, in a state that does not forget them itself.
    looked: Timestamp,
}

impl Closing {
    /// A candidate, which begins with its first tick.
    pub fn new(engine: Arc<Engine>, holder: impl Into<String>) -> Self {
        let (holder, before, taken) = (holder.into(), Counters::default(), Taken::default());
        let name = format!("{holder} {:016x}", fastrand::u64(..));
        let (closer, tenure, looked) = (None, Arc::default(), Timestamp::MIN);
        Self { engine, holder, name, closer, taken, tenure, before, unknown: Vec::new(), looked }
    }

    /// What this process has closed, and what waits while it is its turn.
    pub fn counters(&self) -> Counters {
        self.closer.as_ref().map_or(self.before, |closer| closer.counters().and(self.before))
    }

    /// Some rankings that interactions waited for in vain while this process closed.
    pub fn unknown_rankings(&self) -> &[RankingId] {
        self.closer.as_ref().map(Closer::unknown_rankings).filter(|named| !named.is_empty()).unwrap_or(&self.unknown)
    }

    /// The next closer begins with what this one left.
    fn hand_over(&mut self) -> bool {
        self.unknown = self.unknown_rankings().to_vec();
        self.before = Counters { outbox: 0, outbox_bytes: 0, awaited: 0, open: 0, open_bytes: None, ..self.counters() };
        let Some(closer) = self.closer.take() else { return false };
        self.taken = closer.hand_over();
        true
    }

    /// Does what is due, if it is this process's turn.
    ///
    /// # Errors
    /// When a store fails; the next tick begins anew.
    pub async fn tick(&mut self) -> Result<(), Error> {
        self.work(What::Due).await
    }

    /// The same for who reads what is there once: all that is due is over before the next events are taken in, however long the
    /// store of click-throughs takes.
    ///
    /// # Errors
    /// When a store fails; the next tick begins anew.
    pub async fn tick_through(&mut self) -> Result<(), Error> {
        self.work(What::AllDue).await
    }

    /// Closes all that no writer will add to. First waits until the closer has written what it holds and let go of the task, or
    /// has lost it because it was killed. False where it keeps the task: its store of click-throughs does not answer.
    ///
    /// # Errors
    /// When a store fails.
    pub async fn finish(&mut self) -> Result<bool, Error> {
        self.finish_within(PATIENCE).await
    }

    /// Brings click-throughs that the state holds to their store, where they are durable then. First waits until the closer has
    /// done so for its own, or is gone. False where it keeps the task.
    ///
    /// # Errors
    /// When a store fails.
    pub(crate) async fn bring(&mut self) -> Result<bool, Error> {
        self.insist(What::Owed, PATIENCE).await
    }

    /// Keeps others from closing rankings while it is there, continuing the work of this process: `None` where another process
    /// may have closed some since.
    pub(crate) async fn alone(&self) -> Result<Option<Holding>, Error> {
        let held = Holding::begin(self.engine.state.clone(), &self.holder, &self.tenure).await?;
        Ok(held.filter(|_| self.closer.is_some() && !self.tenure.take_lapse()))
    }

    /// The holder of the task has this time to let go of it. One that forgets a visitor or an item takes as long as it needs.
    async fn finish_within(&mut self, patience: Duration) -> Result<bool, Error> {
        self.insist(What::All, patience).await
    }

    async fn insist(&mut self, what: What, patience: Duration) -> Result<bool, Error> {
        let (mut waits, mut asks_next, mut pause, mut told) = (Instant::now(), Instant::now(), HELD / 2, false);
        let mut asked = None::<Instant>;
        loop {
            match self.work(what).await {
                Err(Error::LostLease { .. }) => waits = Instant::now(), // another one does the same
                done => done?,
            }
            if self.closer.is_some() {
                return Ok(true);
            }
            let holder = self.engine.state.holder(TASK).await?;
            if let Some(holder) = holder.filter(|holder| holder.starts_with(FORGETS)) {
                waits = Instant::now(); // it comes to its end, and is not to be disturbed before
                if !std::mem::replace(&mut told, true) {
                    tracing::info!(holder, "open rankings are closed before a visitor is forgotten");
                }
            } else if waits.elapsed() > patience {
                return Ok(false);
            } else if asks_next <= Instant::now() {
                self.engine.state.acquire(&Writer(TASK.to_owned())).await?; // it is the name of its writer as well
                // of two who want the same, each gets longer and longer
                (asks_next, pause) = (Instant::now() + pause, pause * 2);
                asked = Some(Instant::now());
            }
            // others who may close look each second: who has asked is there before them
            let soon = asked.is_some_and(|asked| asked.elapsed() < HELD / 5);
            tokio::time::sleep(if soon { AGAIN / 10 } else { AGAIN }).await;
        }
    }

    /// Another process may have closed rankings, or forgotten a visitor: what is not durable here is with the state, or no
    /// longer to be kept.
    fn give_up(&mut self) {
        self.hand_over();
        // others can only be there where the state is shared, and it is elsewhere that what is given up is kept
        if self.engine.state.shared() {
            self.taken = Taken::default();
            self.engine.clickthroughs.give_up();
        }
    }

    /// Makes durable what is held here while no other process closes rankings, and lets another one go on at once.
    pub async fn leave(&mut self) {
        let ours = self.closer.is_some();
        let holding = Holding::begin(self.engine.state.clone(), &self.holder, &self.tenure).await;
        match holding {
            Ok(Some(holding)) if ours && !self.tenure.take_lapse() => self.make_room(holding, true).await,
            held => {
                self.give_up();
                if let Ok(Some(holding)) = held {
                    drop(holding);
                    self.let_others_close().await;
                }
            }
        }
    }

    async fn let_others_close(&self) {
        self.tenure.ends();
        if let Err(error) = self.engine.state.hold(TASK, &self.holder, Duration::from_millis(1)).await {
            tracing::debug!(%error, "another process continues later");
        }
    }

    async fn work(&mut self, what: What) -> Result<(), Error> {
        // also while a store lets us wait: no other process closes, or forgets, what is under way here
        let held = Holding::begin(self.engine.state.clone(), &self.holder, &self.tenure).await?;
        let Some(holding) = held else {
            self.give_up();
            self.tenure.ends();
            return Ok(());
        };
        if self.tenure.take_lapse() {
            self.give_up();
        }
        if self.closer.is_none() {
            let engine = &*self.engine;
            let (plan, state, parts) = (engine.plan.clone(), engine.state.clone(), engine.clickthroughs.clone());
            let opened = Closer::open(&self.name, &mut self.taken, plan, state, parts, engine.settings()).await;
            self.closer = Some(opened?);
        }
        let Some(closer) = &mut self.closer else { return Ok(()) };
        if !self.engine.state.shared() {
            forget_seen(&self.engine, &mut self.looked).await?;
        }
        let now = earliest();
        let done = match what {
            What::Due => closer.tick(now).await,
            What::AllDue => closer.tick_through(now).await,
            What::All => closer.finish(now).await,
            What::Owed => closer.bring(now).await,
        };
        self.engine.full.store(closer.is_held_up(), Ordering::Relaxed);
        match &done {
            Ok(()) | Err(Error::Clickthroughs(_)) => {}
            Err(Error::LostLease { .. }) => self.make_room(holding, false).await,
            Err(_) => drop(self.hand_over()),
        }
        done
    }

    /// Another process wants a task during which no rankings may close, so what is held here becomes durable. It waits until that
    /// is done, unless this process `ends`: the records would come into the store after the task.
    async fn make_room(&mut self, holding: Holding, ends: bool) {
        if self.tenure.take_lapse() {
            self.give_up(); // they have done it
        }
        self.hand_over(); // all that is on its way is with the store now
        if let Err(error) = aside(|| self.engine.clickthroughs.let_go()) {
            tracing::warn!(error = &error as &dyn std::error::Error, "click-throughs wait for their store");
            if !ends {
                return;
            }
            self.give_up(); // another process has them from the state
        }
        drop(holding); // or it would be ours again
        self.let_others_close().await;
    }
}

/// Removes ids of events that are not remembered any longer.
async fn forget_seen(engine: &Engine, looked: &mut Timestamp) -> Result<(), Error> {
    if believed().millis_since(*looked) < LOOKS_EVERY {
        return Ok(());
    }
    *looked = believed();
    let until = believed().minus(engine.config.core.ingest.event_id_window);
    let outdated = engine.state.oldest(Space::Seen, until, usize::MAX).await?;
    let lease = engine.state.acquire(&Writer("forgets ids".to_owned())).await?;
    let writes = outdated.into_iter().map(|(key, _)| (key, None)).collect();
    let (from, to) = (lease.position.clone(), lease.position.clone());
    engine.state.commit(&lease, Commit { from, to, writes, ..Commit::default() }).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
