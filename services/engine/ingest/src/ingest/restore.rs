//! What an earlier process left in a durable state.

use super::Ingest;
use crate::error::Error;
use crate::record::{self, Closed, JoinId, Open, Restored};
use rankwright_clickthrough::Clickthrough;
use rankwright_event::Timestamp;
use rankwright_state::{Entity, Key, Scope, Space};
use std::sync::Arc;

impl Ingest {
    /// Takes up the open rankings, the waiting interactions and the click-throughs of an earlier process.
    pub(super) async fn restore(&mut self) -> Result<(), Error> {
        for (key, entity) in self.store.scan(Space::Outbox).await? {
            self.restore_closed(key, &entity)?;
        }
        let mut outcome = Ok(());
        let store = self.store.clone();
        let mut join = |key: Key, entity: Arc<Entity>| {
            if outcome.is_ok() {
                outcome = self.restore_join(key, &entity);
            }
        };
        store.each(Space::Joins, &mut join).await?;
        outcome
    }

    fn restore_closed(&mut self, key: Key, entity: &Entity) -> Result<(), Error> {
        let last = record::closed_number(&key);
        self.next_closed = self.next_closed.max(last.map_or(0, |last| last.saturating_add(1)));
        let Restored { shown, interactions, .. } = restored(&key, entity)?;
        let newest = interactions.iter().map(|interaction| interaction.timestamp);
        self.watermark =
            newest.chain(shown.iter().map(|shown| shown.ranking.timestamp)).fold(self.watermark, Timestamp::max);
        match shown {
            Some(shown) => {
                let open = Open::restored(shown, interactions, &self.plan);
                self.outbox.push(Some(key), Closed::Ranking(open));
            }
            None => {
                // the key goes with the last of them: it is not forgotten before all are durable
                let mut records = interactions.iter().map(Clickthrough::of_interaction).peekable();
                while let Some(record) = records.next() {
                    let key = records.peek().is_none().then(|| key.clone());
                    self.outbox.push(key, Closed::Written(record));
                }
            }
        }
        Ok(())
    }

    fn restore_join(&mut self, key: Key, entity: &Entity) -> Result<(), Error> {
        let record = restored(&key, entity)?;
        let Scope::Join(ranking) = &key.scope else { return Ok(()) };
        let id = JoinId { tenant: key.tenant.clone(), ranking: ranking.clone() };
        let Some(shown) = record.shown else {
            for interaction in record.interactions {
                self.join.wait(id.clone(), interaction);
            }
            return Ok(());
        };
        let open = Open::restored(shown, record.interactions, &self.plan);
        self.watermark = self.watermark.max(open.ranking.timestamp);
        if record.sealed {
            self.overlay.remove(&key);
            self.owe(open);
        } else {
            self.join.open(open);
        }
        Ok(())
    }
}

fn restored(key: &Key, entity: &Entity) -> Result<Restored, Error> {
    let ranking = || match &key.scope {
        Scope::Join(ranking) | Scope::Outbox(ranking) => ranking.to_string(),
        other => format!("{other:?}"),
    };
    record::restore(entity).map_err(|reason| Error::Damaged { ranking: ranking(), reason })
}

#[cfg(test)]
mod tests {
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
    use rankwright_state::{Cell, Commit, Entity, FileStore, Parts, Position, Slot, Space, Store, Stored, Writer};
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
        assert_eq!(first.overlay.look_up(std::slice::from_ref(&key)).1, [0], "nothing is written yet");
        assert_eq!(first.counters().unranked, 5);
        first.commit_taken(Position("1".into())).await.expect("commits");
        drop(first);
        let second = ingest(&store, Arc::new(nothing_kept())).await;
        let id = JoinId { tenant: Tenant::default(), ranking: "never".into() };
        assert_eq!(second.join.interactions(&id.borrowed()).map(<[_]>::len), Some(Parts::MOST));
    }

    /// Takes records, of which the first so many are durable.
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
}
