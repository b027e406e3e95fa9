//! What every state store promises, as one suite that each backend runs.

use crate::{
    Cell, Commit, Entity, FieldValue, Fingerprint, Key, Outcome, Position, Recent, Scope, Slot, Space, Store, Stored,
    Visit, Windows, Writer,
};
use rankwright_event::{ItemId, Tenant, Timestamp};
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Runs the suite; `fresh` opens an empty store.
///
/// # Panics
/// With the broken promise, where the store breaks one.
pub async fn state_store_contract<S: Store>(fresh: impl Fn() -> S) {
    reads_in_the_order_of_keys(&fresh()).await;
    writes_are_absorbed(&fresh()).await;
    tenants_share_nothing(&fresh()).await;
    a_removed_key_is_gone(&fresh()).await;
    slots_are_given_out_once(&fresh()).await;
    only_the_newest_lease_commits(&fresh()).await;
    a_position_that_moved_refuses_the_batch(&fresh()).await;
    writers_have_positions_of_their_own(&fresh()).await;
    spaces_are_listed_in_order(&fresh()).await;
    outdated_values_are_removed(&fresh()).await;
}

/// The key of an item.
pub fn item(id: &str) -> Key {
    Key::new(&Tenant::default(), Scope::Item(ItemId::from(id)))
}

/// A value at a time in seconds.
pub fn stored(seconds: i64, cell: Cell) -> Stored {
    Stored { at: Timestamp::from_millis(seconds * 1000), event: seconds as u64, cell }
}

fn number(seconds: i64, value: f64) -> Stored {
    stored(seconds, Cell::Field(FieldValue::Number(value)))
}

/// Commits writes as a writer of its own.
pub async fn put(store: &impl Store, writes: Vec<(Key, Option<Entity>)>) {
    let lease = store.acquire(&Writer("suite".into())).await.expect("acquires a lease");
    let to = Position(format!("{}+", lease.position.0));
    let commit = Commit { from: lease.position.clone(), to, writes };
    assert_eq!(store.commit(&lease, commit).await.expect("commits"), Outcome::Applied);
}

async fn get(store: &impl Store, key: &Key) -> Option<Arc<Entity>> {
    store.read(std::slice::from_ref(key)).await.expect("reads").pop().expect("one answer for one key")
}

async fn reads_in_the_order_of_keys(store: &impl Store) {
    let one = |value| Some(Entity::one(Slot(0), number(1, value)));
    put(store, vec![(item("a"), one(1.0)), (item("b"), one(2.0))]).await;
    let read = store.read(&[item("b"), item("none"), item("a"), item("b")]).await.expect("reads");
    let values: Vec<_> = read.into_iter().map(|entity| entity.map(|entity| entity.values()[0].1.clone())).collect();
    assert_eq!(values, [Some(number(1, 2.0)), None, Some(number(1, 1.0)), Some(number(1, 2.0))]);
}

async fn writes_are_absorbed(store: &impl Store) {
    let visit = |seconds: i64, id: &str| Visit {
        at: Timestamp::from_millis(seconds * 1000),
        event: seconds as u64,
        item: ItemId::from(id),
    };
    let batch = |seconds: i64, id: &str| {
        let mut entity = Entity::default();
        entity.absorb_value(Slot(0), &number(seconds, seconds as f64));
        entity.absorb_value(Slot(1), &stored(seconds, Cell::Counter(2)));
        entity.absorb_value(Slot(2), &stored(seconds, Cell::Windows(Windows::one(seconds, 2))));
        entity.absorb_value(Slot(3), &stored(seconds, Cell::Recent(Recent::one(visit(seconds, id), 2))));
        entity.absorb_value(Slot(4), &stored(seconds, Cell::Flags(1 << seconds)));
        vec![(item("a"), Some(entity))]
    };
    for (seconds, id) in [(2, "second"), (3, "third"), (1, "first")] {
        put(store, batch(seconds, id)).await;
    }
    let entity = get(store, &item("a")).await.expect("was written");
    let (now, ttl) = (Timestamp::from_millis(3000), HOUR);
    assert_eq!(entity.field(Slot(0), now, ttl), Some(&FieldValue::Number(3.0)), "a late write does not win");
    assert_eq!(entity.counter(Slot(1), now, ttl), Some(6));
    assert_eq!(entity.windows(Slot(2), now, ttl).map(Windows::parts), Some((2, [(2, 1), (3, 1)].as_slice())));
    let recent = entity.recent(Slot(3), now, ttl).expect("was written");
    assert_eq!(recent.visits(), [visit(3, "third"), visit(2, "second")]);
    assert_eq!(entity.flags(Slot(4), now, ttl), Some(0b1110));
    assert_eq!(entity.counter(Slot(1), now.plus(HOUR).plus(HOUR), ttl), None, "outdated");
}

async fn tenants_share_nothing(store: &impl Store) {
    let other = Key::new(&Tenant::from("other"), Scope::Item(ItemId::from("a")));
    put(store, vec![(other.clone(), Some(Entity::one(Slot(0), number(1, 7.0))))]).await;
    assert!(get(store, &item("a")).await.is_none());
    assert!(get(store, &other).await.is_some());
}

async fn a_removed_key_is_gone(store: &impl Store) {
    put(store, vec![(item("a"), Some(Entity::one(Slot(0), number(1, 7.0))))]).await;
    put(store, vec![(item("a"), None), (item("never"), None)]).await;
    assert!(get(store, &item("a")).await.is_none());
}

async fn slots_are_given_out_once(store: &impl Store) {
    let first = store.slots(&[Fingerprint(7), Fingerprint(9), Fingerprint(7)]).await.expect("gives slots");
    assert_eq!(first[0], first[2]);
    assert_ne!(first[0], first[1]);
    let later = store.slots(&[Fingerprint(8), Fingerprint(9)]).await.expect("gives slots");
    assert_eq!(later[1], first[1]);
    assert!(!first.contains(&later[0]));
}

async fn only_the_newest_lease_commits(store: &impl Store) {
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

async fn a_position_that_moved_refuses_the_batch(store: &impl Store) {
    let lease = store.acquire(&Writer("partition".into())).await.expect("acquires");
    let step = |from: &str, to: &str| Commit {
        from: Position(from.into()),
        to: Position(to.into()),
        writes: vec![(item("a"), Some(Entity::one(Slot(0), stored(1, Cell::Counter(1)))))],
    };
    assert_eq!(store.commit(&lease, step("", "1")).await.expect("answers"), Outcome::Applied);
    assert_eq!(store.commit(&lease, step("", "1")).await.expect("answers"), Outcome::LostLease, "the same again");
    let count =
        get(store, &item("a")).await.and_then(|entity| entity.counter(Slot(0), Timestamp::from_millis(0), HOUR));
    assert_eq!(count, Some(1));
}

async fn writers_have_positions_of_their_own(store: &impl Store) {
    put(store, vec![]).await;
    let other = store.acquire(&Writer("other".into())).await.expect("acquires");
    assert_eq!(other.position, Position::default());
    let known = store.acquire(&Writer("suite".into())).await.expect("acquires");
    assert_eq!(known.position, Position("+".into()));
}

async fn spaces_are_listed_in_order(store: &impl Store) {
    let join = |id: &str| Key::new(&Tenant::default(), Scope::Join(id.into()));
    let blob = || Some(Entity::one(Slot(0), stored(1, Cell::Blob(Arc::from(*b"record")))));
    put(store, vec![(join("z"), blob()), (item("a"), blob()), (join("b"), blob())]).await;
    let keys = |listed: Vec<(Key, Arc<Entity>)>| listed.into_iter().map(|entry| entry.0).collect::<Vec<_>>();
    assert_eq!(keys(store.scan(Space::Joins).await.expect("lists")), [join("b"), join("z")]);
    assert_eq!(keys(store.scan(Space::Values).await.expect("lists")), [item("a")]);
    assert!(store.scan(Space::Outbox).await.expect("lists").is_empty());
}

async fn outdated_values_are_removed(store: &impl Store) {
    let mut entity = Entity::one(Slot(0), number(0, 1.0));
    entity.absorb_value(Slot(1), &number(0, 1.0));
    put(store, vec![(item("a"), Some(entity)), (item("b"), Some(Entity::one(Slot(0), number(0, 1.0))))]).await;
    let now = Timestamp::from_millis(7_200_001);
    let removed = store.expire(now, &[(Slot(0), HOUR), (Slot(1), HOUR * 3)], HOUR).await.expect("expires");
    assert_eq!(removed, 1);
    assert!(get(store, &item("b")).await.is_none());
    let left = get(store, &item("a")).await.expect("one value is young enough");
    assert_eq!(left.values().iter().map(|(slot, _)| *slot).collect::<Vec<_>>(), [Slot(1)]);
}
