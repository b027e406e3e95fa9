//! Steps that are put together while others are committed.

use super::*;
use rankwright_ingest::shared::Prepared;
use rankwright_state::{
    BoxFuture, Commit, Error as StateError, Fingerprint, Key, Lease, Listed, MemoryStore, Outcome, Rows, Slot, Stats,
    Store, Writer,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Mutex;
use tokio::sync::oneshot::Receiver;

/// Puts a step together that all writers bring something to.
async fn prepare(
    pipeline: &mut Pipeline,
    writers: &mut [Intake],
    events: &[Vec<Event>],
    number: usize,
) -> Option<Prepared> {
    pipeline.prepare(&shares(writers, usize::MAX, events, number), WALL).await.expect("reads")
}

#[tokio::test]
async fn a_step_is_put_together_on_top_of_the_one_that_is_being_committed() {
    let service = Service::new().await;
    let (mut writers, mut pipeline) = ([intake(&service, "1").await], pipeline(&service));
    let first =
        [vec![item("a", 1), click("c", None, "a", 5), shown("r", &["a"], 10), click("z", "r", "not shown", 11)]];
    let first = prepare(&mut pipeline, &mut writers, &first, 1).await.expect("rests on nothing");
    pipeline.send(first);
    let second = [vec![
        click("d", "r", "a", 11),
        click("e", None, "a", 12),
        shown("q", &["a", "not shown"], 13),
        click("f", "q", "a", 14),
    ]];
    let second = prepare(&mut pipeline, &mut writers, &second, 2).await.expect("what is needed was read");
    assert!(values(&service).await.is_empty(), "the first is not there yet");
    assert_eq!(writers[0].position().0, "");
    pipeline.settle(writers.iter_mut()).await.expect("is there");
    assert_eq!(writers[0].position().0, "1");
    pipeline.send(second);
    pipeline.settle(writers.iter_mut()).await.expect("is there");
    pipeline.settle(writers.iter_mut()).await.expect("nothing is under way");
    assert_eq!(writers[0].position().0, "2");
    assert_eq!(service.state.scan(Space::Waiting).await.expect("lists").len(), 2, "those without a ranking");
    writers[0].leave().await.expect("leaves");
    closer(&service).await.finish(WALL).await.expect("works");
    let records = service.records();
    let of = |id: &str| records.iter().find(|record| record.ranking.to_string() == id).expect("is closed");
    assert_eq!((of("r").rows.values[0], of("r").interactions.len()), (1.0, 2), "it has seen one click");
    let of = &of("q").rows;
    assert_eq!([of.values[0], of.values[of.width]], [3.0, 1.0], "it has seen those of both steps");
}

/// The clicks that rankings of an item have seen, each in a step with a click on it, and ten of others behind the first step. At
/// most `most` steps are under way while one is put together.
async fn seen(most: usize) -> Vec<f32> {
    const RANKINGS: [&str; 7] = ["r0", "r1", "r2", "r3", "r4", "r5", "r6"];
    let service = Service::new().await;
    let (mut writers, mut pipeline) = ([intake(&service, "1").await], pipeline(&service));
    let mut other = intake(&service, "2").await;
    let mut under_way = 0;
    for (step, ranking) in (0_u8..).zip(RANKINGS) {
        let id = |kind: &str| format!("{kind}{step}");
        let seconds = 10 + i64::from(step);
        let events = [vec![shown(ranking, &["a"], seconds), click(&id("c"), ranking, "a", seconds)]];
        let prepared = prepare(&mut pipeline, &mut writers, &events, 1 + usize::from(step)).await;
        if under_way == most {
            pipeline.settle(writers.iter_mut()).await.expect("is there");
            under_way -= 1;
        }
        if step == 1 {
            let theirs: Vec<Event> = (0..10).map(|number| click(&format!("o{number}"), None, "a", 9)).collect();
            take(&mut other, &theirs).await;
        }
        pipeline.send(prepared.expect("rests on what is known"));
        under_way += 1;
    }
    while !pipeline.is_empty() {
        pipeline.settle(writers.iter_mut()).await.expect("is there");
    }
    writers[0].leave().await.expect("leaves");
    other.leave().await.expect("leaves");
    closer(&service).await.finish(WALL).await.expect("works");
    let mut clicks: Vec<_> = service
        .records()
        .iter()
        .map(|record| (record.ranking.to_string(), record.rows.values.first().copied()))
        .collect();
    clicks.retain(|(ranking, _)| ranking.starts_with('r'));
    clicks.sort_by(|left, right| left.0.cmp(&right.0));
    clicks.into_iter().filter_map(|(_, clicks)| clicks).filter(|clicks| !clicks.is_nan()).collect()
}

#[tokio::test]
async fn what_others_write_is_seen_under_a_key_that_every_step_changes() {
    for most in [1, 2] {
        let clicks = seen(most).await;
        assert_eq!(clicks, [0.0, 1.0, 2.0, 13.0, 14.0, 15.0, 16.0], "at most {most} steps are under way");
    }
}

#[tokio::test]
async fn nothing_rests_on_a_step_that_failed() {
    let service = Service::new().await;
    let (mut writers, mut pipeline) = ([intake(&service, "1").await], pipeline(&service));
    let first = [vec![click("c", None, "a", 5)]];
    let prepared = prepare(&mut pipeline, &mut writers, &first, 1).await.expect("rests on nothing");
    let newer = intake(&service, "1").await;
    pipeline.send(prepared);
    let second = [vec![click("d", None, "a", 6)]];
    let rests_on_it = prepare(&mut pipeline, &mut writers, &second, 2).await;
    let lost = pipeline.settle(writers.iter_mut()).await;
    assert!(matches!(lost, Err(rankwright_ingest::Error::LostLease { writer }) if writer == "1"));
    assert_eq!(writers[0].position().0, "");
    drop(rests_on_it);
    let mut writers = [newer];
    let again = prepare(&mut pipeline, &mut writers, &first, 1).await.expect("rests on nothing");
    pipeline.send(again);
    pipeline.settle(writers.iter_mut()).await.expect("is there");
    assert_eq!(service.rows(&["a"], 20).await[0], 1.0);
}

/// A store in which commits stand in a line, in the order in which they are begun. It loses the answer to one of them.
#[derive(Default)]
struct Lined {
    store: MemoryStore,
    line: Mutex<()>,
    loses: AtomicBool,
}

impl Store for Lined {
    fn slots<'a>(&'a self, wanted: &'a [Fingerprint]) -> BoxFuture<'a, Result<Vec<Slot>, StateError>> {
        self.store.slots(wanted)
    }

    fn read<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<Rows, StateError>> {
        self.store.read(keys)
    }

    fn acquire<'a>(&'a self, writer: &'a Writer) -> BoxFuture<'a, Result<Lease, StateError>> {
        self.store.acquire(writer)
    }

    fn commit<'a>(&'a self, lease: &'a Lease, commit: Commit) -> BoxFuture<'a, Result<Outcome, StateError>> {
        Box::pin(async move {
            let _turn = self.line.lock().await;
            let outcome = self.store.commit(lease, commit).await;
            match self.loses.swap(false, Ordering::Relaxed) {
                true => Err(StateError::Failed { action: "commit", source: "the answer is lost".into() }),
                false => outcome,
            }
        })
    }

    fn commit_when<'a>(
        &'a self,
        lease: &'a Lease,
        commit: Commit,
        due: Receiver<()>,
    ) -> BoxFuture<'a, Result<Outcome, StateError>> {
        Box::pin(async move {
            let _turn = self.line.lock().await;
            match due.await {
                Ok(()) => self.store.commit(lease, commit).await,
                Err(_) => Ok(Outcome::LostLease),
            }
        })
    }

    fn scan(&self, space: Space) -> BoxFuture<'_, Result<Listed, StateError>> {
        self.store.scan(space)
    }

    fn expire<'a>(
        &'a self,
        now: Timestamp,
        ttl: &'a [(Slot, Duration)],
        other: Duration,
    ) -> BoxFuture<'a, Result<u64, StateError>> {
        self.store.expire(now, ttl, other)
    }

    fn durable(&self) -> bool {
        true
    }

    fn stats(&self) -> BoxFuture<'_, Result<Stats, StateError>> {
        self.store.stats()
    }
}

async fn lined() -> (Arc<Lined>, Service) {
    let store = Arc::new(Lined::default());
    let parts = |header| Arc::new(rankwright_clickthrough::MemoryStore::new(header).expect("memory")) as _;
    (store.clone(), Service::over(store, parts).await)
}

/// A runtime with one thread begins first what was spawned last.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn steps_stand_in_line_in_their_order_whichever_is_begun_first() {
    let work = async {
        let (_, service) = lined().await;
        let (mut writers, mut pipeline) = ([intake(&service, "1").await], pipeline(&service));
        let mut steps = Vec::new();
        for number in 1..=2 {
            let events = [vec![item("a", 10), item("b", 10)]];
            let step = prepare(&mut pipeline, &mut writers, &events, number).await.expect("rests on nothing");
            pipeline.send(step);
            steps.push(number);
        }
        for number in steps {
            pipeline.settle(writers.iter_mut()).await.expect("is there");
            assert_eq!(writers[0].position().0, number.to_string());
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), tokio::spawn(work)).await;
    ended.expect("nobody waits for who stands behind").expect("ends well");
}

#[tokio::test]
async fn nothing_takes_place_behind_a_step_of_which_nobody_knows() {
    let (store, service) = lined().await;
    let (mut writers, mut pipeline) = ([intake(&service, "1").await], pipeline(&service));
    let clicks = [["c"], ["d"]].map(|[id]| [vec![click(id, None, "a", 11)]]);
    store.loses.store(true, Ordering::Relaxed);
    for (number, events) in (1..).zip(&clicks) {
        let step = prepare(&mut pipeline, &mut writers, events, number).await.expect("what is needed is known");
        pipeline.send(step);
    }
    assert!(pipeline.is_full());
    let unknown = pipeline.settle(writers.iter_mut()).await;
    assert!(matches!(unknown, Err(Error::State(_))), "{unknown:?}");
    let behind = pipeline.settle(writers.iter_mut()).await;
    assert!(matches!(behind, Err(Error::LostLease { .. })), "{behind:?}");
    let mut again = intake(&service, "1").await;
    assert_eq!(again.position().0, "1", "the first took place");
    take(&mut again, &clicks[1][0]).await;
    assert_eq!(service.rows(&["a"], 20).await[0], 2.0);
}
