use super::*;
use crate::shared::{Intake, Origin};
use rankwright_clickthrough::{Header, MemoryStore as Clickthroughs};
use rankwright_config::Config;
use rankwright_event::{Event, RankedItem, Ranking, Tenant};
use rankwright_state::MemoryStore;

const WALL: Timestamp = Timestamp::from_millis(1_000_000_000);

fn shown(id: &str, seconds: i64) -> Event {
    Event::Ranking(Ranking {
        id: id.into(),
        timestamp: Timestamp::from_millis(seconds * 1000),
        tenant: Tenant::default(),
        user: Some("u".into()),
        session: None,
        fields: Vec::new(),
        items: vec![RankedItem { id: "a".into(), fields: Vec::new(), label: None, score: None }],
    })
}

fn clicked(id: &str, seconds: i64) -> Event {
    Event::Interaction(Interaction {
        id: format!("click on {id}").as_str().into(),
        timestamp: Timestamp::from_millis(seconds * 1000),
        tenant: Tenant::default(),
        ranking: Some(id.into()),
        user: Some("u".into()),
        session: None,
        kind: "click".into(),
        item: "a".into(),
        fields: Vec::new(),
    })
}

/// A closer that closes one ranking and looks then; five are over.
async fn closer() -> (Closer, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::default());
    let (config, _) = Config::parse("models: {none: {type: noop}}", "test").expect("a valid configuration");
    let plan = Arc::new(Plan::compile(&config.features, &*store).await.expect("compiles"));
    let (session_length, ranking_wait) = (Duration::from_secs(60), Duration::from_secs(10));
    let settings = Settings { session_length, ranking_wait, max_open: 10, max_open_bytes: 1 << 28 };
    let (own, state) = (plan.clone(), store.clone());
    let mut intake = Intake::open("1", Origin::Partition, own, state, settings, WALL).await.expect("opens");
    let visits = ["a", "b", "c", "d", "e"].into_iter().flat_map(|id| [shown(id, 10), clicked(id, 11)]);
    let events: Vec<_> = visits.chain([shown("last", 5000)]).collect();
    intake.apply(&events, &[], Position("1".into()), WALL).await.expect("takes them");
    let header = Header { service: "test".into(), columns: Vec::new().into() };
    let kept = Arc::new(Clickthroughs::new(header).expect("memory"));
    let opened = Closer::open("one", &mut Taken::default(), plan, store.clone(), kept, settings).await;
    let mut closer = opened.expect("opens");
    closer.batch = 1;
    (closer, store)
}

async fn open(store: &MemoryStore) -> usize {
    store.scan(Space::Joins).await.expect("lists").len()
}

#[tokio::test]
async fn what_is_due_waits_for_room_but_where_all_of_it_is_wanted() {
    let (mut closer, store) = closer().await;
    closer.outbox.limit(0, 1);
    closer.tick(WALL).await.expect("works");
    assert_eq!(open(&store).await, 5, "one was closed, and fills the room");
    closer.tick_through(WALL).await.expect("works");
    assert_eq!((open(&store).await, closer.counters().clickthroughs), (1, 5), "the last one is not over");
}

#[tokio::test]
async fn all_that_is_owed_is_brought_however_little_is_sent_at_a_time() {
    let (mut closer, store) = closer().await;
    closer.outbox.limit(1000, 1);
    closer.bring(WALL).await.expect("works");
    assert_eq!((closer.counters().clickthroughs, closer.counters().outbox), (5, 0));
    assert!(store.scan(Space::Outbox).await.expect("lists").is_empty());
}

#[tokio::test]
async fn a_batch_is_as_large_as_before_where_nothing_was_due_meanwhile() {
    let (mut closer, store) = closer().await;
    closer.tick(WALL).await.expect("works");
    assert_eq!(open(&store).await, 1);
    closer.batch = 167;
    closer.tick(WALL).await.expect("works");
    assert_eq!(closer.batch, 167);
}

#[test]
fn large_rankings_are_closed_some_at_a_time() {
    let sizes = [(4_000, 1), (4_000 * 2000, 2000), (100_000 * 200, 200), (BATCH_BYTES * 3, 1)];
    assert_eq!(sizes.map(|(bytes, records)| next_batch(bytes, records)), [4000, 4000, 167, 1]);
}
