use super::*;
use crate::shared::{Intake, Origin};
use rankwright_clickthrough::{Header, MemoryStore as Clickthroughs};
use rankwright_config::Config;
use rankwright_event::{Event, RankedItem, Ranking, Tenant};
use rankwright_state::{MemoryStore, Scope};

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
    let visits = ["a", "b", "c", "d", "e"].into_iter().flat_map(|id| [shown(id, 10), clicked(id, 11)]);
    let (mut closer, _, store) = closer_of(visits.chain([shown("last", 5000)]).collect(), 10, 1 << 28).await;
    closer.batch = 1;
    (closer, store)
}

/// A closer over what a partition has brought, with bounds on the number and the bytes of open rankings.
async fn closer_of(events: Vec<Event>, max_open: usize, max_open_bytes: usize) -> (Closer, Intake, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::default());
    let (config, _) = Config::parse("models: {none: {type: noop}}", "test").expect("a valid configuration");
    let plan = Arc::new(Plan::compile(&config.features, &*store).await.expect("compiles"));
    let (session_length, ranking_wait) = (Duration::from_secs(60), Duration::from_secs(10));
    let settings = Settings { session_length, ranking_wait, max_open, max_open_bytes };
    let (own, state) = (plan.clone(), store.clone());
    let mut intake = Intake::open("1", Origin::Partition, own, state, settings, WALL).await.expect("opens");
    intake.apply(&events, &[], Position("1".into()), WALL).await.expect("takes them");
    let header = Header { service: "test".into(), columns: Vec::new().into() };
    let kept = Arc::new(Clickthroughs::new(header).expect("memory"));
    let opened = Closer::open("one", &mut Taken::default(), plan, store.clone(), kept, settings).await;
    (opened.expect("opens"), intake, store)
}

async fn open(store: &MemoryStore) -> usize {
    store.scan(Space::Joins).await.expect("lists").len()
}

/// Names of what lies in a space.
async fn ids(store: &MemoryStore, space: Space) -> Vec<String> {
    let listed = store.scan(space).await.expect("lists");
    let name = |key: &Key| match &key.scope {
        Scope::Join(id) => id.to_string(),
        Scope::Waiting(id) => id.to_string(),
        other => panic!("{other:?}"),
    };
    listed.iter().map(|(key, _)| name(key)).collect()
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

#[tokio::test]
async fn of_too_many_rankings_in_memory_the_oldest_close() {
    let visits = ["a", "b", "c", "d", "e"].into_iter().zip(10..).flat_map(|(id, at)| [shown(id, at), clicked(id, at)]);
    let visits: Vec<_> = visits.collect();
    let (mut closer, _, store) = closer_of(visits.clone(), 3, 1 << 28).await;
    closer.tick(WALL).await.expect("works");
    let Counters { evicted, clickthroughs, open: left, open_bytes, .. } = closer.counters();
    assert_eq!((evicted, clickthroughs, left), (2, 2, 3));
    assert_eq!(ids(&store, Space::Joins).await, ["c", "d", "e"]);
    let bytes: usize = store.scan(Space::Joins).await.expect("lists").iter().map(|(_, of)| stored::size(of)).sum();
    assert_eq!(open_bytes, Some(bytes as u64));

    let (mut closer, _, store) = closer_of(visits.clone(), 10, bytes).await;
    closer.tick_through(WALL).await.expect("works");
    assert_eq!(ids(&store, Space::Joins).await, ["c", "d", "e"], "the same by their bytes");
    let (mut closer, _, store) = closer_of(visits, 0, 1).await;
    closer.tick(WALL).await.expect("works");
    assert_eq!(ids(&store, Space::Joins).await, ["e"], "one may be larger");
}

#[tokio::test]
async fn nothing_is_taken_in_while_what_has_closed_fills_the_memory() {
    let visits = ["a", "b", "c"].into_iter().zip(10..).flat_map(|(id, at)| [shown(id, at), clicked(id, at)]);
    let (mut closer, _, store) = closer_of(visits.collect(), 1, 1 << 28).await;
    closer.batch = 1;
    closer.outbox.limit(0, 1);
    assert!(!closer.is_held_up());
    closer.evict().await.expect("works");
    assert!(closer.is_held_up());
    assert_eq!((closer.counters().evicted, open(&store).await), (1, 2), "one was closed, and fills the room");
    closer.bring(WALL).await.expect("works");
    assert!(!closer.is_held_up(), "it is with its store");
}

#[tokio::test]
async fn of_a_ranking_that_closed_early_later_interactions_count_as_of_an_unknown_one() {
    let (mut closer, mut intake, store) =
        closer_of(vec![shown("a", 10), clicked("a", 11), shown("b", 12)], 1, 1 << 28).await;
    closer.tick(WALL).await.expect("works");
    assert_eq!((closer.counters().evicted, closer.counters().clickthroughs), (1, 1));
    let again = |id: &str| {
        let Event::Interaction(click) = clicked("a", 13) else { unreachable!("is one") };
        Event::Interaction(Interaction { id: id.into(), ..click })
    };
    intake.apply(&[again("second")], &[], Position("2".into()), WALL).await.expect("takes it");
    // as by a writer that had looked before
    let Event::Interaction(third) = again("third") else { unreachable!("is one") };
    let (slot, value) = stored::added(&third);
    let key = stored::join_key(&third.tenant, &"a".into());
    let lease = store.acquire(&Writer("other".into())).await.expect("is free");
    let writes = vec![(key, Some(Entity::one(slot, value)))];
    let (from, to) = (Position::default(), Position("1".into()));
    store.commit(&lease, Commit { from, to, writes, ..Commit::default() }).await.expect("commits");
    let later = [shown("late", 5000)];
    intake.apply(&later, &[], Position("3".into()), WALL).await.expect("takes it");
    closer.tick(WALL).await.expect("works");
    assert_eq!(closer.counters().unranked, 2, "the second, which waited in vain, and the third");
    assert_eq!((ids(&store, Space::Joins).await, ids(&store, Space::Waiting).await), (vec!["late".to_owned()], vec![]));
}

#[tokio::test]
async fn of_too_many_interactions_that_wait_in_memory_the_oldest_wait_no_longer() {
    let clicks = (0..5).map(|number| clicked(&format!("r{number}"), 10 + number));
    let (mut closer, _, store) = closer_of(clicks.collect(), 3, 1 << 28).await;
    closer.tick(WALL).await.expect("works");
    let Counters { unknown, evicted_interactions, .. } = closer.counters();
    assert_eq!((unknown, evicted_interactions, open(&store).await), (2, 2, 0));
    assert_eq!(ids(&store, Space::Waiting).await, ["click on r2", "click on r3", "click on r4"]);
}

#[test]
fn large_rankings_are_closed_some_at_a_time() {
    let sizes = [(4_000, 1), (4_000 * 2000, 2000), (100_000 * 200, 200), (BATCH_BYTES * 3, 1)];
    assert_eq!(sizes.map(|(bytes, records)| next_batch(bytes, records)), [4000, 4000, 167, 1]);
}
