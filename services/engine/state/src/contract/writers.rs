//! Promises about writers: which one may write, and which numbers it gets.

use super::{HOUR, get, item, number, put, stored};
use crate::{
    Cell, Commit, Entity, Error, Fingerprint, Key, Lease, Move, Outcome, Position, Scope, Slot, Store, Writer,
};
use rankwright_event::{Tenant, Timestamp};

pub(super) async fn slots_are_given_out_once(store: &dyn Store) {
    let first = store.slots(&[Fingerprint(7), Fingerprint(9), Fingerprint(7)]).await.expect("gives slots");
    assert_eq!(first[0], first[2]);
    assert_ne!(first[0], first[1]);
    let later = store.slots(&[Fingerprint(8), Fingerprint(9)]).await.expect("gives slots");
    assert_eq!(later[1], first[1]);
    assert!(!first.contains(&later[0]));
}

pub(super) async fn only_the_newest_lease_commits(store: &dyn Store) {
    let writer = Writer("partition".into());
    let old = store.acquire(&writer).await.expect("acquires");
    let new = store.acquire(&writer).await.expect("acquires");
    let commit = || Commit {
        to: Position("1".into()),
        writes: vec![(item("a"), Some(Entity::one(Slot(0), number(1, 1.0))))],
        ..Commit::default()
    };
    assert_eq!(store.commit(&old, commit()).await.expect("answers"), Outcome::LostLease);
    assert!(get(store, &item("a")).await.is_none(), "a refused batch changes nothing");
    assert_eq!(store.commit(&new, commit()).await.expect("answers"), Outcome::Applied);
}

pub(super) async fn a_position_that_moved_refuses_the_batch(store: &dyn Store) {
    let lease = store.acquire(&Writer("partition".into())).await.expect("acquires");
    let step = |from: &str, to: &str| Commit {
        from: Position(from.into()),
        to: Position(to.into()),
        writes: vec![(item("a"), Some(Entity::one(Slot(0), stored(1, Cell::Counter(1)))))],
        ..Commit::default()
    };
    assert_eq!(store.commit(&lease, step("", "1")).await.expect("answers"), Outcome::Applied);
    assert_eq!(store.commit(&lease, step("", "1")).await.expect("answers"), Outcome::LostLease, "the same again");
    let count =
        get(store, &item("a")).await.and_then(|entity| entity.counter(Slot(0), Timestamp::from_millis(0), HOUR));
    assert_eq!(count, Some(1));
}

pub(super) async fn writers_have_positions_of_their_own(store: &dyn Store) {
    put(store, vec![]).await;
    let other = store.acquire(&Writer("other".into())).await.expect("acquires");
    assert_eq!(other.position, Position::default());
    let known = store.acquire(&Writer("suite".into())).await.expect("acquires");
    assert_eq!(known.position, Position("+".into()));
}

pub(super) async fn a_key_that_should_be_new_and_is_not_refuses_the_batch(store: &dyn Store) {
    let seen = |id: &str| Key::new(&Tenant::default(), Scope::Seen(id.into()));
    let lease = store.acquire(&Writer("replica".into())).await.expect("acquires");
    let batch = |from: &str, to: &str, id: &str| Commit {
        from: Position(from.into()),
        to: Position(to.into()),
        writes: [item("a"), seen(id)].map(|key| (key, Some(Entity::one(Slot(0), stored(1, Cell::Counter(1)))))).into(),
        absent: vec![seen(id)],
        ..Commit::default()
    };
    assert_eq!(store.commit(&lease, batch("", "1", "event")).await.expect("answers"), Outcome::Applied);
    assert_eq!(store.commit(&lease, batch("1", "2", "event")).await.expect("answers"), Outcome::Exists);
    assert_eq!(store.commit(&lease, batch("1", "2", "another")).await.expect("answers"), Outcome::Applied);
    let count =
        get(store, &item("a")).await.and_then(|entity| entity.counter(Slot(0), Timestamp::from_millis(0), HOUR));
    assert_eq!(count, Some(2), "a refused batch changes nothing");
}

pub(super) async fn what_is_wrongly_thought_to_be_new_absorbs_all_the_same(store: &dyn Store) {
    let lease = store.acquire(&Writer("guesses".into())).await.expect("acquires");
    let keys = [item("guessed"), Key::new(&Tenant::default(), Scope::Outbox("guessed".into()))];
    for (from, to) in [("", "1"), ("1", "2")] {
        let write = |key: Key| (key, Some(Entity::one(Slot(0), stored(1, Cell::Counter(1)))));
        let commit = Commit {
            from: Position(from.into()),
            to: Position(to.into()),
            writes: keys.clone().map(write).into(),
            fresh: keys.to_vec(),
            ..Commit::default()
        };
        assert_eq!(store.commit(&lease, commit).await.expect("answers"), Outcome::Applied);
    }
    for key in &keys {
        let count = get(store, key).await.and_then(|entity| entity.counter(Slot(0), Timestamp::from_millis(0), HOUR));
        assert_eq!(count, Some(2), "{key}");
    }
}

pub(super) async fn what_moves_lies_under_its_new_key(store: &dyn Store) {
    let lease = store.acquire(&Writer("moves".into())).await.expect("acquires");
    let key = |scope: Scope| Key::new(&Tenant::default(), scope);
    let names = ["moved", "was never there", "is there already"];
    let (from, to) =
        (names.map(|name| key(Scope::Join(name.into()))), names.map(|name| key(Scope::Outbox(name.into()))));
    let entity = Entity::one(Slot(0), stored(7, Cell::Blob([7; 3000].as_slice().into())));
    let write = Commit {
        to: Position("1".into()),
        writes: [&from[0], &from[2], &to[2]].map(|key| (key.clone(), Some(entity.clone()))).into(),
        ..Commit::default()
    };
    assert_eq!(store.commit(&lease, write).await.expect("answers"), Outcome::Applied);
    let twice = key(Scope::Outbox("moved twice".into()));
    let gone = from.iter().map(|key| (key.clone(), None));
    let there = to.iter().chain([&twice]).map(|key| (key.clone(), Some(entity.clone())));
    let commit = Commit {
        from: Position("1".into()),
        to: Position("2".into()),
        writes: gone.chain(there).collect(),
        moved: from.iter().chain([&from[0]]).cloned().zip(to.iter().chain([&twice]).cloned()).collect(),
        ..Commit::default()
    };
    assert_eq!(store.commit(&lease, commit).await.expect("answers"), Outcome::Applied);
    for (from, to) in from.iter().zip(&to) {
        assert_eq!((get(store, from).await, get(store, to).await.as_deref()), (None, Some(&entity)), "{to}");
    }
    assert_eq!(get(store, &twice).await.as_deref(), Some(&entity));
    assert_eq!(store.count(crate::Space::Joins).await.expect("counts"), 0);
    assert_eq!(store.oldest(crate::Space::Outbox, Timestamp::MAX, 10).await.expect("lists").len(), 4);
}

pub(super) async fn a_commit_takes_place_when_it_is_due_or_never(store: &dyn Store) {
    let lease = store.acquire(&Writer("waits".into())).await.expect("acquires");
    let commit = || Commit {
        to: Position("1".into()),
        writes: vec![(item("due"), Some(Entity::one(Slot(0), stored(1, Cell::Counter(1)))))],
        ..Commit::default()
    };
    let (told, due) = tokio::sync::oneshot::channel();
    drop(told);
    assert_eq!(store.commit_when(&lease, commit(), due).await.expect("answers"), Outcome::LostLease);
    let (told, due) = tokio::sync::oneshot::channel();
    let tells = async {
        assert_eq!(get(store, &item("due")).await, None, "nothing took place");
        told.send(()).expect("is waited for");
    };
    let (outcome, ()) = tokio::join!(store.commit_when(&lease, commit(), due), tells);
    assert_eq!(outcome.expect("answers"), Outcome::Applied);
    assert!(get(store, &item("due")).await.is_some());
}

pub(super) async fn several_writers_move_together_or_not_at_all(store: &dyn Store) {
    if !store.moves_together() {
        return;
    }
    let acquire = async |name: &str| store.acquire(&Writer(name.into())).await.expect("acquires");
    let (left, right, stale) = (acquire("left").await, acquire("right").await, acquire("taken").await);
    let taken = acquire("taken").await;
    let part = |lease: &Lease, from: &str| Move {
        lease: lease.clone(),
        from: Position(from.into()),
        to: Position(format!("{from}+")),
    };
    let batch = |from: &str, also: Vec<Move>| Commit {
        from: Position(from.into()),
        to: Position(format!("{from}+")),
        writes: vec![(item("a"), Some(Entity::one(Slot(0), stored(1, Cell::Counter(1)))))],
        also,
        ..Commit::default()
    };
    let commit = async |batch: Commit| store.commit(&left, batch).await.expect("answers");
    let refused = batch("", vec![part(&right, ""), part(&stale, "")]);
    assert_eq!(commit(refused).await, Outcome::LostLease, "one of the leases is somebody else's");
    let refused = batch("", vec![part(&right, "elsewhere"), part(&taken, "")]);
    assert_eq!(commit(refused).await, Outcome::LostLease, "one stands elsewhere");
    assert!(get(store, &item("a")).await.is_none(), "a refused batch changes nothing");
    assert_eq!(commit(batch("", vec![part(&right, ""), part(&taken, "")])).await, Outcome::Applied);
    assert_eq!(commit(batch("", vec![part(&right, "+")])).await, Outcome::LostLease, "the first stands elsewhere");
    assert_eq!(commit(batch("+", vec![part(&right, "+")])).await, Outcome::Applied);
    let count =
        get(store, &item("a")).await.and_then(|entity| entity.counter(Slot(0), Timestamp::from_millis(0), HOUR));
    assert_eq!(count, Some(2), "each batch once");
    for (name, position) in [("left", "++"), ("right", "++"), ("taken", "+")] {
        assert_eq!(acquire(name).await.position, Position(position.into()), "{name}");
    }
}

pub(super) async fn nobody_commits_without_a_lease(store: &dyn Store) {
    for epoch in 0..2 {
        let lease = Lease { writer: Writer("stranger".into()), epoch, position: Position::default() };
        let writes = vec![(item("a"), Some(Entity::one(Slot(0), number(1, 1.0))))];
        let outcome = store.commit(&lease, Commit { writes, ..Commit::default() }).await.expect("answers");
        assert_eq!(outcome, Outcome::LostLease);
    }
    assert!(get(store, &item("a")).await.is_none());
}

pub(super) async fn slots_run_out_with_an_error(store: &dyn Store) {
    let all: Vec<_> = (0..=u64::from(u16::MAX)).map(Fingerprint).collect();
    let slots = store.slots(&all).await.expect("gives as many slots as there are numbers");
    let distinct: std::collections::HashSet<_> = slots.iter().collect();
    assert_eq!(distinct.len(), all.len());
    assert!(matches!(store.slots(&[Fingerprint(u64::MAX)]).await, Err(Error::Full(65536))));
    let known = store.slots(&[Fingerprint(77)]).await.expect("still knows those it gave out");
    assert_eq!(known, [slots[77]]);
}
