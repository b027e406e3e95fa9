use super::*;
use crate::gauges::Gauges;
use crate::inlet::Inlet;
use parking_lot::Mutex;
use prometheus::Registry;
use rankwright_config::Config;
use rankwright_event::json;
use rankwright_serve::Status as _;
use rankwright_source::{Batch, BoxFuture, Error as SourceError, Lag, Position as Place, Progress};
use rankwright_state::{FileOptions, FileStore, MemoryStore, Store};
use rankwright_trace::{Sampler, otlp};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

const GONE: &str = "kinesis:events/shard-1";
const THERE: &str = "kinesis:events/shard-2";
/// Steps that a stream makes at most while it waits to be asked again.
const MOST: usize = 10_000;

/// A stream with one partition; another one is gone. It ends when it was asked for its partitions `until` times.
struct Changed {
    asked: Arc<AtomicUsize>,
    until: usize,
    steps: usize,
}

impl Stream for Changed {
    fn next(&mut self) -> BoxFuture<'_, Result<Step, SourceError>> {
        Box::pin(async move {
            self.steps += 1;
            if self.asked.load(Ordering::Relaxed) >= self.until || self.steps > MOST {
                return Ok(Step::Ended);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok(Step::CaughtUp { partition: Partition::new(THERE), at: None })
        })
    }

    fn all(&mut self) -> BoxFuture<'_, Result<Vec<Partition>, SourceError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(vec![Partition::new(THERE)]) })
    }

    fn gone(&mut self, known: &[&str]) -> Vec<Partition> {
        known.iter().filter(|name| **name == GONE).map(|name| Partition::new(*name)).collect()
    }

    fn start<'a>(&'a mut self, _: &'a Partition, _: Option<Place>) -> BoxFuture<'a, Result<Place, SourceError>> {
        unreachable!("nothing is assigned")
    }

    fn note(&mut self, _: &Partition, _: &Place) {}

    fn lag(&self) -> Vec<(Partition, Lag)> {
        Vec::new()
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

/// A stream of one partition that is said to have been read to its end a minute ago, and at an unknown moment.
struct Stale(Vec<Step>);

impl Stream for Stale {
    fn next(&mut self) -> BoxFuture<'_, Result<Step, SourceError>> {
        let step = self.0.pop().unwrap_or(Step::Ended);
        Box::pin(async { Ok(step) })
    }

    fn all(&mut self) -> BoxFuture<'_, Result<Vec<Partition>, SourceError>> {
        Box::pin(async { Ok(vec![Partition::new(THERE)]) })
    }

    fn start<'a>(&'a mut self, of: &'a Partition, _: Option<Place>) -> BoxFuture<'a, Result<Place, SourceError>> {
        let position = Place::new(of.as_str(), 0);
        Box::pin(async { Ok(position) })
    }

    fn note(&mut self, _: &Partition, _: &Place) {}

    fn lag(&self) -> Vec<(Partition, Lag)> {
        Vec::new()
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

/// How far a partition has come by these steps.
async fn come(mut steps: Vec<Step>) -> Option<Timestamp> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    steps.insert(0, Step::Assigned(vec![Partition::new(THERE)]));
    steps.reverse();
    reader(&store, Box::new(Stale(steps))).await.run().await.expect("reads");
    let known = reached(&*store).await.expect("tells");
    known.into_iter().find(|known| known.writer == THERE).expect("is known").watermark
}

/// Who waited for a store hears afterwards of ends that have more behind them by now.
#[tokio::test]
async fn a_partition_comes_as_far_as_the_clock_was_when_it_was_read_to_its_end() {
    let ended = |at| Step::CaughtUp { partition: Partition::new(THERE), at };
    let ago = |seconds| std::time::Instant::now().checked_sub(Duration::from_secs(seconds));
    let minute = now().minus(Duration::from_secs(60));
    let reached = come(vec![ended(ago(60)), ended(None)]).await.expect("it has come somewhere");
    let off = reached.millis_since(minute).abs();
    assert!(off < 30_000, "{off} ms");
    assert_eq!(come(vec![ended(None)]).await, None, "nobody knows when that was");
    assert!(come(vec![ended(ago(60)), ended(ago(0))]).await > Some(minute.plus(Duration::from_secs(30))));
}

/// Those that messages are dealt out to are waited for themselves.
#[tokio::test]
async fn nobody_waits_for_an_import_behind_which_messages_are_dealt_out() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let reader = reader(&store, Box::new(Stale(Vec::new()))).await;
    let (engine, partition) = (&*reader.engine, Partition::new("pulsar:t-0"));
    let place = |at: &str| Position(at.to_owned());
    let waited_for =
        async || reached(&*store).await.expect("tells").into_iter().filter(|known| known.partition).count();
    let mut killed = Writer::open(engine, &partition, None).await.expect("opens");
    killed.begin(engine, place("7:12")).await.expect("is committed");
    assert_eq!(waited_for().await, 1, "an import");
    let [mut one, mut other] = [
        Writer::open(engine, &partition, Some("one")).await.expect("opens"),
        Writer::open(engine, &partition, Some("other")).await.expect("opens"),
    ];
    assert_eq!(one.position(), place("7:12"));
    assert!(
        matches!(one.begin(engine, place("7:12 shared")).await, Err(Error::LostLease { .. })),
        "another one is at it"
    );
    other.begin(engine, place("7:12 shared")).await.expect("is committed");
    assert_eq!(waited_for().await, 0, "what it would bring is dealt out");
    let mut again = Writer::open(engine, &partition, Some("one")).await.expect("opens");
    assert_eq!(again.position(), place("7:12 shared"));
    again.begin(engine, place("7:12 shared")).await.expect("there is nothing to do");
    expect(&*store, &["pulsar:t-0"], now()).await.expect("is noted"); // an import that goes no further than that
    assert_eq!(waited_for().await, 1);
    again.begin(engine, place("7:12 shared")).await.expect("is committed");
    assert_eq!(waited_for().await, 0, "nobody goes on with that import");
    assert!(matches!(killed.apply(&[], place("7:13")).await, Err(Error::LostLease { .. })), "it has others now");
}

/// Its last lag would be told for ever.
#[tokio::test]
async fn of_a_partition_that_has_ended_nothing_is_told_any_more() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let told = async |mut steps: Vec<Step>| {
        steps.insert(0, Step::Assigned(vec![Partition::new(THERE)]));
        steps.reverse();
        let mut reader = reader(&store, Box::new(Stale(steps))).await;
        reader.run().await.expect("reads");
        rankwright_serve::Status::status(&*reader.tally)["partitions"].as_object().expect("are listed").len()
    };
    assert_eq!(told(Vec::new()).await, 1);
    assert_eq!(told(vec![Step::Finished(Partition::new(THERE))]).await, 0);
}

/// How far a partition that is gone has come: it was read last at `seen`, and the stream was asked for partitions `until` times.
async fn left(seen: Timestamp, until: usize, unread: Duration) -> Option<Timestamp> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    expect(&*store, &[GONE], seen).await.expect("notes it");
    let mut reader = reader(&store, Box::new(Changed { asked: Arc::default(), until, steps: 0 })).await;
    reader.unread = unread;
    reader.run().await.expect("reads");
    let known = reached(&*store).await.expect("tells");
    assert!(
        known.iter().any(|known| known.writer == THERE && known.watermark.is_none()),
        "it is waited for: {known:?}"
    );
    known.into_iter().find(|known| known.writer == GONE).expect("is known").watermark
}

/// A reader of a stream into a store.
async fn reader(store: &Arc<dyn Store>, stream: Box<dyn Stream>) -> Reader {
    let text =
        "source: {type: kinesis, topic: events, offset: earliest, region: eu-west-1}\nmodels: {none: {type: noop}}";
    let (config, _) = Config::parse(text, "test").expect("a valid configuration");
    let letters = DeadLetters::open(config.source.as_ref().expect("has one")).expect("opens nothing");
    let engine = Arc::new(Engine::over(config, store.clone()).await.expect("opens"));
    let tally = Tally::registered(&Registry::new(), Duration::from_secs(60)).expect("new names");
    Reader::new(engine, "one".to_owned(), (stream, letters), Arc::new(tally), false)
}

/// A batch of a partition.
fn batch(events: &[serde_json::Value]) -> Step {
    let event = |event: &serde_json::Value| json::decode(event.to_string().as_bytes()).expect("an event");
    let (events, bad, cuts) = (events.iter().map(event).collect::<Vec<_>>(), Vec::new(), Vec::new());
    let (position, progress) = (Place::new(THERE, events.len() as u64), Progress::default());
    let batch = Batch { events, bad, before_offset: 0, position, progress, bytes: 0, cuts };
    Step::Batch { partition: Partition::new(THERE), batch }
}

/// What is logged on this thread, while the guard is there.
fn logged() -> (Arc<Mutex<Vec<u8>>>, tracing::subscriber::DefaultGuard) {
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let log = Arc::<Mutex<Vec<u8>>>::default();
    let lines = log.clone();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG);
    let subscriber = subscriber.with_writer(move || Lines(lines.clone())).finish();
    (log, tracing::subscriber::set_default(subscriber))
}

/// The status of a process that follows a stream with one ranking, a click on it and one on another, and closes what is open.
/// Also what it logged when the partition's writer came, whom the closer did not know.
async fn status_of_stream(store: Arc<dyn Store>) -> (serde_json::Value, String) {
    let at = |seconds: u64| now().minus(Duration::from_secs(seconds)).millis().to_string();
    let click = |id: &str, ranking: &str| {
        json!({"event": "interaction", "id": id, "timestamp": at(90), "ranking": ranking, "type": "click", "item": "a",
            "user": "u", "session": "u", "fields": []})
    };
    let events = [
        json!({"event": "ranking", "id": "r", "timestamp": at(100), "user": "u", "session": "u", "fields": [],
            "items": [{"id": "a"}]}),
        click("one", "r"),
        click("other", "nowhere"),
        json!({"event": "item", "id": "i", "timestamp": at(10), "item": "a", "fields": []}),
    ];
    let ended = Step::CaughtUp { partition: Partition::new(THERE), at: None };
    let steps = vec![ended, batch(&events), Step::Assigned(vec![Partition::new(THERE)])];
    let mut reader = reader(&store, Box::new(Stale(steps))).await;
    let gauges = Gauges::registered(&Registry::new()).expect("new names");
    let inlet = Inlet::open(reader.engine.clone(), true, gauges, reader.tally.clone()).await.expect("opens");
    inlet.tick().await;
    reader.run().await.expect("reads");
    let (log, _guard) = logged();
    inlet.tick().await;
    inlet.tick().await;
    let log = String::from_utf8_lossy(&log.lock()).into_owned();
    let (status, public) = (inlet.status(), inlet.without_ids());
    let mut unknown = status["unknownRankings"].clone();
    unknown.as_object_mut().expect("an object").remove("examples");
    assert_eq!(public["unknownRankings"], unknown, "ids of rankings are not for everybody");
    (status, log)
}

#[tokio::test]
async fn the_events_of_a_stream_count_in_the_status_and_clicks_of_unknown_rankings_have_their_share() {
    let (status, _) = status_of_stream(Arc::new(MemoryStore::default())).await;
    assert_eq!(status["events"], json!({"item": 1, "user": 0, "ranking": 1, "interaction": 2}));
    assert_eq!(status["unknownRankings"], json!({"interactions": 1, "share": 0.5, "examples": ["nowhere"]}));
    assert_eq!(status["openRankings"], 1);
    assert!(status["openRankingBytes"].as_u64().is_some_and(|bytes| bytes > 400), "{status}");
    assert!(status["outboxBytes"].is_u64(), "{status}");
}

#[tokio::test]
async fn a_batch_is_recorded_until_it_is_committed() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let item = |id| json!({"event": "item", "id": id, "timestamp": "1700000000000", "item": "a", "fields": []});
    let ended = Step::CaughtUp { partition: Partition::new(THERE), at: None };
    let steps = vec![ended, batch(&[item("i"), item("j")]), Step::Assigned(vec![Partition::new(THERE)])];
    let mut reader = reader(&store, Box::new(Stale(steps))).await;
    let metrics = rankwright_trace::Metrics::new().expect("valid names");
    let (tracer, mut queue) = Tracer::new(Sampler::default(), &metrics);
    reader.tracer = tracer;
    reader.run().await.expect("reads");
    let body: serde_json::Value = serde_json::from_slice(&otlp::body(&queue.take(), &[])).expect("is JSON");
    let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
    assert_eq!((&spans[0]["name"], &spans[0]["kind"], &spans[1]), (&json!("ingest"), &json!(5), &json!(null)));
    let notes = json!([
        {"key": "rankwright.partitions", "value": {"intValue": "1"}},
        {"key": "rankwright.events", "value": {"intValue": "2"}},
    ]);
    assert_eq!(spans[0]["attributes"], notes);
}

#[tokio::test]
async fn a_batch_that_is_not_committed_is_recorded_as_failed() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut reader = reader(&store, Box::new(Stale(vec![Step::Assigned(vec![Partition::new(THERE)])]))).await;
    reader.run().await.expect("reads");
    let metrics = rankwright_trace::Metrics::new().expect("valid names");
    let (tracer, mut queue) = Tracer::new(Sampler::default(), &metrics);
    reader.tracer = tracer;
    reader.alone = Some(Closing::new(reader.engine.clone(), "one".to_owned()));
    store.acquire(&StateWriter(THERE.to_owned())).await.expect("another process reads the partition");
    let item = json!({"event": "item", "id": "i", "timestamp": "1700000000000", "item": "a", "fields": []});
    let Step::Batch { partition, batch } = batch(&[item]) else { panic!("it is a batch") };
    reader.merged.push(partition.clone(), batch);
    reader.merged.caught_up(&partition);
    let error = reader.drain().await.expect_err("it is held by another reader").to_string();
    assert!(error.contains("another process reads"), "{error}");
    let body: serde_json::Value = serde_json::from_slice(&otlp::body(&queue.take(), &[])).expect("is JSON");
    let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
    assert_eq!((&spans[0]["name"], &spans[0]["status"]["message"]), (&json!("ingest"), &json!(error)));
}

#[tokio::test]
async fn what_open_rankings_take_is_not_known_where_memory_does_not_hold_them() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let store = FileStore::open(folder.path(), FileOptions::default(), "test").expect("opens");
    let (status, _) = status_of_stream(Arc::new(store)).await;
    assert_eq!((&status["openRankings"], &status["openRankingBytes"]), (&json!(1), &json!(null)));
}

/// A new writer makes the closer begin again, in one process as well.
#[tokio::test]
async fn the_only_process_is_not_told_that_there_is_another_one() {
    let (_, log) = status_of_stream(Arc::new(MemoryStore::default())).await;
    assert!(log.contains("DEBUG") && log.contains("a writer has begun: closing begins again"), "{log}");
    assert!(!log.contains("another process"), "{log}");
}

#[tokio::test]
async fn nothing_is_read_while_memory_is_full_of_what_cannot_close() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut reader = reader(&store, Box::new(Stale(Vec::new()))).await;
    reader.engine.full.store(true, Ordering::Relaxed);
    let engine = reader.engine.clone();
    let mut read = std::pin::pin!(reader.run());
    assert!(read.as_mut().now_or_never().is_none(), "it waits");
    engine.full.store(false, Ordering::Relaxed);
    read.await.expect("reads to the end");
}

#[tokio::test]
async fn nobody_waits_for_a_partition_that_the_source_no_longer_has() {
    let long_ago = now().minus(UNREAD.saturating_mul(2));
    assert_eq!(left(long_ago, 1, UNREAD).await, Some(NEVER));
}

/// The list of partitions may be older than it.
#[tokio::test]
async fn a_partition_that_was_read_a_moment_ago_is_there_until_the_source_says_so_later() {
    assert_eq!(left(now(), 1, UNREAD).await, None);
    assert_eq!(left(now(), 2, Duration::from_millis(20)).await, Some(NEVER));
}
