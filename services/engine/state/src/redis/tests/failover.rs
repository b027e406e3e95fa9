//! Servers that go away while they are written to.

use super::own::{self, Server, until_async};
use super::*;
use crate::Scope;
use rankwright_event::Tenant;

const COMMITS: u64 = 150;

/// What a source's reader does: one more for each of some items, and after an error, from where the writer stands.
struct Work {
    store: RedisStore,
    done: std::sync::atomic::AtomicU64,
}

impl Work {
    fn done(&self) -> u64 {
        self.done.load(std::sync::atomic::Ordering::Acquire)
    }

    async fn run(&self) {
        while self.done() < COMMITS {
            let Err(error) = self.run_until_an_error().await else { continue };
            let source = std::error::Error::source(&error).map(ToString::to_string);
            assert!(matches!(error, Error::Failed { .. }), "{error}: {source:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn run_until_an_error(&self) -> Result<(), Error> {
        let mut lease = self.store.acquire(&Writer("w".into())).await?;
        loop {
            let position: u64 = lease.position.0.parse().unwrap_or(0);
            self.done.store(position, std::sync::atomic::Ordering::Release);
            if position == COMMITS {
                return Ok(());
            }
            let to = Position((position + 1).to_string());
            let writes = items(position).map(|key| (key, counter(1))).collect();
            let commit = Commit { from: lease.position.clone(), to: to.clone(), writes, ..Commit::default() };
            if self.store.commit(&lease, commit).await? != Outcome::Applied {
                return Ok(()); // the writer stands elsewhere
            }
            lease.position = to;
        }
    }
}

/// Twenty of a hundred items.
fn items(position: u64) -> impl Iterator<Item = Key> {
    (0..20).map(move |number| item(&((position * 7 + number * 5) % 100).to_string()))
}

async fn counts(store: &RedisStore) -> Vec<Option<u64>> {
    let mut counts = Vec::new();
    for number in 0..100 {
        counts.push(count(store, &item(&number.to_string())).await);
    }
    counts
}

/// What comes of it without faults.
fn expected() -> Vec<Option<u64>> {
    let mut counts = vec![0; 100];
    for key in (0..COMMITS).flat_map(items) {
        let crate::Scope::Item(id) = &key.scope else { panic!("{key} is an item") };
        counts[id.as_str().parse::<usize>().expect("a number")] += 1;
    }
    counts.into_iter().map(Some).collect()
}

async fn start(settings: &Settings, service: &str) -> (Arc<Work>, tokio::task::JoinHandle<()>) {
    let settings = Settings { command: Duration::from_secs(2), connect: Duration::from_secs(2), ..settings.clone() };
    let work = Arc::new(Work { store: open(&settings, service).await, done: Default::default() });
    let running = work.clone();
    (work, tokio::spawn(async move { running.run().await }))
}

async fn at(work: &Work, position: u64) {
    until_async("the work goes on", || async { work.done() >= position }).await;
}

#[test]
fn a_node_of_a_cluster_that_is_killed_and_comes_back_loses_and_doubles_nothing() {
    if testing::cluster().is_none() {
        return;
    }
    runtime().block_on(async {
        let (mut servers, settings) = own::cluster().await;
        let service = service();
        let (work, running) = start(&settings, &service).await;
        for (number, position) in [(0, 20), (1, 50), (2, 80)] {
            at(&work, position).await;
            servers[number].kill();
            servers[number].restart();
        }
        running.await.expect("comes to its end");
        assert_eq!(counts(&work.store).await, expected());
        own::formed(&servers).await;
        assert_eq!(counts(&open(&settings, &service).await).await, expected());
    });
}

#[test]
fn a_node_that_is_away_for_long_is_waited_for() {
    if testing::cluster().is_none() {
        return;
    }
    runtime().block_on(async {
        let (mut servers, settings) = own::cluster().await;
        let (work, running) = start(&settings, &service()).await;
        at(&work, 30).await;
        servers[1].kill();
        let others = |server: &Server| server.address.clone();
        let seen_down =
            Settings { command: Duration::from_millis(200), ..testing::cluster_of(vec![others(&servers[0])]) };
        let link = Link::new(seen_down, None).expect("needs no certificates");
        until_async("the cluster sees that a node is away", || async {
            let refused = link.send("foo", |mut connection| async move {
                cmd("GET").arg("foo").query_async::<Option<String>>(&mut connection).await
            });
            refused.await.is_err_and(|error| error.problem.passes())
        })
        .await;
        servers[1].restart();
        running.await.expect("comes to its end");
        assert_eq!(counts(&work.store).await, expected());
    });
}

#[test]
fn a_store_goes_on_by_itself_when_another_server_becomes_the_master() {
    if testing::sentinel().is_none() {
        return;
    }
    runtime().block_on(async {
        let (mut servers, settings) = own::watched().await;
        let service = service();
        let (work, running) = start(&settings, &service).await;
        at(&work, 40).await;
        // What the replica has not seen is lost with a master, as the documentation says; this is not about that.
        let before = work.done();
        servers[0].kill();
        at(&work, before + 20).await;
        running.await.expect("comes to its end");
        let store = open(&settings, &service).await;
        let (found, expected) = (counts(&store).await, expected());
        let lost = expected.iter().zip(&found).filter(|(expected, found)| found > expected).count();
        assert_eq!(lost, 0, "nothing counts twice: {found:?}");
        assert_eq!(found, expected, "positions and effects are one");
    });
}

#[test]
fn a_master_that_became_a_replica_is_left_for_the_new_one() {
    if testing::sentinel().is_none() {
        return;
    }
    runtime().block_on(async {
        let (servers, settings) = own::watched().await;
        let service = service();
        let store = open(&settings, &service).await;
        put(&store, vec![(item("a"), counter(1))]).await;
        own::fail_over(&servers[2], &servers[0], &servers[1]).await;
        until_async("the store writes again", || async {
            let lease = store.acquire(&Writer("other".into())).await;
            lease.is_ok()
        })
        .await;
        put(&store, vec![(item("a"), counter(1))]).await;
        assert_eq!(count(&store, &item("a")).await, Some(2));
    });
}

#[test]
fn slots_that_move_to_another_node_under_the_work_lose_and_double_nothing() {
    if testing::cluster().is_none() {
        return;
    }
    runtime().block_on(async {
        let (servers, settings) = own::cluster().await;
        let service = service();
        let (work, running) = start(&settings, &service).await;
        at(&work, 20).await;
        let mut slots: Vec<u16> = (0..100)
            .map(|number| rankwright_redis::slot_of(&work.store.current().names.entity(&item(&number.to_string()))))
            .chain([rankwright_redis::slot_of(work.store.current().names.writer(&Writer("w".into())).as_bytes())])
            .collect();
        slots.sort_unstable();
        slots.dedup();
        for (place, slot) in slots.into_iter().enumerate() {
            let from = usize::from(slot > 5460) + usize::from(slot > 10_922);
            own::move_slot(slot, &servers, from, (from + 1 + place % 2) % 3).await;
            at(&work, (20 + 2 * place as u64).min(COMMITS)).await;
        }
        running.await.expect("comes to its end");
        assert_eq!(counts(&work.store).await, expected());
        assert_eq!(counts(&open(&settings, &service).await).await, expected());
    });
}

/// Where sentinels name the server, one of a store's connections may lead to a former master for a while, as it did not break
/// with the others.
#[test]
fn what_decides_is_not_read_from_a_former_server() {
    let (Some(settings), Some(former)) = (testing::server(), testing::older()) else { return };
    runtime().block_on(async {
        let store = open(&settings, &service()).await;
        let shared = store.current();
        let split = Shared {
            link: shared.link.clone(),
            reading: Arc::new(Link::new(former, None).expect("needs no certificates")),
            names: shared.names.clone(),
            scripts: shared.scripts.clone(),
            cache: shared.cache.clone(),
            options: shared.options,
            layout: shared.layout,
            format: shared.format,
            id: None,
            lost: None,
            owner: Arc::default(),
            line: Line::default(),
            numbers: Numbers::default(),
        };
        *store.live.write() = Arc::new(split);
        let key = |scope: Scope| Key::new(&Tenant::default(), scope);
        let [seen, watermark] = [key(Scope::Seen("id".into())), key(Scope::Watermark("partition".into()))];
        let keys = [key(Scope::Join("r".into())), key(Scope::Outbox("r".into())), seen.clone(), watermark];
        let lease = store.acquire(&Writer("w".into())).await.expect("acquires");
        let writes = keys.iter().map(|key| (key.clone(), counter(1))).collect();
        let commit = Commit { to: Position("1".into()), writes, ..Commit::default() };
        assert_eq!(store.commit(&lease, commit).await.expect("commits"), Outcome::Applied);
        for space in [Space::Joins, Space::Outbox, Space::Seen, Space::Watermarks] {
            assert_eq!(store.scan(space).await.expect("lists").len(), 1, "{space:?}");
            assert_eq!(store.oldest(space, Timestamp::MAX, 9).await.expect("lists").len(), 1, "{space:?}");
        }
        assert!(store.read(&[seen]).await.expect("reads")[0].is_some(), "it is not new");
    });
}
