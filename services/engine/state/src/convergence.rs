//! Tests that the order of writes, their batches and the way they take make no difference to what is stored.

use crate::contract::{item, put};
use crate::samples::{KINDS, any_stored, any_write};
use crate::{
    Entity, Format, Key, MemoryStore, Outcome, Overlay, Position, Slot, Space, Store, Stored, View, Writer, codec,
};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeMap;

type Write = (usize, (Slot, Stored));

const KEYS: usize = 3;

fn bytes(entity: &Entity) -> Vec<u8> {
    codec::encode(entity, Format::Binary).expect("encodes")
}

fn key(number: usize) -> Key {
    item(&number.to_string())
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("starts a runtime").block_on(test)
}

/// Everything under the three keys, as bytes.
async fn contents(store: &MemoryStore) -> BTreeMap<Key, Vec<u8>> {
    let listed = store.scan(Space::Values).await.expect("lists");
    listed.into_iter().map(|(key, entity)| (key, bytes(&entity))).collect()
}

/// Applies writes, a few in each commit.
async fn stored(writes: &[Write], batches: &[u8]) -> BTreeMap<Key, Vec<u8>> {
    let (store, mut rest) = (MemoryStore::default(), writes);
    let mut sizes = batches.iter().cycle();
    while !rest.is_empty() {
        let size = usize::from(*sizes.next().expect("there is a size")).min(rest.len());
        let (batch, after) = rest.split_at(size);
        let one = |(at, (slot, stored)): &Write| (key(*at), Some(Entity::one(*slot, stored.clone())));
        put(&store, batch.iter().map(one).collect()).await;
        rest = after;
    }
    contents(&store).await
}

/// What a batch does: writes a value, or removes a key.
#[derive(Debug, Clone)]
enum Step {
    Write(Write),
    Remove(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![8 => (0..KEYS, any_write()).prop_map(Step::Write), 1 => (0..KEYS).prop_map(Step::Remove)]
}

async fn directly(store: &MemoryStore, steps: &[Step]) {
    for step in steps {
        let write = match step {
            Step::Write((at, (slot, stored))) => (key(*at), Some(Entity::one(*slot, stored.clone()))),
            Step::Remove(at) => (key(*at), None),
        };
        put(store, vec![write]).await;
    }
}

/// The same steps as one batch, of which some keys were read before; also what the batch itself saw of these.
async fn by_overlay(store: &MemoryStore, steps: &[Step], loaded: usize) -> BTreeMap<Key, Option<Vec<u8>>> {
    let mut overlay = Overlay::default();
    for at in 0..loaded {
        let read = store.read(&[key(at)]).await.expect("reads").remove(0);
        overlay.load(&key(at), read);
    }
    for step in steps {
        match step {
            Step::Write((at, (slot, stored))) => overlay.write(&key(*at), *slot, stored.clone()),
            Step::Remove(at) => overlay.remove(&key(*at)),
        }
    }
    let seen = (0..loaded).map(|at| (key(at), overlay.entity(&key(at)).map(|entity| bytes(entity)))).collect();
    let lease = store.acquire(&Writer("batch".into())).await.expect("acquires");
    let (commit, _) = overlay.take(lease.position.clone(), Position("1".into()));
    assert_eq!(store.commit(&lease, commit).await.expect("commits"), Outcome::Applied);
    seen
}

proptest! {
    #[test]
    fn absorbing_commutes_and_associates(
        three in (0..KINDS).prop_flat_map(|kind| [any_stored(kind), any_stored(kind), any_stored(kind)])
    ) {
        let both = |left: &Entity, right: &Entity| {
            let mut left = left.clone();
            left.absorb(right);
            left
        };
        let [a, b, c] = three.map(|stored| Entity::one(Slot(0), stored));
        prop_assert_eq!(bytes(&both(&a, &b)), bytes(&both(&b, &a)));
        prop_assert_eq!(bytes(&both(&both(&a, &b), &c)), bytes(&both(&a, &both(&b, &c))));
    }

    #[test]
    fn the_order_of_writes_and_their_batches_leave_no_trace(
        writes in prop::collection::vec((0..KEYS, any_write()), 1..30),
        places in prop::collection::vec(any::<Index>(), 30),
        batches in prop::collection::vec(1..6u8, 1..5),
    ) {
        let mut shuffled = writes.clone();
        (1..shuffled.len()).for_each(|end| shuffled.swap(end, places[end].index(end + 1)));
        let (in_order, in_disorder) = run(async { (stored(&writes, &[1]).await, stored(&shuffled, &batches).await) });
        prop_assert_eq!(in_order, in_disorder);
    }

    #[test]
    fn a_batch_leaves_what_its_steps_would_have_left_one_by_one(
        before in prop::collection::vec(any_step(), 0..10),
        steps in prop::collection::vec(any_step(), 1..30),
        loaded in 0..=KEYS,
    ) {
        run(async {
            let (one_by_one, at_once) = (MemoryStore::default(), MemoryStore::default());
            directly(&one_by_one, &before).await;
            directly(&at_once, &before).await;
            directly(&one_by_one, &steps).await;
            let seen = by_overlay(&at_once, &steps, loaded).await;
            let expected = contents(&one_by_one).await;
            assert_eq!(contents(&at_once).await, expected);
            for (key, entity) in seen {
                assert_eq!(entity.as_ref(), expected.get(&key), "the batch sees its own steps under {key}");
            }
        });
    }
}

#[tokio::test]
async fn memory_and_disk_hold_the_same_bytes() {
    let writes: Vec<_> = (0..40).map(|at| (key(at % KEYS), Some(crate::samples::whole_entity()))).collect();
    let (memory, folder) = (MemoryStore::default(), tempfile::tempdir().expect("makes a folder"));
    let file = crate::FileStore::open(folder.path(), crate::FileOptions::default(), "shop").expect("opens");
    put(&memory, writes.clone()).await;
    for half in writes.chunks(13) {
        put(&file, half.to_vec()).await;
    }
    let listed = file.scan(Space::Values).await.expect("lists");
    let on_disk: BTreeMap<_, _> = listed.into_iter().map(|(key, entity)| (key, bytes(&entity))).collect();
    assert_eq!(on_disk, contents(&memory).await);
}
