//! What a sample tells of a state whose keys are all known.

use super::own::Server;
use super::*;
use crate::contract::put;
use crate::{Purpose, Scope, Usage};

/// Every tenth item has a long text, every other one a counter; some rankings are open.
fn catalogue(items: usize) -> Vec<(Key, Option<Entity>)> {
    let entity = |number: usize| {
        let text = "x".repeat(if number.is_multiple_of(10) { 1_000 } else { 20 });
        let mut entity = Entity::one(Slot(0), stored(1, Cell::Field(FieldValue::Text(text.as_str().into()))));
        if number.is_multiple_of(2) {
            entity.absorb_value(Slot(1), &stored(1, Cell::Counter(1)));
        }
        entity
    };
    let join = |number: usize| Key::new(&Default::default(), Scope::Join(number.to_string().as_str().into()));
    let items = (0..items).map(|number| (item(&number.to_string()), Some(entity(number))));
    items.chain((0..300).map(|number| (join(number), Some(entity(1))))).collect()
}

/// What all keys of a service take, by the server's own word.
async fn truth(settings: &Settings, service: &str) -> (u64, u64) {
    let link = Link::new(settings.clone(), None).expect("needs no certificates");
    let pattern = &format!("rw:{service}:*");
    let asked = link.each(|mut connection| async move {
        let (mut seen, mut bytes, mut cursor) = (std::collections::HashSet::new(), 0u64, 0u64);
        loop {
            let mut page = cmd("SCAN");
            page.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(1000);
            let (next, names): (u64, Vec<Vec<u8>>) = page.query_async(&mut connection).await?;
            for name in names {
                let usage: Option<u64> = cmd("MEMORY").arg("USAGE").arg(&name).query_async(&mut connection).await?;
                if seen.insert(name) {
                    bytes += usage.unwrap_or(0) + 60; // a page may repeat what another one had
                }
            }
            if next == 0 {
                return Ok((seen.len() as u64, bytes));
            }
            cursor = next;
        }
    });
    let asked = asked.await.expect("answers");
    (asked.iter().map(|(keys, _)| keys).sum(), asked.iter().map(|(_, bytes)| bytes).sum())
}

fn within(what: &str, factor: f64, found: u64, wanted: u64) {
    let ratio = found as f64 / wanted.max(1) as f64;
    assert!((1.0 / factor..factor).contains(&ratio), "{what}: {found} of {wanted}");
}

/// Other tests write to the same servers: what they have there is told apart.
#[test]
fn a_look_at_all_keys_tells_what_the_server_says_and_a_sample_about_that() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        for some in catalogue(4_000).chunks(500) {
            put(&store, some.to_vec()).await;
        }
        let (keys, bytes) = truth(&settings, &service).await;
        let whole = store.usage(usize::MAX).await.expect("tells");
        assert!(whole.whole);
        assert_eq!(whole.keys, keys);
        within("bytes", 1.02, whole.bytes(), bytes); // of open rankings some stand for all
        let values = |usage: &Usage, slot| usage.room.get(&Purpose::Values(Slot(slot))).copied().unwrap_or_default();
        assert_eq!((values(&whole, 0).values, values(&whole, 1).values), (4_000, 2_000));
        assert_eq!(whole.room[&Purpose::Joins].values, 300);
        assert!(values(&whole, 0).bytes > 3 * values(&whole, 1).bytes, "{whole:?}");
        assert!(!whole.servers.is_empty() && whole.servers.iter().all(|memory| memory.used > 0), "{whole:?}");

        let some = store.usage(600).await.expect("tells");
        assert!(some.sampled < 600 * 8 * 3 + 500, "{some:?}");
        within("joins", 1.01, some.room[&Purpose::Joins].values, 300);
        if some.sampled > 400 {
            within("keys", 1.5, some.keys, keys);
            within("bytes", 1.6, some.bytes(), bytes);
        }
        let link = Link::new(settings, None).expect("needs no certificates");
        link.remove_all(&format!("rw:{service}:")).await.expect("removes");
    });
}

#[test]
fn a_state_that_is_not_there_is_not_made_by_looking() {
    with_server(|settings| async move {
        let service = service();
        let found = RedisStore::open_existing(settings.clone(), small(), &service).await.expect("answers");
        assert!(found.is_none());
        assert_eq!(truth(&settings, &service).await, (0, 0));
        let store = open(&settings, &service).await;
        let slots = store.slots(&[crate::Fingerprint(7), crate::Fingerprint(9)]).await.expect("gives slots");
        put(&store, vec![(item("a"), counter(1))]).await;
        let found = RedisStore::open_existing(settings.clone(), small(), &service).await.expect("answers");
        let found = found.expect("is there");
        let known = found.known_slots().await.expect("tells");
        assert_eq!(known, [(crate::Fingerprint(7), slots[0]), (crate::Fingerprint(9), slots[1])]);
        let writers = [Writer("suite".into()), Writer("nobody".into())];
        let positions = found.positions(&writers).await.expect("tells");
        assert_eq!(positions, [Some(Position("+".into())), None]);
        assert_eq!(found.live_generation(), 1);
        assert_eq!(count(&found, &item("a")).await, Some(1));
    });
}

/// A server that says of no key how large it is, as a managed one may.
#[test]
fn a_server_that_does_not_tell_sizes_has_them_estimated() {
    if testing::server().is_none() {
        return;
    }
    runtime().block_on(async {
        let server = own::Server::alone();
        let settings = server.settings();
        let store = open(&settings, "shop").await;
        put(&store, catalogue(4_000)).await;
        let told = store.usage(usize::MAX).await.expect("tells");
        let link = Link::new(settings.clone(), None).expect("needs no certificates");
        let refuse = link.each(|mut connection| async move {
            let mut user = cmd("ACL");
            user.arg("SETUSER").arg("default").arg("-memory").arg("-info");
            user.query_async::<()>(&mut connection).await
        });
        refuse.await.expect("takes the rule");
        let estimated = store.usage(usize::MAX).await.expect("tells");
        assert!(estimated.servers.is_empty());
        assert_eq!(estimated.keys, told.keys);
        let lists = [Purpose::Indexes, Purpose::Writers]; // they have no length to go by
        for (purpose, room) in told.room.iter().filter(|(purpose, _)| !lists.contains(purpose)) {
            within(&format!("{purpose:?}"), 1.25, estimated.room[purpose].bytes, room.bytes);
        }
    });
}

/// What `MEMORY USAGE` leaves out is about what we add.
#[test]
fn the_sum_of_a_state_is_what_its_server_has_more_than_before() {
    if testing::server().is_none() {
        return;
    }
    runtime().block_on(async {
        let server = own::Server::alone();
        let settings = server.settings();
        let store = open(&settings, "shop").await;
        let before = store.usage(10).await.expect("tells").servers[0].used;
        for some in catalogue(50_000).chunks(5_000) {
            put(&store, some.to_vec()).await;
        }
        let sampled = store.usage(2_000).await.expect("tells");
        assert!(!sampled.whole);
        within("keys", 1.02, sampled.keys, 50_300);
        within("bytes", 1.25, sampled.bytes(), sampled.servers[0].used - before);
    });
}

/// Names of a service's keys that the server would keep for ever.
async fn kept_for_ever(settings: &Settings, service: &str) -> Vec<String> {
    let link = Link::new(settings.clone(), None).expect("needs no certificates");
    let pattern = &format!("rw:{service}:*");
    let asked = link.each(|mut connection| async move {
        let mut page = cmd("SCAN");
        page.arg(0).arg("MATCH").arg(pattern).arg("COUNT").arg(10_000_000);
        let (_, names): (u64, Vec<Vec<u8>>) = page.query_async(&mut connection).await?;
        let mut kept = Vec::new();
        for name in names {
            if cmd("PTTL").arg(&name).query_async::<i64>(&mut connection).await? == -1 {
                kept.push(name.escape_ascii().to_string());
            }
        }
        Ok(kept)
    });
    let mut kept = asked.await.expect("answers").concat();
    kept.sort();
    kept
}

#[test]
fn all_keys_have_a_time_to_live_but_those_that_say_what_the_others_mean() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        store.slots(&[crate::Fingerprint(7)]).await.expect("gives slots");
        store.acquire(&Writer("never writes".into())).await.expect("acquires");
        store.hold("task", "somebody", Duration::from_secs(5)).await.expect("holds");
        let scopes = [
            Scope::Join("r".into()),
            Scope::Outbox("r".into()),
            Scope::Seen("e".into()),
            Scope::Waiting("e".into()),
            Scope::Watermark("w".into()),
            Scope::Global,
        ];
        for scope in scopes {
            put(&store, vec![(Key::new(&Default::default(), scope), counter(1))]).await;
        }
        let kept = ["1:slots", "meta"].map(|name| format!("rw:{service}:{name}"));
        assert_eq!(kept_for_ever(&settings, &service).await, kept);
        let filling = store.fill_next().await.expect("begins");
        let join = Key::new(&Default::default(), Scope::Join("other".into()));
        let entities = vec![(item("a"), counter(1)), (join, counter(1))].into_iter();
        let entities: Listed = entities.map(|(key, entity)| (key, Arc::new(entity.expect("is one")))).collect();
        filling.put(&entities).await.expect("fills");
        filling.stands(&Writer("w".into()), &Position("3".into())).await.expect("hands over");
        assert_eq!(kept_for_ever(&settings, &service).await, kept);
        assert!(filling.switch(false).await.expect("switches"));
        let kept = ["2:slots", "meta"].map(|name| format!("rw:{service}:{name}"));
        assert_eq!(kept_for_ever(&settings, &service).await, kept, "those of the former generation go with it");
    });
}

/// A process that is told to keep keys for a shorter time takes nothing from those of another.
#[test]
fn an_index_lives_as_long_as_any_key_in_it() {
    with_server(|settings| async move {
        let service = service();
        let longer = RedisOptions { retention: Duration::from_secs(1_000), ..small() };
        let longer = RedisStore::open(settings.clone(), longer, &service).await.expect("opens");
        let shorter = open(&settings, &service).await;
        let join = Key::new(&Default::default(), Scope::Join("r".into()));
        put(&longer, vec![(join.clone(), counter(1))]).await;
        put(&shorter, vec![(item("a"), counter(1)), (join.clone(), counter(1))]).await;
        let names = longer.current();
        let index = names.names.index(Space::Joins, names.names.shard(&join));
        let left: i64 = ask(&settings, &[b"PTTL", index.as_bytes()]).await;
        assert!((900_000..=1_000_000).contains(&left), "{left}");
    });
}

/// An answer has a time limit, and a hundred thousand interactions may wait.
#[tokio::test(flavor = "multi_thread")]
async fn many_old_keys_are_read_some_at_a_time() {
    if testing::server().is_none() {
        return;
    }
    let server = Server::alone();
    let store = open(&server.settings(), &service()).await;
    let join = |number: usize| Key::new(&Default::default(), Scope::Join(number.to_string().as_str().into()));
    put(&store, (0..2500).map(|number| (join(number), counter(1))).collect()).await;
    let _: Option<String> = server.ask(&["CONFIG", "RESETSTAT"]).await;
    let listed = store.oldest(Space::Joins, Timestamp::MAX, 100_000).await.expect("lists");
    assert_eq!(listed.len(), 2500);
    let about: String = server.ask(&["INFO", "commandstats"]).await.expect("answers");
    assert!(about.contains("cmdstat_mget:calls=6,"), "a few at first, and more and more then: {about}");
}

/// A thousand click-throughs of large rankings may wait for their store.
#[tokio::test(flavor = "multi_thread")]
async fn large_values_are_read_few_at_a_time() {
    if testing::server().is_none() {
        return;
    }
    let server = Server::alone();
    let store = open(&server.settings(), &service()).await;
    let join = |number: usize| Key::new(&Default::default(), Scope::Join(number.to_string().as_str().into()));
    for number in 0..60 {
        let bytes: Arc<[u8]> = std::iter::repeat_with(|| fastrand::u8(..)).take(1 << 20).collect(); // they do not compress
        put(&store, vec![(join(number), Some(Entity::one(Slot(0), stored(1, Cell::Blob(bytes)))))]).await;
    }
    let _: Option<String> = server.ask(&["CONFIG", "RESETSTAT"]).await;
    let listed = store.scan(Space::Joins).await.expect("lists");
    assert_eq!(listed.len(), 60);
    let about: String = server.ask(&["INFO", "commandstats"]).await.expect("answers");
    let calls = about.split("cmdstat_mget:calls=").nth(1).and_then(|rest| rest.split(',').next());
    let calls: usize = calls.expect("it was asked").parse().expect("a number");
    assert!((3..=20).contains(&calls), "a few at first, and then some eight: {about}");
}

#[test]
fn word_of_how_a_state_grows_is_left_in_a_state_alone() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        assert_eq!(store.growth().await.expect("answers"), None);
        for word in ["one", "another"] {
            store.tell_growth(word.to_owned()).await.expect("is left");
            assert_eq!(open(&settings, &service).await.growth().await.expect("answers").as_deref(), Some(word));
        }
        let meta = format!("rw:{service}:meta");
        ask::<()>(&settings, &[b"DEL", meta.as_bytes()]).await; // as a purge does, beside a program that goes on
        store.tell_growth("late".to_owned()).await.expect("answers");
        assert_eq!(ask::<u64>(&settings, &[b"EXISTS", meta.as_bytes()]).await, 0);
        assert_eq!(open(&settings, &service).await.growth().await.expect("answers"), None, "it begins anew");
    });
}
