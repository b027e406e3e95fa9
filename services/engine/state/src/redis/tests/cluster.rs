//! Commits in parts, stopped anywhere.

use super::*;
use crate::redis::parts::Brought;
use crate::redis::redo::Batch;
use crate::{Scope, Slot};

const SHARED: &str = "shared";

/// Runs a test against the cluster, if there is one.
fn with_cluster<F: Future<Output = ()>>(test: impl FnOnce(Settings) -> F) {
    let Some(settings) = testing::cluster() else { return };
    runtime().block_on(test(settings));
}

fn writer() -> Writer {
    Writer("w".into())
}

fn items() -> Vec<Key> {
    (0..40).map(|number| item(&format!("item {number}"))).collect()
}

/// One more in each of many items, in about half of all shards.
fn batch(to: &str) -> Batch {
    let writes = items().into_iter().map(|key| (key, counter(1))).collect();
    Batch { to: to.into(), writes, absent: Vec::new() }
}

async fn counts(store: &RedisStore) -> Vec<Option<u64>> {
    let mut counts = Vec::new();
    for key in items() {
        counts.push(count(store, &key).await);
    }
    counts.dedup();
    counts
}

fn seen(id: &str) -> Key {
    Key::new(&Default::default(), Scope::Seen(id.into()))
}

fn watermark(name: &str) -> Key {
    Key::new(&Default::default(), Scope::Watermark(name.into()))
}

fn feedback(id: &str) -> Batch {
    let writes = vec![(item(SHARED), counter(1)), (seen(id), counter(1))];
    Batch { to: String::new(), writes, absent: vec![seen(id)] }
}

fn commit_of(batch: Batch) -> Commit {
    Commit {
        from: Position::default(),
        to: Position(batch.to),
        writes: batch.writes,
        absent: batch.absent,
        ..Commit::default()
    }
}

#[test]
fn a_batch_that_stopped_before_its_parts_is_brought_to_its_end_by_who_takes_over() {
    with_cluster(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        let lease = store.acquire(&writer()).await.expect("acquires");
        let number = store.current().begin(&lease, &lease.position, &batch("1")).await.expect("answers");
        assert_eq!(number, Some(1));
        assert_eq!(counts(&store).await, [None], "nothing has taken effect");
        let other = open(&settings, &service).await;
        let taken = other.acquire(&writer()).await.expect("acquires");
        assert_eq!(taken.position, Position("1".into()));
        assert_eq!(counts(&other).await, [Some(1)]);
        let again = store.current().complete(&lease, 1, batch("1")).await.expect("answers");
        assert_eq!(again, Outcome::LostLease, "the former holder is late");
        assert_eq!(counts(&other).await, [Some(1)], "its parts have no second effect");
    });
}

#[test]
fn batches_that_stopped_can_be_brought_to_their_ends_whoever_began_them() {
    with_cluster(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        for name in ["one", "two"] {
            let lease = store.acquire(&Writer(name.into())).await.expect("acquires");
            let number = store.current().begin(&lease, &lease.position, &batch("1")).await.expect("answers");
            assert_eq!(number, Some(1));
        }
        let other = open(&settings, &service).await;
        let living = other.acquire(&Writer("living".into())).await.expect("acquires");
        other.settle().await.expect("brings them to their ends");
        assert_eq!(counts(&other).await, [Some(2)]);
        let next = other.commit(&living, commit_of(batch("1"))).await.expect("answers");
        assert_eq!(
            (next, counts(&other).await),
            (Outcome::Applied, vec![Some(3)]),
            "who has begun nothing is left alone"
        );
        let removed = items().into_iter().map(|key| (key, None)).collect();
        put(&other, removed).await;
        for name in ["one", "two"] {
            other.acquire(&Writer(name.into())).await.expect("acquires");
        }
        assert_eq!(counts(&other).await, [None], "nothing comes back");
    });
}

#[test]
fn a_batch_that_stopped_before_its_position_moved_is_not_applied_again() {
    with_cluster(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        let lease = store.acquire(&writer()).await.expect("acquires");
        let number =
            store.current().begin(&lease, &lease.position, &batch("1")).await.expect("answers").expect("holds");
        let brought = store.current().bring(&lease.writer, number, batch("1")).await.expect("answers");
        assert_eq!(brought, Brought::Whole);
        let other = open(&settings, &service).await;
        let taken = other.acquire(&writer()).await.expect("acquires");
        assert_eq!((taken.position, counts(&other).await), (Position("1".into()), vec![Some(1)]));
        assert!(!store.current().finish(&lease, number, "1", true).await.expect("answers"), "the lease is lost");
    });
}

#[test]
fn a_batch_that_stopped_among_its_parts_is_applied_where_it_is_missing() {
    with_cluster(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        let lease = store.acquire(&writer()).await.expect("acquires");
        let number =
            store.current().begin(&lease, &lease.position, &batch("1")).await.expect("answers").expect("holds");
        let some = Batch { writes: shards_of(&store, batch("1"), |shard| shard % 2 == 0), ..batch("1") };
        store.current().bring(&lease.writer, number, some).await.expect("answers");
        assert_eq!(counts(&store).await.len(), count_changes(&store).await, "some have it, some have not");
        let other = open(&settings, &service).await;
        other.acquire(&writer()).await.expect("acquires");
        assert_eq!(counts(&other).await, [Some(1)]);
    });
}

/// How often neighbours differ.
async fn count_changes(store: &RedisStore) -> usize {
    let counts = counts(store).await;
    assert!(counts.len() > 1, "a part of the batch is there");
    counts.len()
}

fn shards_of(store: &RedisStore, batch: Batch, wanted: impl Fn(u64) -> bool) -> Vec<(Key, Option<Entity>)> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let number = |key: &Key| {
        let mut hasher = DefaultHasher::new();
        store.current().names.shard(key).hash(&mut hasher);
        hasher.finish()
    };
    batch.writes.into_iter().filter(|(key, _)| wanted(number(key))).collect()
}

#[test]
fn a_part_of_a_former_epoch_that_comes_late_is_skipped() {
    with_cluster(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        let lease = store.acquire(&writer()).await.expect("acquires");
        let number =
            store.current().begin(&lease, &lease.position, &batch("1")).await.expect("answers").expect("holds");
        let other = open(&settings, &service).await;
        let mut taken = other.acquire(&writer()).await.expect("acquires");
        for to in ["2", "3"] {
            let commit = Commit { from: taken.position.clone(), ..commit_of(batch(to)) };
            assert_eq!(other.commit(&taken, commit).await.expect("answers"), Outcome::Applied);
            taken.position = Position(to.into());
        }
        store.current().bring(&lease.writer, number, batch("1")).await.expect("answers");
        assert_eq!(counts(&other).await, [Some(3)]);
    });
}

#[test]
fn a_marker_outlives_the_key_it_was_set_with() {
    with_cluster(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        let lease = store.acquire(&writer()).await.expect("acquires");
        let number =
            store.current().begin(&lease, &lease.position, &batch("1")).await.expect("answers").expect("holds");
        store.current().bring(&lease.writer, number, batch("1")).await.expect("answers");
        put(&store, items().into_iter().map(|key| (key, None)).collect()).await;
        let other = open(&settings, &service).await;
        other.acquire(&writer()).await.expect("acquires");
        assert_eq!(counts(&other).await, [None], "the batch was there before they were removed");
    });
}

#[test]
fn a_commit_after_one_that_broke_off_has_to_acquire_first() {
    with_cluster(|settings| async move {
        let store = open(&settings, &service()).await;
        let lease = store.acquire(&writer()).await.expect("acquires");
        store.current().begin(&lease, &lease.position, &batch("1")).await.expect("answers").expect("holds");
        let next = store.commit(&lease, commit_of(batch("1"))).await.expect("answers");
        assert_eq!(next, Outcome::LostLease, "the record of the first is not overwritten");
        let mut taken = store.acquire(&writer()).await.expect("acquires");
        assert_eq!(taken.position, Position("1".into()));
        let commit = Commit { from: taken.position.clone(), ..commit_of(batch("2")) };
        taken.writer = writer();
        assert_eq!(store.commit(&taken, commit).await.expect("answers"), Outcome::Applied);
        assert_eq!(counts(&store).await, [Some(2)]);
    });
}

#[test]
fn of_two_batches_with_one_event_only_one_takes_place_wherever_the_other_stopped() {
    with_cluster(|settings| async move {
        let service = service();
        let (one, two) = (open(&settings, &service).await, open(&settings, &service).await);
        let first = one.acquire(&Writer("one".into())).await.expect("acquires");
        let second = two.acquire(&Writer("two".into())).await.expect("acquires");
        let number =
            one.current().begin(&first, &first.position, &feedback("e")).await.expect("answers").expect("holds");
        let sent_again = two.commit(&second, commit_of(feedback("e"))).await.expect("answers");
        assert_eq!(sent_again, Outcome::Applied, "the first is not decided");
        let late = one.current().complete(&first, number, feedback("e")).await.expect("answers");
        assert_eq!(late, Outcome::Exists);
        assert_eq!(count(&two, &item(SHARED)).await, Some(1));
        let next = one.commit(&first, commit_of(feedback("f"))).await.expect("answers");
        assert_eq!(next, Outcome::Applied, "a refused batch leaves no record behind");
        assert_eq!(count(&two, &item(SHARED)).await, Some(2));
    });
}

#[test]
fn a_refusal_stays_one_for_those_who_come_late() {
    with_cluster(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        put(&store, vec![(seen("e"), counter(1))]).await;
        let lease = store.acquire(&writer()).await.expect("acquires");
        let number =
            store.current().begin(&lease, &lease.position, &feedback("e")).await.expect("answers").expect("holds");
        let brought = store.current().bring(&lease.writer, number, feedback("e")).await.expect("answers");
        assert_eq!(brought, Brought::Refused);
        put(&store, vec![(seen("e"), None)]).await; // as if it were forgotten in time
        let other = open(&settings, &service).await;
        let taken = other.acquire(&writer()).await.expect("acquires");
        assert_eq!(count(&other, &item(SHARED)).await, None);
        let next = other.commit(&taken, commit_of(feedback("f"))).await.expect("answers");
        assert_eq!(next, Outcome::Applied);
        let brought = store.current().bring(&lease.writer, number, feedback("e")).await.expect("answers");
        assert_eq!(brought, Brought::Passed, "it is over, whatever became of it");
        assert_eq!(count(&other, &item(SHARED)).await, Some(1));
    });
}

#[test]
fn a_watermark_is_written_after_everything_before_it() {
    with_cluster(|settings| async move {
        let store = open(&settings, &service()).await;
        let lease = store.acquire(&writer()).await.expect("acquires");
        // A value that no version of ours wrote keeps one part from being merged, as a server that is away would.
        let damaged = store.current().names.entity(&items()[0]);
        let () = ask(&settings, &[b"SET", &damaged, b"AAAAAAAA\x07rubbish"]).await;
        let mut commit = commit_of(batch("1"));
        commit.writes.push((watermark("w"), counter(1)));
        store.commit(&lease, commit).await.expect_err("a value is damaged");
        assert_eq!(store.read(&[watermark("w")]).await.expect("reads"), [None]);
        let () = ask(&settings, &[b"DEL", &damaged]).await;
        let taken = store.acquire(&writer()).await.expect("acquires");
        assert_eq!(taken.position, Position("1".into()));
        assert_eq!(count(&store, &watermark("w")).await, Some(1));
        assert_eq!(counts(&store).await, [Some(1)]);
    });
}

#[test]
fn keys_that_have_to_be_new_lie_in_one_shard_or_are_refused() {
    with_cluster(|settings| async move {
        let store = open(&settings, &service()).await;
        let lease = store.acquire(&writer()).await.expect("acquires");
        let commit = Commit { absent: items(), ..commit_of(batch("1")) };
        let error = store.commit(&lease, commit).await.expect_err("cannot be decided at once");
        let cause = std::error::Error::source(&error).expect("has a cause").to_string();
        assert_eq!(cause, "keys that have to be new lie in several shards");
        assert_eq!(counts(&store).await, [None]);
    });
}

#[test]
fn the_number_of_shards_stays_what_it_was() {
    with_cluster(|settings| async move {
        let service = service();
        let meta = format!("rw:{service}:meta");
        let fields: [&[u8]; 8] = [b"HSET", meta.as_bytes(), b"format", b"1", b"live", b"1", b"shards", b"3"];
        let () = ask(&settings, &fields).await;
        let store = open(&settings, &service).await;
        let mut slots: Vec<u16> =
            items().iter().map(|key| rankwright_redis::slot_of(&store.current().names.entity(key))).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), 3);
        put(&store, vec![(item("a"), counter(1))]).await;
        assert_eq!(count(&open(&settings, &service).await, &item("a")).await, Some(1));
    });
}

#[test]
fn a_state_of_one_server_is_not_taken_for_one_of_a_cluster() {
    with_cluster(|settings| async move {
        let service = service();
        let meta = format!("rw:{service}:meta");
        let () = ask(&settings, &[b"HSET", meta.as_bytes(), b"format", b"1", b"live", b"1"]).await;
        let error = RedisStore::open(settings, small(), &service).await.err().expect("is refused");
        let cause = std::error::Error::source(&error).expect("has a cause").to_string();
        assert!(cause.contains("a state of one server lies there"), "{cause}");
    });
}

#[test]
fn a_state_of_a_cluster_is_not_taken_for_one_of_one_server() {
    let Some(settings) = testing::server() else { return };
    runtime().block_on(async move {
        let service = service();
        let () = ask(&settings, &[b"HSET", format!("rw:{service}:meta").as_bytes(), b"shards", b"64"]).await;
        let error = RedisStore::open(settings, small(), &service).await.err().expect("is refused");
        let cause = std::error::Error::source(&error).expect("has a cause").to_string();
        assert!(cause.contains("set state.mode to cluster"), "{cause}");
    });
}

#[test]
fn slots_of_a_former_generation_are_known_when_its_keys_are_gone() {
    with_cluster(|settings| async move {
        let service = service();
        let (one, two) = (open(&settings, &service).await, open(&settings, &service).await);
        let filling = one.fill_next().await.expect("begins");
        filling.copy_slots().await.expect("copies");
        let late = two.slots(&[Fingerprint(1)]).await.expect("gives slots");
        let former = one.current().names.slots();
        assert!(filling.move_pointer().await.expect("moves"));
        filling.bring_slots().await.expect("brings them");
        assert_eq!(ask::<i64>(&settings, &[b"DEL", former.as_bytes()]).await, 1);
        let next = open(&settings, &service).await.slots(&[Fingerprint(2), Fingerprint(1)]).await;
        assert_eq!(next.expect("gives slots"), [Slot(1), late[0]]);
    });
}

/// As if the process that makes it live was killed right after.
#[test]
fn a_slot_that_is_given_out_while_another_generation_becomes_live_is_given_to_nothing_else() {
    with_cluster(|settings| async move {
        let service = service();
        let (one, two) = (open(&settings, &service).await, open(&settings, &service).await);
        let known = two.slots(&[Fingerprint(9)]).await.expect("gives slots");
        let filling = one.fill_next().await.expect("begins");
        filling.copy_slots().await.expect("copies");
        let late = two.slots(&[Fingerprint(1), Fingerprint(5)]).await.expect("gives slots");
        assert!(filling.move_pointer().await.expect("moves"));
        let next = open(&settings, &service).await;
        assert_eq!(next.fill_next().await.expect("begins").slots(), [Fingerprint(9), Fingerprint(1), Fingerprint(5)]);
        let all = [2, 1, 5, 9].map(Fingerprint);
        let wanted = [&[Slot(3)][..], &late, &known].concat();
        assert_eq!(next.slots(&all).await.expect("gives slots"), wanted);
        // what the previous one gives out later is not, as it is no longer live
        let other = two.slots(&[Fingerprint(7)]).await.expect("gives slots");
        assert_eq!((other, next.slots(&all).await.expect("gives slots")), (vec![Slot(4)], wanted));
    });
}

#[test]
fn what_was_read_from_all_nodes_is_kept_as_all_of_them_tell_of_changes() {
    with_cluster(|settings| async move {
        let service = service();
        let store = open(&settings, &service).await;
        put(&store, items().into_iter().map(|key| (key, counter(1))).collect()).await;
        let reader = open(&settings, &service).await;
        let rows = reader.read(&items()).await.expect("reads");
        assert!(rows.iter().all(Option::is_some));
        assert!(reader.current().reading.is_watching(), "all three servers tell of changes");
        let known = |key: &Key| reader.current().cache.get(&reader.current().names.entity(key), true).is_some();
        assert!(items().iter().all(known));
        let slot = Slot(0);
        assert!(
            rows.iter()
                .flatten()
                .all(|row| row.counter(slot, Timestamp::from_millis(0), Duration::from_secs(1)) == Some(1))
        );
    });
}
