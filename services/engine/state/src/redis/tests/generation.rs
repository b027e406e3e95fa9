//! A generation that is filled beside the live one, and takes its place.

use super::*;
use std::time::Instant;

/// Waits until a process has noticed what is live.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// One counter under a key.
fn listed(key: Key, number: u64) -> Listed {
    vec![(key, Arc::new(counter(number).expect("an entity")))]
}

fn commit(lease: &Lease, to: &str, writes: Vec<(Key, Option<Entity>)>) -> Commit {
    Commit { from: lease.position.clone(), to: Position(to.into()), writes, ..Commit::default() }
}

#[test]
fn a_filled_generation_takes_the_place_of_the_live_one_in_every_process() {
    with_server(|settings| async move {
        let service = service();
        let (one, two) = (open(&settings, &service).await, open(&settings, &service).await);
        put(&one, vec![(item("a"), counter(1)), (item("gone"), counter(1))]).await;
        assert_eq!(count(&two, &item("a")).await, Some(1));
        let filling = one.fill_next().await.expect("begins");
        filling.put(&listed(item("a"), 40)).await.expect("fills");
        assert_eq!(count(&two, &item("a")).await, Some(1), "nothing is seen before");
        assert!(filling.switch(false).await.expect("switches"));
        until("the other process goes on", async || count(&two, &item("a")).await == Some(40)).await;
        assert_eq!(count(&two, &item("gone")).await, None);
        put(&two, vec![(item("a"), counter(2))]).await;
        assert_eq!(count(&open(&settings, &service).await, &item("a")).await, Some(42));
    });
}

#[test]
fn a_writer_loses_its_lease_with_its_generation_and_goes_on_where_the_new_one_says() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        let writer = Writer("w".into());
        let lease = store.acquire(&writer).await.expect("acquires");
        let first = commit(&lease, "5", vec![(item("a"), counter(5))]);
        assert_eq!(store.commit(&lease, first).await.expect("commits"), Outcome::Applied);
        let filling = store.fill_next().await.expect("begins");
        filling.put(&listed(item("a"), 3)).await.expect("fills");
        filling.stands(&writer, &Position("3".into())).await.expect("hands over");
        assert!(filling.switch(false).await.expect("switches"));
        let lease = Lease { position: Position("5".into()), ..lease };
        let late = commit(&lease, "6", vec![(item("a"), counter(1))]);
        assert_eq!(store.commit(&lease, late).await.expect("answers"), Outcome::LostLease);
        let lease = store.acquire(&writer).await.expect("acquires");
        assert_eq!(lease.position, Position("3".into()));
        let next = commit(&lease, "4", vec![(item("a"), counter(1))]);
        assert_eq!(store.commit(&lease, next).await.expect("commits"), Outcome::Applied);
        assert_eq!(count(&store, &item("a")).await, Some(4));
    });
}

#[test]
fn leases_of_two_generations_are_never_alike() {
    with_server(|settings| async move {
        let store = open(&settings, &service()).await;
        let before = store.acquire(&Writer("closer".into())).await.expect("acquires");
        assert!(store.fill_next().await.expect("begins").switch(false).await.expect("switches"));
        let after = store.acquire(&Writer("closer".into())).await.expect("acquires");
        assert_ne!(before.epoch, after.epoch, "both are the first");
        let late = store.commit(&before, commit(&before, "", vec![(item("a"), counter(1))]));
        assert_eq!(late.await.expect("answers"), Outcome::LostLease);
    });
}

#[test]
fn slots_keep_their_numbers_also_those_that_are_given_out_meanwhile() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        let known = [Fingerprint(7), Fingerprint(3)];
        let numbers = store.slots(&known).await.expect("gives out");
        let filling = store.fill_next().await.expect("begins");
        assert_eq!(filling.slots(), known);
        let late = store.slots(&[Fingerprint(5)]).await.expect("gives out");
        assert!(filling.switch(false).await.expect("switches"));
        let store = open(&settings, &service).await;
        let all = store.slots(&[known[0], known[1], Fingerprint(5), Fingerprint(9)]).await.expect("gives out");
        assert_eq!(all, [&numbers[..], &late, &[Slot(3)]].concat());
    });
}

#[test]
fn a_state_that_somebody_wrote_to_is_not_replaced_as_untouched() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        assert!(store.is_untouched().await.expect("answers"));
        let filling = store.fill_next().await.expect("begins");
        filling.put(&listed(item("a"), 1)).await.expect("fills");
        put(&open(&settings, &service).await, vec![(item("b"), counter(1))]).await;
        assert!(!filling.switch(true).await.expect("answers"));
        assert!(!store.is_untouched().await.expect("answers"));
        assert_eq!(count(&open(&settings, &service).await, &item("b")).await, Some(1));
    });
}

#[test]
fn the_newest_import_with_a_name_is_remembered_from_the_moment_it_is_live() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        let imported = async || open(&settings, &service).await.imported().await.expect("answers");
        assert_eq!(imported().await, None);
        let filling = store.fill_next().await.expect("begins").named("first");
        assert_eq!(imported().await, None, "it is not live yet");
        assert!(filling.switch(false).await.expect("switches"));
        assert_eq!(imported().await.as_deref(), Some("first"));
        let store = open(&settings, &service).await;
        assert!(store.fill_next().await.expect("begins").switch(false).await.expect("switches"));
        assert_eq!(imported().await.as_deref(), Some("first"), "the one after it had no name");
        let store = open(&settings, &service).await;
        let late = store.fill_next().await.expect("begins").named("late");
        let last = store.fill_next().await.expect("begins").named("last");
        assert!(last.switch(false).await.expect("switches") && !late.switch(false).await.expect("answers"));
        assert_eq!(imported().await.as_deref(), Some("last"));
    });
}

#[test]
fn what_an_attempt_has_left_is_not_in_the_next_one() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        store.fill_next().await.expect("begins").put(&listed(item("left"), 1)).await.expect("fills");
        assert!(store.fill_next().await.expect("begins").switch(false).await.expect("switches"));
        assert_eq!(count(&open(&settings, &service).await, &item("left")).await, None);
    });
}

#[test]
fn what_an_attempt_has_left_can_be_cleared_and_one_that_is_under_way_becomes_live_no_more() {
    with_server(|settings| async move {
        let store = open(&settings, &service()).await;
        put(&store, vec![(item("a"), counter(1))]).await;
        assert_eq!(store.clear_unfinished().await.expect("clears"), 0, "there was none");
        let filling = store.fill_next().await.expect("begins");
        filling.put(&listed(item("a"), 40)).await.expect("fills");
        assert_eq!(store.clear_unfinished().await.expect("clears"), 1);
        assert_eq!(store.clear_unfinished().await.expect("clears"), 0);
        assert!(!filling.switch(false).await.expect("answers"), "a later one was begun");
        let next = store.fill_next().await.expect("begins");
        next.put(&listed(item("b"), 2)).await.expect("fills");
        assert!(next.switch(false).await.expect("switches"));
        until("it is live", async || count(&store, &item("b")).await == Some(2)).await;
        assert_eq!(store.clear_unfinished().await.expect("clears"), 0, "what is live stays");
        assert_eq!(count(&store, &item("b")).await, Some(2));
    });
}

/// Its keys would lie there for as long as a value is kept.
#[test]
fn what_is_filled_after_a_later_attempt_became_live_can_be_cleared() {
    with_server(|settings| async move {
        let store = open(&settings, &service()).await;
        let (one, two) = (store.fill_next().await.expect("begins"), store.fill_next().await.expect("begins"));
        two.put(&listed(item("a"), 2)).await.expect("fills");
        assert!(two.switch(false).await.expect("switches"));
        one.put(&listed(item("left"), 1)).await.expect("fills"); // and is killed
        until("the later one is live", async || count(&store, &item("a")).await == Some(2)).await;
        assert_eq!(store.clear_unfinished().await.expect("clears"), 1);
        assert_eq!(store.clear_unfinished().await.expect("clears"), 0);
        assert_eq!(count(&store, &item("a")).await, Some(2));
    });
}

/// As if the process was killed between the switch and that.
#[test]
fn what_was_live_and_has_no_time_limit_goes_later() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        put(&store, vec![(item("zero"), counter(1))]).await;
        let switched = async || {
            let store = open(&settings, &service).await;
            let filling = store.fill_next().await.expect("begins");
            filling.put(&listed(item("a"), 1)).await.expect("fills");
            assert!(filling.switch(false).await.expect("switches"));
            open(&settings, &service).await.current().names.entity(&item("a"))
        };
        let name = switched().await;
        switched().await;
        let _: i64 = ask(&settings, &[b"PERSIST", &name]).await;
        let exists = async || ask::<i64>(&settings, &[b"EXISTS", &name]).await == 1;
        assert!(exists().await, "others may read it yet");
        switched().await;
        assert!(exists().await, "it was cleared before a later one was live");
        switched().await;
        assert!(!exists().await);
    });
}

#[test]
fn what_was_live_before_can_be_cleared_with_all_that_it_has() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        put(&store, vec![(item("a"), counter(1)), (item("b"), counter(1))]).await;
        assert_eq!(store.clear_former().await.expect("answers"), 0, "there was none");
        let name = store.current().names.entity(&item("a"));
        let filling = store.fill_next().await.expect("begins");
        filling.put(&listed(item("a"), 1)).await.expect("fills");
        assert!(filling.switch(false).await.expect("switches"));
        let _: i64 = ask(&settings, &[b"PERSIST", &name]).await; // as if the process was killed before that
        let store = open(&settings, &service).await;
        assert!(store.clear_former().await.expect("clears") > 1);
        assert_eq!(ask::<i64>(&settings, &[b"EXISTS", &name]).await, 0);
        assert_eq!(count(&store, &item("a")).await, Some(1), "what is live stays");
        assert_eq!(store.clear_former().await.expect("answers"), 0, "that is remembered");
    });
}

#[test]
fn what_is_live_stays_though_a_process_has_not_noticed_yet_that_it_is() {
    with_server(|settings| async move {
        let service = service();
        let (one, late) = (open(&settings, &service).await, open(&settings, &service).await);
        let filling = one.fill_next().await.expect("begins");
        filling.put(&listed(item("a"), 40)).await.expect("fills");
        assert!(filling.switch(false).await.expect("switches"));
        open(&settings, &service).await.fill_next().await.expect("begins");
        late.clear_unfinished().await.expect("clears");
        late.fill_next().await.expect("begins");
        assert_eq!(count(&open(&settings, &service).await, &item("a")).await, Some(40));
    });
}

/// Before a process has noticed that another generation is live.
#[test]
fn slots_are_given_out_in_the_live_generation_alone() {
    with_server(|settings| async move {
        let service = service();
        let (one, two) = (open(&settings, &service).await, open(&settings, &service).await);
        let filling = one.fill_next().await.expect("begins");
        assert!(filling.switch(false).await.expect("switches"));
        let late = two.slots(&[Fingerprint(1)]).await.expect("gives slots");
        let other =
            open(&settings, &service).await.slots(&[Fingerprint(2), Fingerprint(1)]).await.expect("gives slots");
        assert_eq!(other, [Slot(1), late[0]]);
    });
}

#[test]
fn of_two_that_fill_generations_the_later_one_counts() {
    with_server(|settings| async move {
        let store = open(&settings, &service()).await;
        let (one, two) = (store.fill_next().await.expect("begins"), store.fill_next().await.expect("begins"));
        two.put(&listed(item("a"), 2)).await.expect("fills");
        one.put(&listed(item("a"), 1)).await.expect("fills");
        assert!(!one.switch(false).await.expect("answers"));
        assert!(two.switch(false).await.expect("switches"));
        until("the later one is live", async || count(&store, &item("a")).await == Some(2)).await;
        assert!(!store.fill_next().await.expect("begins").number().eq(&2), "numbers are never given out again");
    });
}

#[test]
fn a_switch_that_is_sent_again_after_a_broken_connection_removes_nothing() {
    with_server(|settings| async move {
        let service = service();
        let filling = open(&settings, &service).await.fill_next().await.expect("begins");
        filling.put(&listed(item("a"), 1)).await.expect("fills");
        for untouched in [true, true, false] {
            assert!(filling.switch(untouched).await.expect("switches"));
        }
        assert_eq!(count(&open(&settings, &service).await, &item("a")).await, Some(1));
    });
}

#[test]
fn a_generation_that_was_left_expires() {
    with_server(|settings| async move {
        let options = RedisOptions { retention: Duration::from_secs(86_400), ..small() };
        let store = RedisStore::open(settings.clone(), options, &service()).await.expect("opens");
        put(&store, vec![(item("a"), counter(1))]).await;
        let name = store.current().names.entity(&item("a"));
        assert!(store.fill_next().await.expect("begins").switch(false).await.expect("switches"));
        let left: i64 = ask(&settings, &[b"PTTL", &name]).await;
        assert!((1..=600_000).contains(&left), "{left}");
    });
}

#[test]
fn a_state_that_was_emptied_is_another_one_until_an_import_fills_it() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        let former = store.id().expect("it has one");
        assert_eq!(open(&settings, &service).await.id().as_ref(), Some(&former), "others see the same");
        assert!(!store.emptied());
        let link = Link::new(settings.clone(), None).expect("needs no certificates");
        link.remove_all(&format!("rw:{service}:")).await.expect("as a server that was restarted without its data");
        until("it is never noticed", async || store.emptied()).await;
        assert!(store.id().is_some_and(|id| id != former), "an empty one lies in its place");
        let later = open(&settings, &service).await;
        assert!(!later.emptied() && later.id() == store.id(), "a program that begins now has lost nothing");
        let filling = store.fill_next().await.expect("begins");
        assert!(filling.switch(false).await.expect("becomes live"));
        until("it is filled, and the other program does not notice", async || !store.emptied()).await;
    });
}

#[test]
fn a_state_that_is_restored_is_not_emptied_any_more() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        let former = store.id().expect("it has one");
        let meta = format!("rw:{service}:meta");
        for id in ["another", "a-third"] {
            let _: i64 = ask(&settings, &[b"HSET", meta.as_bytes(), b"id", id.as_bytes()]).await;
            until("the change is never noticed", async || store.id().as_deref() == Some(id)).await;
            assert!(store.emptied());
        }
        let _: i64 = ask(&settings, &[b"HSET", meta.as_bytes(), b"id", former.as_bytes()]).await;
        until("the process does not notice that it is back", async || store.id().as_ref() == Some(&former)).await;
        assert!(!store.emptied());
    });
}

#[test]
fn a_process_that_began_on_an_empty_state_has_lost_nothing_when_the_former_one_is_restored() {
    with_server(|settings| async move {
        let service = service();
        let former = open(&settings, &service).await.id().expect("it has one");
        tokio::time::sleep(Duration::from_millis(5)).await; // ids count milliseconds
        let link = Link::new(settings.clone(), None).expect("needs no certificates");
        link.remove_all(&format!("rw:{service}:")).await.expect("as a server that was restarted without its data");
        let store = open(&settings, &service).await;
        assert!(store.id().is_some_and(|id| id > former) && !store.emptied());
        let meta = format!("rw:{service}:meta");
        let _: i64 = ask(&settings, &[b"HSET", meta.as_bytes(), b"id", former.as_bytes()]).await;
        until("the process does not notice that it is back", async || store.id().as_ref() == Some(&former)).await;
        assert!(!store.emptied());
        link.remove_all(&format!("rw:{service}:")).await.expect("as a server that was restarted without its data");
        until("that it is gone again is never noticed", async || store.emptied()).await;
    });
}

#[test]
fn a_state_of_another_cluster_is_claimed_by_those_alone_who_take_it_over() {
    with_server(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        let claim = |owner: &str, takes_over| Claim { owner: Some(Owner::new(owner)), takes_over };
        store.claim(&Claim::default()).await.expect("it has no owner");
        store.claim(&claim("c1/search/shop/u1", false)).await.expect("it has no owner");
        store.claim(&claim("c1/search/shop/u2", false)).await.expect("it was made again");
        let found = owner_of(settings.clone(), &service).await.expect("asks");
        assert_eq!(found, Some(Owner::new("c1/search/shop/u2")));
        for refused in [claim("c2/search/shop/u3", false), claim("c1/search/blog/u3", false), Claim::default()] {
            let error = store.claim(&refused).await.expect_err("it belongs to another one");
            assert!(matches!(&error, Error::Owned { owner, .. } if owner.contains("search/shop")), "{error}");
        }
        store.claim(&claim("c2/search/shop/u3", true)).await.expect("takes it over");
        store.claim(&claim("c1/search/shop/u2", false)).await.expect_err("the former one has lost it");
        let link = Link::new(settings.clone(), None).expect("needs no certificates");
        link.remove_all(&format!("rw:{service}:")).await.expect("removes");
        assert_eq!(owner_of(settings.clone(), &service).await.expect("asks"), None);
    });
}
