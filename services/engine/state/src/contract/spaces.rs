//! Promises about parts of the keys: listing and expiry.

use super::{HOUR, get, item, number, put, stored};
use crate::{Cell, Entity, Key, Scope, Slot, Space, Store};
use rankwright_event::{Tenant, Timestamp};
use std::sync::Arc;

pub(super) async fn spaces_are_listed_in_order(store: &dyn Store) {
    let join = |id: &str| Key::new(&Tenant::default(), Scope::Join(id.into()));
    let blob = || Some(Entity::one(Slot(0), stored(1, Cell::Blob(Arc::from(*b"record")))));
    put(store, vec![(join("z"), blob()), (item("a"), blob()), (join("b"), blob())]).await;
    let keys = |listed: Vec<(Key, Arc<Entity>)>| listed.into_iter().map(|entry| entry.0).collect::<Vec<_>>();
    assert_eq!(keys(store.scan(Space::Joins).await.expect("lists")), [join("b"), join("z")]);
    assert_eq!(keys(store.scan(Space::Values).await.expect("lists")), [item("a")]);
    assert!(store.scan(Space::Outbox).await.expect("lists").is_empty());
    let mut shown = Vec::new();
    store.each(Space::Joins, &mut |key, entity| shown.push((key, entity))).await.expect("shows");
    shown.sort_by(|left, right| left.0.cmp(&right.0));
    assert_eq!(shown, store.scan(Space::Joins).await.expect("lists"));
}

pub(super) async fn items_are_shown_without_others(store: &dyn Store) {
    let blob = || Some(Entity::one(Slot(0), stored(1, Cell::Blob(Arc::from(*b"record")))));
    let key = |scope| Key::new(&Tenant::default(), scope);
    let items: Vec<Key> = (10..60).map(|number| item(&number.to_string())).collect();
    let others = [
        key(Scope::User("10".into())),
        key(Scope::Session("10".into())),
        key(Scope::Global),
        key(Scope::FieldValue(Slot(0), "10".into())),
        key(Scope::ItemWithin(Slot(0), "10".into(), "10".into())),
        key(Scope::Join("10".into())),
    ];
    put(store, items.iter().chain(&others).map(|key| (key.clone(), blob())).collect()).await;
    let mut shown = Vec::new();
    store.each_item(&mut |key, entity| shown.push((key, Some((*entity).clone())))).await.expect("shows");
    shown.sort_by(|left, right| left.0.cmp(&right.0));
    assert_eq!(shown, items.into_iter().map(|key| (key, blob())).collect::<Vec<_>>());
}

pub(super) async fn the_oldest_of_a_space_come_first(store: &dyn Store) {
    let join = |id: &str| Key::new(&Tenant::default(), Scope::Join(id.into()));
    let write = |id: &str, seconds: i64| (join(id), Some(Entity::one(Slot(0), number(seconds, 1.0))));
    put(store, vec![write("late", 9), write("early", 2), write("middle", 5), write("moved", 1)]).await;
    put(store, vec![(join("moved"), Some(Entity::one(Slot(1), number(7, 1.0)))), (item("other"), write("", 0).1)])
        .await;
    let counted = async || store.count(Space::Joins).await.expect("counts");
    assert_eq!((counted().await, store.count(Space::Waiting).await.expect("counts")), (4, 0));
    let listed = |until: i64, limit: usize| store.oldest(Space::Joins, Timestamp::from_millis(until * 1000), limit);
    let keys = |listed: Vec<(Key, Arc<Entity>)>| listed.into_iter().map(|entry| entry.0).collect::<Vec<_>>();
    assert!(keys(listed(0, 10).await.expect("lists nothing")).is_empty());
    assert!(store.oldest(Space::Waiting, Timestamp::MAX, 10).await.expect("lists nothing").is_empty());
    assert_eq!(keys(listed(7, 10).await.expect("lists")), ["early", "middle", "moved"].map(join));
    assert_eq!(keys(listed(7, 1).await.expect("lists")), [join("early")]);
    put(store, vec![(join("early"), None)]).await;
    assert_eq!(counted().await, 3);
    assert_eq!(keys(listed(6, 10).await.expect("lists")), [join("middle")]);
}

pub(super) async fn outdated_values_are_removed(store: &dyn Store) {
    let mut entity = Entity::one(Slot(0), number(0, 1.0));
    entity.absorb_value(Slot(1), &number(0, 1.0));
    put(store, vec![(item("a"), Some(entity)), (item("b"), Some(Entity::one(Slot(0), number(0, 1.0))))]).await;
    let now = Timestamp::from_millis(7_200_001);
    let removed = store.expire(now, &[(Slot(0), HOUR), (Slot(1), HOUR * 3)], HOUR).await.expect("expires");
    assert_eq!(removed, 1);
    assert!(get(store, &item("b")).await.is_none());
    let left = get(store, &item("a")).await.expect("one value is young enough");
    assert_eq!(left.values().map(|(slot, _)| slot).collect::<Vec<_>>(), [Slot(1)]);
}

pub(super) async fn only_values_expire(store: &dyn Store) {
    let scopes = [Scope::Join("a".into()), Scope::Outbox("a".into()), Scope::Seen("a".into()), Scope::User("a".into())];
    let keys = scopes.map(|scope| Key::new(&Tenant::default(), scope));
    put(store, keys.iter().map(|key| (key.clone(), Some(Entity::one(Slot(0), number(0, 1.0))))).collect()).await;
    let now = Timestamp::from_millis(3_600_001);
    assert_eq!(store.expire(now, &[(Slot(0), HOUR)], HOUR).await.expect("expires"), 1);
    let left: Vec<_> = store.read(&keys).await.expect("reads").iter().map(Option::is_some).collect();
    assert_eq!(left, [true, true, true, false]);
    assert_eq!(store.expire(now, &[(Slot(0), HOUR)], HOUR).await.expect("expires"), 0, "nothing is left to remove");
}

pub(super) async fn many_values_expire(store: &dyn Store) {
    let write = |number: i64| (item(&number.to_string()), Some(Entity::one(Slot(0), super::number(number, 1.0))));
    put(store, (0..4000).map(write).collect()).await;
    let removed = store.expire(Timestamp::from_millis(3_600_000 + 2_500_000), &[], HOUR).await.expect("expires");
    assert_eq!(removed, 2500);
    assert_eq!(store.scan(Space::Values).await.expect("lists").len(), 1500);
    assert!(get(store, &item("2499")).await.is_none());
    assert!(get(store, &item("2500")).await.is_some(), "as old as its time to live, and no older");
}
