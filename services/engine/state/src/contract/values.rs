//! Promises about reading and writing values.

use super::{HOUR, get, item, number, put, stored};
use crate::{Cell, Entity, FieldValue, Key, Recent, Scope, Slot, Store, Visit, Windows};
use rankwright_event::{ItemId, Tenant, Timestamp};

pub(super) async fn reads_in_the_order_of_keys(store: &dyn Store) {
    let one = |value| Some(Entity::one(Slot(0), number(1, value)));
    put(store, vec![(item("a"), one(1.0)), (item("b"), one(2.0))]).await;
    let read = store.read(&[item("b"), item("none"), item("a"), item("b")]).await.expect("reads");
    let values: Vec<_> = read
        .into_iter()
        .map(|entity| entity.and_then(|entity| entity.values().next().map(|(_, stored)| stored.clone())))
        .collect();
    assert_eq!(values, [Some(number(1, 2.0)), None, Some(number(1, 1.0)), Some(number(1, 2.0))]);
}

pub(super) async fn writes_are_absorbed(store: &dyn Store) {
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
    assert_eq!(entity.windows(Slot(2), now, ttl), Windows::from_parts(2, &[(2, 1), (3, 1)]).as_ref());
    let recent = entity.recent(Slot(3), now, ttl).expect("was written");
    assert_eq!(recent.visits(), [visit(3, "third"), visit(2, "second")]);
    assert_eq!(entity.flags(Slot(4), now, ttl), Some(0b1110));
    assert_eq!(entity.counter(Slot(1), now.plus(HOUR).plus(HOUR), ttl), None, "outdated");
}

pub(super) async fn tenants_share_nothing(store: &dyn Store) {
    let other = Key::new(&Tenant::from("other"), Scope::Item(ItemId::from("a")));
    put(store, vec![(other.clone(), Some(Entity::one(Slot(0), number(1, 7.0))))]).await;
    assert!(get(store, &item("a")).await.is_none());
    assert!(get(store, &other).await.is_some());
}

pub(super) async fn a_removed_key_is_gone(store: &dyn Store) {
    put(store, vec![(item("a"), Some(Entity::one(Slot(0), number(1, 7.0))))]).await;
    put(store, vec![(item("a"), None), (item("never"), None)]).await;
    assert!(get(store, &item("a")).await.is_none());
}

pub(super) async fn scopes_share_nothing(store: &dyn Store) {
    let scopes = [
        Scope::Global,
        Scope::Item("a".into()),
        Scope::User("a".into()),
        Scope::Session("a".into()),
        Scope::FieldValue(Slot(0), "a".into()),
        Scope::FieldValue(Slot(256), "a".into()),
        Scope::ItemWithin(Slot(0), "a".into(), "a".into()),
        Scope::ItemWithin(Slot(0), "a\0".into(), "a".into()),
        Scope::ItemWithin(Slot(0), "a".into(), "\0a".into()),
        Scope::Join("a".into()),
        Scope::Outbox("a".into()),
        Scope::Seen("a".into()),
    ];
    let keys = scopes.map(|scope| Key::new(&Tenant::default(), scope));
    let one = |value: u32| Some(Entity::one(Slot(0), number(1, f64::from(value))));
    put(store, keys.iter().cloned().zip((0..).map(one)).collect()).await;
    let read = store.read(&keys).await.expect("reads");
    let expected: Vec<_> = (0..).map(one).take(keys.len()).collect();
    assert_eq!(read.iter().map(|entity| entity.as_deref().cloned()).collect::<Vec<_>>(), expected);
    assert!(store.read(&[]).await.expect("reads nothing").is_empty());
}

pub(super) async fn writes_under_one_key_apply_in_order(store: &dyn Store) {
    let count = |slot| Some(Entity::one(Slot(slot), stored(1, Cell::Counter(1))));
    let key = || item("a");
    put(store, vec![(key(), count(0)), (key(), count(1)), (key(), count(1))]).await;
    let entity = get(store, &key()).await.expect("was written");
    let counts = |entity: &Entity| [0, 1].map(|slot| entity.counter(Slot(slot), Timestamp::from_millis(0), HOUR));
    assert_eq!(counts(&entity), [Some(1), Some(2)]);
    put(store, vec![(key(), None), (key(), count(1))]).await;
    let entity = get(store, &key()).await.expect("was replaced");
    assert_eq!(counts(&entity), [None, Some(1)], "a removal followed by a value replaces");
    put(store, vec![(key(), count(0)), (key(), None)]).await;
    assert!(get(store, &key()).await.is_none(), "a removal takes with it what was written before");
    put(store, vec![(key(), None), (key(), count(0))]).await;
    assert_eq!(counts(&get(store, &key()).await.expect("was written")), [Some(1), None]);
}

pub(super) async fn a_large_batch_is_applied_whole(store: &dyn Store) {
    const KEYS: usize = 5000;
    let keys: Vec<_> = (0..KEYS).map(|number| item(&number.to_string())).collect();
    let long = "word ".repeat(40);
    for _ in 0..2 {
        let text = Cell::Field(FieldValue::Text(long.as_str().into()));
        let mut entity = Entity::one(Slot(0), stored(1, text));
        entity.absorb_value(Slot(1), &stored(1, Cell::Counter(1)));
        put(store, keys.iter().map(|key| (key.clone(), Some(entity.clone()))).collect()).await;
    }
    let read = store.read(&keys).await.expect("reads");
    assert_eq!(read.len(), KEYS);
    for (key, entity) in keys.iter().zip(read) {
        let entity = entity.unwrap_or_else(|| panic!("{key} is missing"));
        assert_eq!(entity.counter(Slot(1), Timestamp::from_millis(0), HOUR), Some(2), "{key}");
        assert_eq!(entity.len(), 2, "{key}");
    }
}
