//! Closing rankings, by one process at a time.

use crate::engine::Engine;
use parking_lot::Mutex;
use rankwright_event::Timestamp;
use rankwright_ingest::shared::{Closer, Taken};
use rankwright_ingest::{Counters, Error, aside};
use rankwright_serve::clock::{believed, earliest};
use rankwright_state::{Commit, Error as StateError, Space, Store, Writer};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

pub(crate) const TASK: &str = "closer";
/// What the names of those begin with who hold it to forget somebody.
pub(crate) const FORGETS: &str = "forget ";
/// Filling a state beside the live one.
pub(crate) const REBUILD: &str = "rebuild";
/// A process that does not show itself for so long is followed by another.
pub(crate) const HELD: Duration = Duration::from_secs(10);
/// Who has not let go of a task by then keeps it.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two attempts to have what somebody else has.
const AGAIN: Duration = Duration::from_millis(200);

/// Somebody keeps closing rankings to itself.
#[derive(Debug)]
pub struct StillOpen;

impl fmt::Display for StillOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "rankings are open yet: another process closes them, and does not let go of that while its store of \
             click-throughs does not answer; run this again when it does",
        )
    }
}

impl std::error::Error for StillOpen {}

/// Keeps a task for its holder while it is there, however long that takes.
pub(crate) struct Holding(AbortHandle);

/// Whether a task was one's own all the while, in the times of this process alone: who stands still, or does not reach the state,
/// cannot tell what others did meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Tenure(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    /// Until then nobody else has it.
    until: Option<Instant>,
    /// Somebody else may have had it.
    lapsed: bool,
}

impl Tenure {
    /// It is one's own, by an answer to what was asked then.
    fn goes_on(&self, asked: Instant, span: Duration) {
        let mut times = self.0.lock();
        times.lapsed |= times.until.is_some_and(|until| until < Instant::now());
        times.until = Some(asked + span);
    }

    /// Whether somebody else may have had the task since the last time that this was asked.
    fn take_lapse(&self) -> bool {
        let mut times = self.0.lock();
        // who stood still may be faster here than with the next answer of the state
        let is_over = times.until.is_some_and(|until| until < Instant::now());
        std::mem::take(&mut times.lapsed) || is_over
    }

    /// It is given up.
    fn ends(&self) {
        *self.0.lock() = Times::default();
    }
}

impl Holding {
    /// `None` where somebody else has it.
    pub(crate) async fn begin(
        state: Arc<dyn Store>,
        holder: &str,
        tenure: &Arc<Tenure>,
    ) -> Result<Option<Self>, StateError> {
        Self::for_spans_of(HELD, state, holder, tenure).await
    }

    async fn for_spans_of(
        span: Duration,
        state: Arc<dyn Store>,
        holder: &str,
        tenure: &Arc<Tenure>,
    ) -> Result<Option<Self>, StateError> {
        let asked = Instant::now();
        if !state.hold(TASK, holder, span).await? {
            return Ok(None);
        }
        tenure.goes_on(asked, span);
        Ok(Some(Self::kept(TASK, span, state, holder, tenure.clone())))
    }

    /// The task of filling a state beside the live one: others see that somebody does. Who was killed has it for a moment yet, and
    /// another one who fills one, for as long as that takes.
    pub(crate) async fn of_rebuild(state: Arc<dyn Store>, holder: &str) -> Result<Self, StateError> {
        state.hold(REBUILD, holder, HELD).await?;
        Ok(Self::kept(REBUILD, HELD, state, holder, Arc::default()))
    }

    fn kept(task: &'static str, span: Duration, state: Arc<dyn Store>, holder: &str, tenure: Arc<Tenure>) -> Self {
        let holder = holder.to_owned();
        let holding = tokio::spawn(async move {
            let mut pause = AGAIN;
            loop {
                tokio::time::sleep(pause).await;
                let asked = Instant::now();
                pause = match state.hold(task, &holder, span).await {
                    Ok(true) => {
                        tenure.goes_on(asked, span);
                        span / 4
                    }
                    Ok(false) => AGAIN.min(span / 4),
                    Err(error) => {
                        tracing::warn!(%error, task, "somebody else may take this over meanwhile");
                        span / 4
                    }
                };
            }
        });
        Self(holding.abort_handle())
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Milliseconds between two looks through the ids of events.
const LOOKS_EVERY: i64 = 60_000;

/// What is to be closed.
#[derive(Debug, Clone, Copy)]
enum What {
    /// What is due, as far as the store of click-throughs has room for it.
    Due,
    /// All that is due.
    AllDue,
    /// All that nobody will add to.
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
    /// What it brought there is still to become durable only as long as nobody else had the task.
    tenure: Arc<Tenure>,
    /// What this process closed before another one took over.
    before: Counters,
    /// When ids of events were last looked through, in a state that does not forget them itself.
    looked: Timestamp,
}

impl Closing {
    /// A candidate, which begins with its first tick.
    pub fn new(engine: Arc<Engine>, holder: impl Into<String>) -> Self {
        let (holder, before, taken) = (holder.into(), Counters::default(), Taken::default());
        let name = format!("{holder} {:016x}", fastrand::u64(..));
        let (closer, tenure, looked) = (None, Arc::default(), Timestamp::MIN);
        Self { engine, holder, name, closer, taken, tenure, before, looked }
    }

    /// What this process has closed, and what waits while it is its turn.
    pub fn counters(&self) -> Counters {
        self.closer.as_ref().map_or(self.before, |closer| closer.counters().and(self.before))
    }

    /// Whoever closes next begins with what this one left.
    fn hand_over(&mut self) -> bool {
        self.before = Counters { outbox: 0, awaited: 0, open: 0, ..self.counters() };
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

    /// Closes all that nobody will add to, when whoever closes has written what it holds and let go of the task, or was killed
    /// and has it no more. False where somebody keeps it: its store of click-throughs does not answer.
    ///
    /// # Errors
    /// When a store fails.
    pub async fn finish(&mut self) -> Result<bool, Error> {
        self.finish_within(PATIENCE).await
    }

    /// Brings click-throughs that the state holds to their store, where they are durable then: when whoever closes has done so for
    /// its own, or is gone. False where somebody keeps the task.
    ///
    /// # Errors
    /// When a store fails.
    pub(crate) async fn bring(&mut self) -> Result<bool, Error> {
        self.insist(What::Owed, PATIENCE).await
    }

    /// Whoever keeps the task has so long to let go of it; who forgets somebody, as long as that takes.
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
                    tracing::info!(holder, "what is open is closed when somebody is forgotten");
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

    /// Somebody else may have closed rankings, or forgotten a visitor: what is not durable here is with the state, or is not to be
    /// kept any more.
    fn give_up(&mut self) {
        self.hand_over();
        // others can only be there where the state is shared, and it is elsewhere that what is given up is kept
        if self.engine.state.shared() {
            self.taken = Taken::default();
            self.engine.clickthroughs.give_up();
        }
    }

    /// Makes durable what is held here while nobody else closes rankings, and lets another process go on at once.
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
            tracing::debug!(%error, "another process goes on later");
        }
    }

    async fn work(&mut self, what: What) -> Result<(), Error> {
        // also while a store lets us wait: nobody else closes, or forgets, what is under way here
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
        match &done {
            Ok(()) | Err(Error::Clickthroughs(_)) => {}
            Err(Error::LostLease { .. }) => self.make_room(holding, false).await,
            Err(_) => drop(self.hand_over()),
        }
        done
    }

    /// Somebody wants to do something that nobody may close rankings meanwhile for: what is held here becomes durable. They wait
    /// while it does not, unless this process `ends`: it would come into the store behind their back.
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
mod tests {
    use super::*;
    use rankwright_clickthrough::{Clickthrough, ClickthroughStore, Forgotten, Mark, Records, Subject};
    use rankwright_config::Config;
    use rankwright_state::{BoxFuture, Fingerprint, Key, Lease, Listed, MemoryStore, Outcome, Rows, Slot, Stats};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Whose a task is.
    #[derive(Default)]
    struct Tasks {
        inner: MemoryStore,
        /// How often somebody has asked to hold the task.
        held: AtomicUsize,
        /// The store fails every other time.
        fails: bool,
        /// Who has it, where it is none of us.
        other: Mutex<Option<String>>,
        /// How often its holder was asked to let go.
        asked: AtomicUsize,
    }

    /// Counts what it is told to do.
    #[derive(Default)]
    struct Noting {
        kept: AtomicUsize,
        given_up: AtomicUsize,
    }

    impl ClickthroughStore for Noting {
        fn append(&self, _: &[Clickthrough]) -> rankwright_clickthrough::Result<Mark> {
            Ok(Mark(0))
        }

        fn flush(&self) -> rankwright_clickthrough::Result<Mark> {
            self.kept.fetch_add(1, Ordering::SeqCst);
            Ok(Mark(0))
        }

        fn flush_due(&self) -> rankwright_clickthrough::Result<Mark> {
            Ok(Mark(0))
        }

        fn durable(&self) -> Mark {
            Mark(0)
        }

        fn read(&self) -> rankwright_clickthrough::Result<Records> {
            Ok(Records::new(std::iter::empty()))
        }

        fn give_up(&self) {
            self.given_up.fetch_add(1, Ordering::SeqCst);
        }

        fn forget(&self, _: &Subject) -> rankwright_clickthrough::Result<Forgotten> {
            Ok(Forgotten::default())
        }

        fn status(&self) -> rankwright_clickthrough::Status {
            rankwright_clickthrough::Status::default()
        }
    }

    impl Store for Tasks {
        fn slots<'a>(&'a self, wanted: &'a [Fingerprint]) -> BoxFuture<'a, Result<Vec<Slot>, StateError>> {
            self.inner.slots(wanted)
        }

        fn read<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<Rows, StateError>> {
            self.inner.read(keys)
        }

        fn acquire<'a>(&'a self, writer: &'a Writer) -> BoxFuture<'a, Result<Lease, StateError>> {
            self.asked.fetch_add(usize::from(writer.0 == TASK), Ordering::SeqCst);
            self.inner.acquire(writer)
        }

        fn commit<'a>(&'a self, lease: &'a Lease, commit: Commit) -> BoxFuture<'a, Result<Outcome, StateError>> {
            self.inner.commit(lease, commit)
        }

        fn scan(&self, space: Space) -> BoxFuture<'_, Result<Listed, StateError>> {
            self.inner.scan(space)
        }

        fn hold<'a>(&'a self, task: &'a str, _: &'a str, _: Duration) -> BoxFuture<'a, Result<bool, StateError>> {
            assert_eq!(task, TASK);
            let failed = self.fails && self.held.fetch_add(1, Ordering::SeqCst) % 2 == 1;
            let failure = || StateError::Failed { action: "hold a task", source: "it is away".into() };
            let free = self.other.lock().is_none();
            Box::pin(async move { if failed { Err(failure()) } else { Ok(free) } })
        }

        fn holder<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<String>, StateError>> {
            let other = self.other.lock().clone();
            Box::pin(async { Ok(other) })
        }

        fn expire<'a>(
            &'a self,
            now: Timestamp,
            ttl: &'a [(Slot, Duration)],
            other: Duration,
        ) -> BoxFuture<'a, Result<u64, StateError>> {
            self.inner.expire(now, ttl, other)
        }

        fn durable(&self) -> bool {
            false
        }

        fn shared(&self) -> bool {
            true
        }

        fn stats(&self) -> BoxFuture<'_, Result<Stats, StateError>> {
            self.inner.stats()
        }
    }

    #[tokio::test]
    async fn a_task_is_held_as_long_as_its_holder_works_whatever_a_store_answers_meanwhile() {
        let store = Arc::new(Tasks { fails: true, ..Tasks::default() });
        let span = Duration::from_millis(20);
        let tenure = Arc::default();
        let holding = Holding::for_spans_of(span, store.clone(), "one", &tenure).await;
        let holding = holding.expect("answers").expect("is free");
        let held = || store.held.load(Ordering::SeqCst);
        while held() < 6 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(holding);
        tokio::task::yield_now().await; // what was on its way has come by then: there is one thread
        let before = held();
        tokio::time::sleep(span).await;
        assert_eq!(held(), before, "nobody holds it any more");
    }

    /// One of us, while somebody else has the task.
    async fn beside(other: &str) -> (Closing, Arc<Tasks>) {
        let (closing, tasks, _) = with(Some(other)).await;
        (closing, tasks)
    }

    /// One of us.
    async fn with(other: Option<&str>) -> (Closing, Arc<Tasks>, Arc<Noting>) {
        let tasks = Arc::new(Tasks { other: Mutex::new(other.map(str::to_owned)), ..Tasks::default() });
        let text = "features: [{name: p, type: position, position: 1}]\nmodels: {m: {type: noop}}\n";
        let config = Config::parse(text, "test").expect("a configuration").0;
        let (mut engine, noting) =
            (Engine::over(config, tasks.clone()).await.expect("opens"), Arc::new(Noting::default()));
        engine.clickthroughs = noting.clone();
        (Closing::new(Arc::new(engine), "one"), tasks, noting)
    }

    /// What it was told to keep, and how often to give it up.
    fn told(noting: &Noting) -> (usize, bool) {
        (noting.kept.load(Ordering::SeqCst), noting.given_up.load(Ordering::SeqCst) > 0)
    }

    #[tokio::test]
    async fn what_is_held_is_given_up_when_somebody_else_has_the_task() {
        let (mut closing, tasks, noting) = with(None).await;
        closing.tick().await.expect("works");
        closing.tick().await.expect("works");
        assert_eq!(told(&noting), (0, false));
        *tasks.other.lock() = Some("another".to_owned());
        closing.tick().await.expect("leaves it to the other one");
        closing.leave().await;
        assert_eq!(told(&noting), (0, true), "the other one has it from the state");
    }

    #[tokio::test]
    async fn what_is_held_is_given_up_when_somebody_else_may_have_had_the_task_meanwhile() {
        let stands_still = |closing: &Closing| {
            let mut times = closing.tenure.0.lock();
            times.until = times.until.and_then(|until| until.checked_sub(HELD * 2));
        };
        let (mut closing, _, noting) = with(None).await;
        closing.tick().await.expect("works");
        stands_still(&closing);
        closing.tick().await.expect("works");
        assert_eq!(told(&noting), (0, true));
        let (mut closing, _, noting) = with(None).await;
        closing.tick().await.expect("works");
        stands_still(&closing);
        closing.leave().await;
        assert_eq!(told(&noting), (0, true));
    }

    /// It may see that by other means before its next question is answered.
    #[test]
    fn who_has_not_been_told_that_the_task_is_its_own_for_too_long_has_lost_it() {
        let tenure = Tenure::default();
        assert!(!tenure.take_lapse());
        let asked = Instant::now();
        tenure.goes_on(asked, HELD);
        assert!(!tenure.take_lapse());
        tenure.goes_on(asked.checked_sub(HELD * 2).expect("the machine is not that young"), HELD);
        assert!(tenure.take_lapse());
        tenure.ends();
        assert!(!tenure.take_lapse());
    }

    #[tokio::test]
    async fn what_is_held_is_durable_before_others_have_the_task() {
        let (mut closing, _, noting) = with(None).await;
        closing.tick().await.expect("works");
        closing.leave().await;
        assert_eq!(told(&noting), (1, false));
    }

    #[tokio::test]
    async fn who_does_not_let_go_of_the_task_is_asked_and_then_keeps_it() {
        let (mut closing, tasks) = beside("another").await;
        assert!(!closing.finish_within(AGAIN).await.expect("answers"), "it has the task");
        assert!(tasks.asked.load(Ordering::SeqCst) > 0);
        *tasks.other.lock() = None;
        assert!(closing.finish_within(AGAIN).await.expect("answers"));
    }

    #[tokio::test]
    async fn who_forgets_somebody_is_waited_for_and_not_disturbed() {
        let (mut closing, tasks) = beside(&format!("{FORGETS}u1")).await;
        let finished = tokio::spawn(async move { closing.finish_within(Duration::ZERO).await });
        tokio::time::sleep(AGAIN * 3).await;
        assert_eq!((finished.is_finished(), tasks.asked.load(Ordering::SeqCst)), (false, 0));
        *tasks.other.lock() = None;
        assert!(finished.await.expect("does not panic").expect("answers"));
    }
}
