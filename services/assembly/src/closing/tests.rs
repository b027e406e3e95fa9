use super::*;
use parking_lot::Mutex;
use rankwright_clickthrough::{Clickthrough, ClickthroughStore, Forgotten, Mark, Records, Subject};
use rankwright_config::Config;
use rankwright_state::{
    BoxFuture, Error as StateError, Fingerprint, Key, Lease, Listed, MemoryStore, Outcome, Rows, Slot, Stats, Store,
};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whose a task is.
#[derive(Default)]
struct Tasks {
    inner: MemoryStore,
    /// How often a process has asked to hold the task.
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

/// One of us, while another process has the task.
async fn beside(other: &str) -> (Closing, Arc<Tasks>) {
    let (closing, tasks, _) = with(Some(other)).await;
    (closing, tasks)
}

/// One of us.
async fn with(other: Option<&str>) -> (Closing, Arc<Tasks>, Arc<Noting>) {
    let tasks = Arc::new(Tasks { other: Mutex::new(other.map(str::to_owned)), ..Tasks::default() });
    let text = "features: [{name: p, type: position, position: 1}]\nmodels: {m: {type: noop}}\n";
    let config = Config::parse(text, "test").expect("a configuration").0;
    let (mut engine, noting) = (Engine::over(config, tasks.clone()).await.expect("opens"), Arc::new(Noting::default()));
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
    let (mut closing, _, noting) = with(None).await;
    closing.tick().await.expect("works");
    closing.tenure.stands_still();
    closing.tick().await.expect("works");
    assert_eq!(told(&noting), (0, true));
    let (mut closing, _, noting) = with(None).await;
    closing.tick().await.expect("works");
    closing.tenure.stands_still();
    closing.leave().await;
    assert_eq!(told(&noting), (0, true));
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

#[tokio::test]
async fn who_has_brought_what_is_owed_keeps_others_from_closing_as_long_as_it_wants() {
    let (mut closing, tasks, noting) = with(None).await;
    assert!(closing.alone().await.expect("answers").is_none(), "it has brought nothing");
    assert!(closing.bring().await.expect("works"));
    let alone = closing.alone().await.expect("answers");
    assert!(alone.is_some());
    drop(alone);
    closing.tenure.stands_still();
    assert!(closing.alone().await.expect("answers").is_none(), "somebody else may have closed some since");
    assert!(closing.bring().await.expect("works"));
    *tasks.other.lock() = Some("another".to_owned());
    assert!(closing.alone().await.expect("answers").is_none());
    closing.leave().await;
    assert!(told(&noting).1, "the other one has it from the state");
}
