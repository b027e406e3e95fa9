use super::*;
use rankwright_event::Timestamp;
use rankwright_state::{Commit, Error, Fingerprint, Lease, MemoryStore, Outcome, Slot, Space, Stats, Writer};
use std::sync::atomic::AtomicUsize;

/// Answers late while it is slow, and counts what it is asked.
#[derive(Default)]
struct Slow {
    store: MemoryStore,
    slow: AtomicBool,
    /// Seconds after which slow answers come; 0 if never.
    late: AtomicUsize,
    asked: AtomicUsize,
}

impl Store for Slow {
    fn read<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Option<Arc<Entity>>>, Error>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.slow.load(Ordering::Relaxed) {
            return Box::pin(async {
                match self.late.load(Ordering::Relaxed) {
                    0 => std::future::pending().await,
                    seconds => tokio::time::sleep(Duration::from_secs(seconds as u64)).await,
                }
                self.store.read(keys).await
            });
        }
        self.store.read(keys)
    }

    fn slots<'a>(&'a self, wanted: &'a [Fingerprint]) -> BoxFuture<'a, Result<Vec<Slot>, Error>> {
        self.store.slots(wanted)
    }

    fn acquire<'a>(&'a self, writer: &'a Writer) -> BoxFuture<'a, Result<Lease, Error>> {
        self.store.acquire(writer)
    }

    fn commit<'a>(&'a self, lease: &'a Lease, commit: Commit) -> BoxFuture<'a, Result<Outcome, Error>> {
        self.store.commit(lease, commit)
    }

    fn scan(&self, space: Space) -> BoxFuture<'_, Result<Vec<(Key, Arc<Entity>)>, Error>> {
        self.store.scan(space)
    }

    fn expire<'a>(
        &'a self,
        now: Timestamp,
        ttl: &'a [(Slot, Duration)],
        other: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        self.store.expire(now, ttl, other)
    }

    fn holder<'a>(&'a self, task: &'a str) -> BoxFuture<'a, Result<Option<String>, Error>> {
        if self.slow.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        self.store.holder(task)
    }

    fn durable(&self) -> bool {
        false
    }

    fn stats(&self) -> BoxFuture<'_, Result<Stats, Error>> {
        self.store.stats()
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_costs_a_few_timeouts_and_then_nothing_until_it_answers() {
    let store = Arc::new(Slow::default());
    store.slow.store(true, Ordering::Relaxed);
    let guarded = Guarded::new(store.clone(), Duration::from_secs(1));
    let began = tokio::time::Instant::now();
    for _ in 0..PATIENCE {
        assert!(matches!(guarded.read(&[]).await, Err(Unavailable::Slow(_))));
    }
    assert_eq!(began.elapsed(), Duration::from_secs(1) * PATIENCE);
    let asked = store.asked.load(Ordering::Relaxed);
    for _ in 0..1000 {
        assert!(matches!(guarded.read(&[]).await, Err(Unavailable::Open)));
    }
    assert_eq!(began.elapsed(), Duration::from_secs(1) * PATIENCE, "nobody waits");
    assert_eq!(store.asked.load(Ordering::Relaxed), asked, "nobody asks");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!guarded.closed() && store.asked.load(Ordering::Relaxed) > asked, "it is probed");
    store.slow.store(false, Ordering::Relaxed);
    tokio::time::sleep(LONGEST_PROBE).await;
    assert!(guarded.read(&[]).await.is_ok());
}

/// As one does whose server is gone without a word: it is some time before it asks another one.
#[tokio::test(start_paused = true)]
async fn a_probe_waits_longer_than_a_request() {
    let store = Arc::new(Slow::default());
    store.slow.store(true, Ordering::Relaxed);
    let guarded = Guarded::new(store.clone(), Duration::from_secs(1));
    for _ in 0..PATIENCE {
        assert!(guarded.read(&[]).await.is_err());
    }
    store.late.store(3, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(guarded.closed(), "an answer after three seconds is one");
}

#[tokio::test(start_paused = true)]
async fn a_failure_between_successes_opens_nothing() {
    let store = Arc::new(Slow::default());
    let guarded = Guarded::new(store.clone(), Duration::from_secs(1));
    for round in 0..4 * PATIENCE {
        store.slow.store(round % PATIENCE != 0, Ordering::Relaxed);
        assert_eq!(guarded.read(&[]).await.is_ok(), round % PATIENCE == 0);
    }
    assert!(guarded.closed());
}

#[tokio::test(start_paused = true)]
async fn whether_a_store_answers_is_known_without_requests() {
    let store = Arc::new(Slow::default());
    let guarded = Guarded::new(store.clone(), Duration::from_secs(1));
    assert!(guarded.answers(Duration::from_millis(500)).await);
    store.slow.store(true, Ordering::Relaxed);
    assert!(!guarded.answers(Duration::from_millis(500)).await && guarded.closed());
}
