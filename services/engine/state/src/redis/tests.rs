//! The store against real servers: one, one that sentinels name, and a cluster.

mod cluster;
mod failover;
mod generation;
mod own;
mod usage;

use super::*;
use crate::contract::{item, put, state_store_contract, stored};
use crate::{Cell, Entity, FieldValue, Position, Scope};
use rankwright_redis::redis::{FromRedisValue, cmd};
use rankwright_redis::{Link, testing};

const MANY_THREADS: usize = 3;

/// A service of its own for each test: they share a server.
fn service() -> String {
    format!("test-{:016x}", fastrand::u64(..))
}

fn small() -> RedisOptions {
    RedisOptions { retention: Duration::from_secs(120), ..RedisOptions::default() }
}

async fn open(settings: &Settings, service: &str) -> RedisStore {
    RedisStore::open(settings.clone(), small(), service).await.expect("opens")
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(MANY_THREADS).enable_all().build().expect("starts a runtime")
}

/// Runs a test against each kind of servers that there is.
fn with_server<F: Future<Output = ()>>(test: impl Fn(Settings) -> F) {
    for settings in [testing::server(), testing::older(), testing::cluster(), testing::sentinel()].into_iter().flatten()
    {
        runtime().block_on(test(settings));
    }
}

/// The second word is the key.
async fn ask<T: FromRedisValue + Send>(settings: &Settings, words: &[&[u8]]) -> T {
    let link = Link::new(settings.clone(), None).expect("needs no certificates");
    let answer = link.send(words[1], |mut connection| {
        let mut command = cmd(std::str::from_utf8(words[0]).expect("a command is text"));
        words[1..].iter().for_each(|word| {
            command.arg(*word);
        });
        async move { command.query_async(&mut connection).await }
    });
    answer.await.expect("answers")
}

fn counter(count: u64) -> Option<Entity> {
    Some(Entity::one(Slot(0), stored(1, Cell::Counter(count))))
}

async fn count(store: &RedisStore, key: &Key) -> Option<u64> {
    let row = store.read(std::slice::from_ref(key)).await.expect("reads").pop().flatten();
    row.and_then(|entity| entity.counter(Slot(0), Timestamp::from_millis(0), Duration::from_secs(1)))
}

#[test]
fn the_redis_store_keeps_the_contract_with_every_way_of_caching() {
    let ways = [
        small(),
        RedisOptions { tracking: false, ..small() },
        RedisOptions { cache_entries: 0, format: Format::Json, ..small() },
    ];
    for options in ways {
        with_server(|settings| async move {
            let fresh = || {
                let opened = async { RedisStore::open(settings.clone(), options, &service()).await };
                tokio::task::block_in_place(|| Handle::current().block_on(opened)).expect("opens")
            };
            state_store_contract(fresh).await;
        });
    }
}

#[test]
fn writers_of_two_processes_lose_nothing_of_each_other() {
    with_server(|settings| async move {
        let service = service();
        let commits = 100;
        let work = |writer: &'static str| {
            let (settings, service) = (settings.clone(), service.clone());
            tokio::spawn(async move {
                let store = open(&settings, &service).await;
                let mut lease = store.acquire(&Writer(writer.into())).await.expect("acquires");
                for number in 0..commits {
                    let writes = vec![(item("shared"), counter(1)), (item(writer), counter(1))];
                    let to = Position(number.to_string());
                    let commit = Commit { from: lease.position.clone(), to: to.clone(), writes, ..Commit::default() };
                    assert_eq!(store.commit(&lease, commit).await.expect("commits"), Outcome::Applied);
                    lease.position = to;
                }
            })
        };
        for work in [work("one"), work("two"), work("three")] {
            work.await.expect("ends well");
        }
        let store = open(&settings, &service).await;
        assert_eq!(count(&store, &item("shared")).await, Some(3 * commits));
        assert_eq!(count(&store, &item("two")).await, Some(commits));
    });
}

/// Keys that were not asked for yet, on each server. News takes its time; it is here before the answer to a question that its
/// server is asked after it.
fn unknown(number: u64) -> Vec<Key> {
    (0..64).map(|other| item(&format!("new {number} {other}"))).collect()
}

#[test]
fn keys_that_the_cache_knew_are_counted() {
    with_server(|settings| async move {
        let store = open(&settings, &service()).await;
        let used = || store.cache_use().expect("has a cache");
        assert_eq!(used(), CacheUse::default());
        store.read(&[item("a"), item("b")]).await.expect("reads");
        assert_eq!(used(), CacheUse { hits: 0, misses: 2 });
        let joins = Key::new(&Default::default(), crate::Scope::Join("r".into()));
        store.read(&[joins]).await.expect("reads");
        assert_eq!(used(), CacheUse { hits: 0, misses: 2 }, "what is not kept does not count");
        let none = RedisOptions { cache_entries: 0, ..small() };
        let store = RedisStore::open(settings, none, &service()).await.expect("opens");
        for _ in 0..2 {
            store.read(&[item("a")]).await.expect("reads");
        }
        assert_eq!(store.cache_use(), Some(CacheUse { hits: 0, misses: 2 }));
    });
}

#[test]
fn what_another_process_writes_is_seen_here_though_it_was_cached() {
    with_server(|settings| async move {
        let service = service();
        let (here, there) = (open(&settings, &service).await, open(&settings, &service).await);
        for number in 1..20 {
            put(&there, vec![(item("a"), counter(1))]).await;
            here.read(&unknown(number)).await.expect("answers");
            assert_eq!(count(&here, &item("a")).await, Some(number));
            put(&here, vec![(item("b"), counter(1))]).await;
            assert_eq!(count(&here, &item("b")).await, Some(2 * number - 1));
            put(&there, vec![(item("b"), counter(1))]).await;
            here.read(&unknown(100 + number)).await.expect("answers");
            assert_eq!(count(&here, &item("b")).await, Some(2 * number));
        }
    });
}

#[test]
fn without_news_what_is_cached_is_read_again_after_its_time() {
    with_server(|settings| async move {
        let service = service();
        let there = open(&settings, &service).await;
        put(&there, vec![(item("a"), counter(1))]).await;
        let reader = |ttl| {
            let options = RedisOptions { tracking: false, cache_ttl: ttl, ..small() };
            RedisStore::open(settings.clone(), options, &service)
        };
        let (long, short) = (Duration::from_secs(3600), Duration::from_millis(50));
        let [none, long, short] = [reader(None).await, reader(Some(long)).await, reader(Some(short)).await];
        let [none, long, short] = [none, long, short].map(|store| store.expect("opens"));
        for store in [&none, &long, &short] {
            assert_eq!(count(store, &item("a")).await, Some(1));
        }
        put(&there, vec![(item("a"), counter(1))]).await;
        assert_eq!(count(&long, &item("a")).await, Some(1), "nobody has told");
        assert_eq!(count(&none, &item("a")).await, Some(2), "nothing is kept without a time");
        while count(&short, &item("a")).await != Some(2) {}
        put(&long, vec![(item("a"), counter(1))]).await;
        assert_eq!(count(&long, &item("a")).await, Some(3), "what it writes itself, it knows");
    });
}

#[test]
fn a_batch_that_is_sent_again_has_no_second_effect() {
    let Some(settings) = testing::server() else { return };
    runtime().block_on(async move {
        let service = service();
        let store = open(&settings, &service).await;
        let lease = store.acquire(&Writer("w".into())).await.expect("acquires");
        let writes = vec![(item("a"), counter(1))];
        assert!(store.current().sends_twice(&lease, ("", "1"), writes).await, "the second answer is that of the first");
        assert_eq!(count(&open(&settings, &service).await, &item("a")).await, Some(1));
    });
}

#[test]
fn a_task_is_held_by_one_until_it_is_over() {
    with_server(|settings| async move {
        let store = open(&settings, &service()).await;
        let hour = Duration::from_secs(3600);
        assert!(store.hold("close", "one", hour).await.expect("answers"));
        assert!(!store.hold("close", "two", hour).await.expect("answers"));
        assert!(store.hold("other", "two", hour).await.expect("answers"));
        assert!(store.hold("close", "one", Duration::from_millis(1)).await.expect("answers"), "its own again");
        while !store.hold("close", "two", hour).await.expect("answers") {}
    });
}

#[test]
fn events_that_were_seen_are_forgotten_in_time() {
    with_server(|settings| async move {
        let service = service();
        let options = RedisOptions { seen: Duration::from_secs(60), ..small() };
        let store = RedisStore::open(settings.clone(), options, &service).await.expect("opens");
        let seen = |id: &str| Key::new(&Default::default(), crate::Scope::Seen(id.into()));
        let note = |id: &str, seconds: i64| (seen(id), Some(Entity::one(Slot(0), stored(seconds, Cell::Counter(1)))));
        put(&store, vec![note("old", 10), note("new", 50)]).await;
        let left: i64 = ask(&settings, &[b"PTTL", &store.current().names.entity(&seen("new"))]).await;
        assert!((1..=60_000).contains(&left), "{left}");
        put(&store, vec![note("newest", 100)]).await;
        let listed = store.scan(Space::Seen).await.expect("lists");
        assert_eq!(listed.into_iter().map(|(key, _)| key).collect::<Vec<_>>(), [seen("new"), seen("newest")]);
    });
}

#[test]
fn every_key_of_a_value_has_a_time_to_live() {
    with_server(|settings| async move {
        let store = open(&settings, &service()).await;
        put(&store, vec![(item("a"), counter(1))]).await;
        let name = store.current().names.entity(&item("a"));
        let left: i64 = ask(&settings, &[b"PTTL", &name]).await;
        assert!((1..=120_000).contains(&left), "{left}");
    });
}

#[test]
fn damage_is_named_by_its_key() {
    with_server(|settings| async move {
        let store = open(&settings, &service()).await;
        let name = store.current().names.entity(&item("p1"));
        let () = ask(&settings, &[b"SET", &name, b"AAAAAAAA\x07rubbish"]).await;
        let error = store.read(&[item("p1")]).await.expect_err("is damaged").to_string();
        assert_eq!(error, r#"damaged value under item "p1" of tenant "default" in the state store: unknown version 7"#);
    });
}

#[test]
fn a_state_of_a_newer_version_is_refused() {
    with_server(|settings| async move {
        let service = service();
        open(&settings, &service).await;
        let () = ask(&settings, &[b"HSET", format!("rw:{service}:meta").as_bytes(), b"format", b"3"]).await;
        let opened = RedisStore::open(settings, small(), &service).await;
        assert!(matches!(opened, Err(Error::Newer { found: 3, known: 2, .. })));
    });
}

#[test]
fn a_state_that_an_earlier_version_has_begun_keeps_its_values() {
    with_server(|settings| async move {
        for (format, first_bytes) in [("1", [1u8, 2]), ("2", [3, 4])] {
            let service = service();
            open(&settings, &service).await;
            let () =
                ask(&settings, &[b"HSET", format!("rw:{service}:meta").as_bytes(), b"format", format.as_bytes()]).await;
            let store = open(&settings, &service).await;
            let join = Key::new(&Default::default(), crate::Scope::Join("r".into()));
            let large = Cell::Blob([7; 5000].as_slice().into());
            let writes = [(item("p1"), Cell::Counter(1)), (join, large)];
            let entity = |cell: &Cell| Some(Entity::one(Slot(0), stored(1, cell.clone())));
            put(&store, writes.iter().map(|(key, cell)| (key.clone(), entity(cell))).collect()).await;
            for ((key, _), first) in writes.iter().zip(first_bytes) {
                let value: Vec<u8> = ask(&settings, &[b"GET", &store.current().names.entity(key)]).await;
                assert_eq!(value[8], first, "{key} in a state of format {format}");
            }
        }
    });
}

#[test]
fn services_share_nothing_but_the_server() {
    with_server(|settings| async move {
        let (one, two) = (open(&settings, &service()).await, open(&settings, &service()).await);
        let text = Cell::Field(FieldValue::Text("x".into()));
        put(&one, vec![(item("a"), Some(Entity::one(Slot(0), stored(1, text))))]).await;
        assert_eq!(two.read(&[item("a")]).await.expect("reads"), [None]);
        assert!(two.scan(Space::Values).await.expect("lists").is_empty());
    });
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("finds a port");
    let port = listener.local_addr().expect("has an address").port();
    drop(listener);
    let opened = runtime().block_on(RedisStore::open(Settings::new("127.0.0.1", port), small(), "shop"));
    let error = opened.err().expect("nobody is there");
    assert_eq!(error.to_string(), format!("failed to open the state store at 127.0.0.1:{port}/0"));
    let cause = std::error::Error::source(&error).expect("has a cause").to_string();
    assert!(cause.contains("no connection"), "{cause}");
}

/// The one behind rests on what the one before is to leave, whatever becomes of it.
#[test]
fn commits_of_one_process_that_come_at_once_lose_nothing_of_each_other() {
    with_server(|settings| async move {
        let service = service();
        let store = Arc::new(open(&settings, &service).await);
        let elsewhere = open(&settings, &service).await;
        let keys: Vec<Key> = (0..300).map(|number| item(&format!("shared {number}"))).collect();
        let writer = |name: String| {
            let (store, keys) = (store.clone(), keys.clone());
            tokio::spawn(async move {
                let mut lease = store.acquire(&Writer(name.clone())).await.expect("acquires");
                for number in 0..40 {
                    let mut writes: Vec<_> = keys.iter().map(|key| (key.clone(), counter(1))).collect();
                    writes.push((item(&name), counter(1)));
                    let to = Position(number.to_string());
                    let from = match number % 4 {
                        3 => Position("elsewhere".into()), // this one is refused
                        _ => lease.position.clone(),
                    };
                    let refused = from != lease.position;
                    let outcome =
                        store.commit(&lease, Commit { from, to: to.clone(), writes, ..Commit::default() }).await;
                    if refused {
                        assert_eq!(outcome.expect("answers"), Outcome::LostLease);
                    } else {
                        assert_eq!(outcome.expect("answers"), Outcome::Applied);
                        lease.position = to;
                    }
                }
            })
        };
        let work: Vec<_> = (0..4).map(|number| writer(format!("writer {number}"))).collect();
        let mut lease = elsewhere.acquire(&Writer("elsewhere".into())).await.expect("acquires");
        for number in 0..30 {
            let writes = keys.iter().skip(number % 7).map(|key| (key.clone(), counter(1))).collect();
            let to = Position(number.to_string());
            let commit = Commit { from: lease.position.clone(), to: to.clone(), writes, ..Commit::default() };
            assert_eq!(elsewhere.commit(&lease, commit).await.expect("commits"), Outcome::Applied);
            lease.position = to;
        }
        for work in work {
            work.await.expect("ends well");
        }
        let after = open(&settings, &service).await;
        for (number, key) in keys.iter().enumerate() {
            let others = (0..30).filter(|turn| turn % 7 <= number).count() as u64;
            assert_eq!(count(&after, key).await, Some(4 * 30 + others), "{key}");
        }
        assert_eq!(count(&after, &item("writer 3")).await, Some(30));
        assert!(store.current().line.is_empty(), "nothing is left of those that are over");
    });
}

/// A commit behind one that was refused learns what came of that.
#[test]
fn one_write_of_another_process_refuses_few_of_those_that_stand_in_line() {
    with_server(|settings| async move {
        let service = service();
        let (store, elsewhere) = (Arc::new(open(&settings, &service).await), open(&settings, &service).await);
        if store.is_cluster() {
            return;
        }
        let shared: Vec<Key> = (0..2000).map(|number| item(&format!("shared {number}"))).collect();
        let commits = 60;
        let work = |writer: &'static str| {
            let (store, shared) = (store.clone(), shared.clone());
            tokio::spawn(async move {
                let mut lease = store.acquire(&Writer(writer.into())).await.expect("acquires");
                for number in 0..commits {
                    let writes = shared.iter().map(|key| (key.clone(), counter(1))).collect();
                    let to = Position(number.to_string());
                    let commit = Commit { from: lease.position.clone(), to: to.clone(), writes, ..Commit::default() };
                    assert_eq!(store.commit(&lease, commit).await.expect("commits"), Outcome::Applied);
                    lease.position = to;
                }
            })
        };
        let work = ["one", "two", "three"].map(work);
        let mut lease = elsewhere.acquire(&Writer("elsewhere".into())).await.expect("acquires");
        let writes = 3;
        for number in 0..writes {
            let commit = Commit {
                from: lease.position.clone(),
                to: Position(number.to_string()),
                writes: vec![(shared[0].clone(), counter(1))],
                ..Commit::default()
            };
            let to = commit.to.clone();
            assert_eq!(elsewhere.commit(&lease, commit).await.expect("commits"), Outcome::Applied);
            lease.position = to;
        }
        for work in work {
            work.await.expect("ends well");
        }
        let refused = store.current().line.refused();
        assert!(refused <= 3 * writes, "{refused} of {} were refused", 3 * commits);
        assert_eq!(count(&elsewhere, &shared[0]).await, Some(3 * commits + writes));
    });
}

#[test]
fn what_has_to_be_new_does_not_rest_on_a_batch_that_comes_to_nothing() {
    with_server(|settings| async move {
        let service = service();
        let (store, other) = (open(&settings, &service).await, open(&settings, &service).await);
        if store.is_cluster() {
            return;
        }
        let (shared, new) = (store.current(), [item("new")]);
        let end = shared.line.end().await;
        let none = shared.changes(vec![(item("new"), counter(5))], change::Told::default()).await.expect("reads");
        let mut before = end.join(&none);
        let end = shared.line.end().await;
        let told = change::Told { absent: &new, ..change::Told::default() };
        let mut changes = shared.changes(vec![(item("new"), counter(1))], told).await.expect("reads");
        let mut behind = end.join(&changes);
        before.renew(none.iter()); // it was refused, and is given up
        drop(before);
        behind.is_next(&mut changes).await;
        shared.encode(&mut changes).expect("encodes");
        let lease = store.acquire(&Writer("behind".into())).await.expect("acquires");
        let moves = [crate::Move { from: lease.position.clone(), to: Position("1".to_owned()), lease }];
        let verdict = shared.try_commit(&moves, layout::Stamp::random(), &changes, 0).await.expect("answers");
        assert!(matches!(verdict, commit::Verdict::Applied { .. }));
        assert_eq!(count(&other, &item("new")).await, Some(1));
    });
}

#[test]
fn a_batch_that_frees_more_than_it_writes_takes_place_in_a_server_that_is_full() {
    let server = own::Server::alone();
    runtime().block_on(async {
        let store = open(&server.settings(), &service()).await;
        let mut lease = store.acquire(&Writer("full".into())).await.expect("acquires");
        let mut commit = async |to: &str, writes| {
            let to = Position(to.to_owned());
            let commit = Commit { from: lease.position.clone(), to: to.clone(), writes, ..Commit::default() };
            let outcome = store.commit(&lease, commit).await;
            lease.position = to;
            outcome
        };
        let owed =
            |number: usize| Key::new(&rankwright_event::Tenant::default(), Scope::Outbox(number.to_string().into()));
        let bytes: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(100_000).collect();
        let large = Entity::one(Slot(0), stored(1, Cell::Blob(bytes.as_slice().into())));
        let all = (0..20).map(|number| (owed(number), Some(large.clone()))).collect();
        assert_eq!(commit("1", all).await.expect("there is room"), Outcome::Applied);
        let _: String = ask(&server.settings(), &[b"CONFIG", b"SET", b"maxmemory", b"1mb"]).await;
        let freed = (0..10).map(|number| (owed(number), None));
        let writes = std::iter::once((item("written"), counter(1))).chain(freed).collect();
        assert_eq!(commit("2", writes).await.expect("there is room by then"), Outcome::Applied);
        assert_eq!(count(&store, &item("written")).await, Some(1));
        commit("3", vec![(item("more"), counter(1))]).await.expect_err("it is full, as before");
    });
}

#[test]
fn a_batch_that_was_refused_again_and_again_is_let_pass() {
    with_server(|settings| async move {
        let service = service();
        let (one, other) = (open(&settings, &service).await, open(&settings, &service).await);
        if one.is_cluster() {
            return;
        }
        let lease = one.acquire(&Writer("slow".into())).await.expect("acquires");
        let mut quick = other.acquire(&Writer("quick".into())).await.expect("acquires");
        let writes = || vec![(item("shared"), counter(1))];
        let mut commit = async |to: &str| {
            let to = Position(to.to_owned());
            let commit = Commit { from: quick.position.clone(), to: to.clone(), writes: writes(), ..Commit::default() };
            assert_eq!(other.commit(&quick, commit).await.expect("commits"), Outcome::Applied);
            quick.position = to;
        };
        let shared = one.current();
        let mut changes = shared.changes(writes(), change::Told::default()).await.expect("reads");
        shared.encode(&mut changes).expect("encodes");
        let (stamp, to) = (layout::Stamp::random(), Position("1".to_owned()));
        let moves = [crate::Move { lease: lease.clone(), from: lease.position.clone(), to }];
        let noted = async || {
            let name = shared.names.waits();
            let asked = shared.link.send(&name, |mut connection| {
                let mut asked = cmd("EXISTS");
                asked.arg(&name);
                async move { asked.query_async::<bool>(&mut connection).await }
            });
            asked.await.expect("answers")
        };
        let belongs = shared.names.belongs(shared.names.waits().as_bytes());
        assert_eq!(belongs, Some(layout::Belongs::To(crate::Purpose::Rest)));
        commit("1").await;
        let mut send = async |refused| match shared.try_commit(&moves, stamp, &changes, refused).await.expect("answers")
        {
            commit::Verdict::Moved(moved) => {
                Shared::take_up(&mut changes, moved).expect("decodes");
                shared.encode(&mut changes).expect("encodes");
                None
            }
            commit::Verdict::Applied { others_wait } => Some(others_wait),
            _ => panic!("it has its lease"),
        };
        assert_eq!(send(1).await, None);
        assert!(!noted().await, "that happens to everybody");
        commit("2").await;
        assert_eq!(send(2).await, None);
        assert!(noted().await);
        commit("3").await; // it is not kept waiting for good
        assert_eq!(send(3).await, None);
        assert_eq!(send(4).await, Some(false));
        assert!(!noted().await, "nobody waits any more");
        assert_eq!(count(&other, &item("shared")).await, Some(4));
        let name = shared.names.waits();
        let noting = shared.link.send(&name, |mut connection| {
            let mut note = cmd("SET");
            note.arg(&name).arg("somebody who does not come");
            async move { note.query_async::<()>(&mut connection).await }
        });
        noting.await.expect("is noted");
        let begun = std::time::Instant::now();
        commit("4").await;
        assert!(begun.elapsed() >= Duration::from_millis(200), "others are let pass first");
    });
}
