//! What a durable state has of the join, and what another process makes of it.

use crate::record::{self, JoinId};
use crate::{Ingest, Settings};
use parking_lot::Mutex;
use rankwright_clickthrough::{
    Clickthrough, ClickthroughStore, Error, Forgotten, Header, Mark, MemoryStore, Records, Status, Subject,
};
use rankwright_config::Config;
use rankwright_event::{Event, Interaction, RankedItem, Ranking, Tenant, Timestamp};
use rankwright_feature::Plan;
use rankwright_state::file::FileOptions;
use rankwright_state::{
    Cell, Commit, Entity, FileStore, Key, Parts, Position, Scope, Slot, Space, Store, Stored, Writer,
};
use std::sync::Arc;
use std::time::Duration;

/// What a version before closed records had keys of their own left of a ranking whose click-through was owed.
async fn leave_sealed(store: &dyn Store, ranking: &Ranking, interaction: Interaction) {
    let mut entity = Entity::default();
    let mark = (Slot(2), Stored { at: Timestamp::default(), event: 0, cell: Cell::Counter(1) });
    let shown = record::shown_value(ranking, &[], &[]);
    for (slot, stored) in [shown, record::interactions_value(&[interaction]), mark] {
        entity.absorb_value(slot, &stored);
    }
    let lease = store.acquire(&Writer("test".into())).await.expect("is free");
    let writes = vec![(JoinId::of(ranking).key(), Some(entity))];
    let commit = Commit { from: lease.position.clone(), to: Position("1".into()), writes, ..Commit::default() };
    store.commit(&lease, commit).await.expect("commits");
}

#[tokio::test]
async fn a_record_that_an_older_version_sealed_is_owed_and_in_nobody_s_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FileStore::open(folder.path(), FileOptions::default(), "test").expect("opens");
    let store: Arc<dyn Store> = Arc::new(store);
    let (tenant, timestamp) = (Tenant::default(), Timestamp::from_millis(1000));
    let items = vec![RankedItem { id: "a".into(), fields: vec![], label: None, score: None }];
    let (id, fields) = ("r".into(), Vec::new());
    let ranking = Ranking { id, timestamp, tenant: tenant.clone(), user: None, session: None, fields, items };
    leave_sealed(&*store, &ranking, click("c", Some("r"))).await;

    let kept = Arc::new(nothing_kept());
    let mut ingest = ingest(&store, kept.clone()).await;
    let again = Ranking { timestamp: Timestamp::from_millis(2000), ..ranking };
    ingest.apply(vec![Event::Ranking(again)], Position("2".into())).await.expect("takes it in");
    assert_eq!(ingest.counters().open, 1, "is open once more");
    ingest.finish().await.expect("finishes");
    let records: Vec<_> = kept.read().expect("reads").map(|entry| entry.expect("a whole record").1).collect();
    let told: Vec<_> = records.iter().map(|record| (record.timestamp, record.interactions.len())).collect();
    assert_eq!(told, [(timestamp, 1)]);
    for space in [Space::Joins, Space::Outbox] {
        assert!(store.scan(space).await.expect("lists").is_empty(), "{space:?}");
    }
}

#[tokio::test]
async fn what_an_older_version_kept_under_long_ids_goes_on_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FileStore::open(folder.path(), FileOptions::default(), "test").expect("opens");
    let store: Arc<dyn Store> = Arc::new(store);
    let (open, awaited) = ("o".repeat(1000), "w".repeat(1000));
    let shown = |id: &str| Ranking {
        id: id.into(),
        timestamp: Timestamp::from_millis(1000),
        tenant: Tenant::default(),
        user: None,
        session: None,
        fields: Vec::new(),
        items: vec![RankedItem { id: "a".into(), fields: vec![], label: None, score: None }],
    };
    let (slot, clicked) = record::interactions_value(&[click("c1", Some(&open))]);
    let mut of_open = Entity::one(slot, clicked);
    let (slot, ranking) = record::shown_value(&shown(&open), &[], &[]);
    of_open.absorb_value(slot, &ranking);
    let (slot, early) = record::interactions_value(&[click("early", Some(&awaited))]);
    let key = |id: &str| Key::new(&Tenant::default(), Scope::Join(id.into()));
    let writes = vec![(key(&open), Some(of_open)), (key(&awaited), Some(Entity::one(slot, early)))];
    let lease = store.acquire(&Writer("test".into())).await.expect("is free");
    let commit = Commit { from: lease.position.clone(), to: Position("1".into()), writes, ..Commit::default() };
    store.commit(&lease, commit).await.expect("commits");

    let kept = Arc::new(nothing_kept());
    let mut ingest = ingest(&store, kept.clone()).await;
    let events = vec![Event::Interaction(click("c2", Some(&open))), Event::Ranking(shown(&awaited))];
    ingest.apply(events, Position("2".into())).await.expect("takes them in");
    ingest.finish().await.expect("finishes");
    let records = kept.read().expect("reads").map(|entry| entry.expect("a whole record").1);
    let mut told: Vec<_> =
        records.map(|record| (record.ranking.as_str()[..1].to_owned(), record.interactions.len())).collect();
    told.sort();
    assert_eq!(told, [("o".to_owned(), 2), ("w".to_owned(), 1)]);
    for space in [Space::Joins, Space::Outbox] {
        assert!(store.scan(space).await.expect("lists").is_empty(), "{space:?}");
    }
}

fn click(id: &str, ranking: Option<&str>) -> Interaction {
    Interaction {
        id: id.into(),
        timestamp: Timestamp::from_millis(1000),
        tenant: Tenant::default(),
        ranking: ranking.map(Into::into),
        user: Some("u".into()),
        session: None,
        kind: "click".into(),
        item: "a".into(),
        fields: Vec::new(),
    }
}

/// One that writes to this store.
async fn ingest(store: &Arc<dyn Store>, kept: Arc<dyn ClickthroughStore>) -> Ingest {
    let (config, _) = Config::parse("models: {none: {type: noop}}", "test").expect("a valid configuration");
    let plan = Arc::new(Plan::compile(&config.features, &**store).await.expect("compiles"));
    let (session_length, ranking_wait) = (Duration::from_secs(60), Duration::from_secs(10));
    let settings = Settings { session_length, ranking_wait, max_open: 10, max_open_bytes: 1 << 28 };
    Ingest::open("test", plan, store.clone(), kept, settings).await.expect("opens")
}

fn nothing_kept() -> MemoryStore {
    MemoryStore::new(Header { service: "test".into(), columns: Vec::new().into() }).expect("memory")
}

#[tokio::test]
async fn interactions_of_a_ranking_are_written_once_a_commit_and_those_beyond_what_one_keeps_wait_for_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FileStore::open(folder.path(), FileOptions::default(), "test").expect("opens");
    let store: Arc<dyn Store> = Arc::new(store);
    let mut first = ingest(&store, Arc::new(nothing_kept())).await;
    let clicks = (0..Parts::MOST + 5).map(|number| Event::Interaction(click(&number.to_string(), Some("never"))));
    first.take(clicks.collect()).await.expect("takes them in");
    let key = JoinId { tenant: Tenant::default(), ranking: "never".into() }.key();
    let (commit, _) = std::mem::take(&mut first.overlay).take(Position::default(), Position::default());
    assert!(commit.writes.iter().all(|(written, _)| *written != key), "they are not written one by one");
    assert_eq!(first.counters().unranked, 5);
    first.commit_taken(Position("1".into())).await.expect("commits");
    drop(first);
    let second = ingest(&store, Arc::new(nothing_kept())).await;
    let id = JoinId { tenant: Tenant::default(), ranking: "never".into() };
    assert_eq!(second.join.interactions(&id.borrowed()).map(<[_]>::len), Some(Parts::MOST));
}

/// Takes records. Those before its mark are durable.
struct Slowly {
    inner: MemoryStore,
    durable: Mutex<Mark>,
}

impl ClickthroughStore for Slowly {
    fn append(&self, records: &[Clickthrough]) -> Result<Mark, Error> {
        self.inner.append(records)
    }

    fn flush(&self) -> Result<Mark, Error> {
        Ok(self.durable())
    }

    fn durable(&self) -> Mark {
        *self.durable.lock()
    }

    fn read(&self) -> Result<Records, Error> {
        self.inner.read()
    }

    fn forget(&self, subject: &Subject) -> Result<Forgotten, Error> {
        self.inner.forget(subject)
    }

    fn status(&self) -> Status {
        self.inner.status()
    }
}

#[tokio::test]
async fn the_key_of_several_interactions_goes_when_the_last_of_them_is_durable() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FileStore::open(folder.path(), FileOptions::default(), "test").expect("opens");
    let store: Arc<dyn Store> = Arc::new(store);
    let interactions = ["one", "two"].map(|id| click(id, None));
    let (slot, stored) = record::interactions_value(&interactions);
    let lease = store.acquire(&Writer("test".into())).await.expect("is free");
    let writes = vec![(record::closed_key(&Tenant::default(), 1, "one"), Some(Entity::one(slot, stored)))];
    let commit = Commit { from: lease.position.clone(), to: Position("1".into()), writes, ..Commit::default() };
    store.commit(&lease, commit).await.expect("commits");

    let kept = Arc::new(Slowly { durable: Mutex::new(Mark(0)), inner: nothing_kept() });
    let mut ingest = ingest(&store, kept.clone()).await;
    ingest.outbox.limit(10, 1);
    let mut moves = 1;
    for (durable, owed) in [(0, 1), (1, 1), (2, 0)] {
        *kept.durable.lock() = Mark(durable);
        // once so that it is noticed, and until all is with the store
        loop {
            moves += 1;
            ingest.apply(Vec::new(), Position(moves.to_string())).await.expect("looks");
            if kept.inner.read().expect("reads").count() == 2 {
                break;
            }
        }
        ingest.apply(Vec::new(), Position(format!("{moves}."))).await.expect("looks");
        let left = store.scan(Space::Outbox).await.expect("lists").len();
        assert_eq!(left, owed, "with {durable} of two durable");
    }
}

/// Interactions of a ranking as another process finds them.
async fn found(store: &Arc<dyn Store>, ranking: &str) -> Vec<String> {
    let ingest = ingest(store, Arc::new(nothing_kept())).await;
    let id = JoinId { tenant: Tenant::default(), ranking: ranking.into() };
    let interactions = ingest.join.interactions(&id.borrowed()).unwrap_or_default();
    interactions.iter().map(|interaction| interaction.id.to_string()).collect()
}

#[tokio::test]
async fn an_interaction_that_waited_twice_takes_no_other_ones_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FileStore::open(folder.path(), FileOptions::default(), "test").expect("opens");
    let store: Arc<dyn Store> = Arc::new(store);
    let mut first = ingest(&store, Arc::new(nothing_kept())).await;
    let items = vec![RankedItem { id: "a".into(), fields: vec![], label: None, score: None }];
    let (id, timestamp, fields) = ("r".into(), Timestamp::from_millis(1000), Vec::new());
    let ranking = Ranking { id, timestamp, tenant: Tenant::default(), user: None, session: None, fields, items };
    let twice = || Event::Interaction(click("twice", Some("r")));
    for (place, event) in [twice(), twice(), Event::Ranking(ranking), twice()].into_iter().enumerate() {
        first.apply(vec![event], Position(format!("{place}."))).await.expect("takes it in");
    }
    let other = Event::Interaction(click("other", Some("r")));
    first.apply(vec![other], Position("5".into())).await.expect("takes it in");
    drop(first);
    assert_eq!(found(&store, "r").await, ["twice", "other"]);
}

#[tokio::test]
async fn impressions_that_wait_take_no_room_from_clicks() {
    let store: Arc<dyn Store> = Arc::new(rankwright_state::MemoryStore::default());
    let mut ingest = ingest(&store, Arc::new(nothing_kept())).await;
    let seen = |number: usize| Interaction { kind: "impression".into(), ..click(&format!("seen {number}"), Some("r")) };
    let clicked = || Event::Interaction(click("clicked", Some("r")));
    let events = (0..Parts::MOST).map(|number| Event::Interaction(seen(number))).chain([clicked(), clicked()]);
    ingest.apply(events.collect(), Position("1".into())).await.expect("takes them in");
    let id = JoinId { tenant: Tenant::default(), ranking: "r".into() };
    let waiting = ingest.join.interactions(&id.borrowed()).map(<[_]>::len);
    assert_eq!((waiting, ingest.counters().unranked), (Some(Parts::MOST + 1), 0));
}
