//! What a rank request and a batch of events cost a store: `cargo bench -p rankwright-state`.

#![allow(missing_docs)]

use divan::{Bencher, counter::ItemsCount};
use rankwright_event::{Tenant, Timestamp};
use rankwright_state::{
    Cell, Commit, Entity, FieldValue, FileOptions, FileStore, Format, Key, MemoryStore, Outcome, Position, Recent,
    Scope, Slot, Store, Stored, Term, Terms, Visit, Windows, Writer,
};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tempfile::TempDir;

const ENTITIES: u64 = 50_000;
const READ: u64 = 100;
const WRITES: u64 = 1000;

fn main() {
    divan::main();
}

/// Embedded stores are ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("an embedded store does not wait"),
    }
}

fn item(number: u64) -> Key {
    Key::new(&Tenant::default(), Scope::Item(format!("item-{number}").into()))
}

fn stored(cell: Cell) -> Stored {
    Stored { at: Timestamp::from_millis(1_700_000_000_000), event: 0x1234_5678_9abc_def0, cell }
}

/// About what an item of a shop holds: a few fields, tags, counters.
fn whole(number: u64) -> Entity {
    let mut entity = Entity::default();
    let tags: Terms = (0..8).map(|tag| format!("tag-{}", (number + tag) % 97)).collect();
    let visit = Visit { at: Timestamp::from_millis(number as i64), event: number, item: "item-1".into() };
    let cells = [
        Cell::Field(FieldValue::Number(number as f64 / 7.0)),
        Cell::Field(FieldValue::Text(Term::from("a title of some words, as items have"))),
        Cell::Field(FieldValue::Texts(tags)),
        Cell::Field(FieldValue::Numbers((0..16).map(f64::from).collect())),
        Cell::Counter(number),
        Cell::Windows(Windows::from_parts(7, &[(1, 4), (2, 5), (3, 6), (5, 7)]).expect("periods are in order")),
        Cell::Windows(Windows::one(3, 7)),
        Cell::Recent(Recent::one(visit, 10)),
    ];
    for (slot, cell) in (0..).zip(cells) {
        entity.absorb_value(Slot(slot), &stored(cell));
    }
    entity
}

fn click(seconds: i64) -> Entity {
    let mut entity = Entity::one(Slot(4), stored(Cell::Counter(1)));
    entity.absorb_value(Slot(6), &stored(Cell::Windows(Windows::one(seconds / 100, 7))));
    entity
}

fn commit(store: &impl Store, writes: Vec<(Key, Option<Entity>)>) {
    let lease = ready(store.acquire(&Writer("bench".into()))).expect("acquires");
    let commit = Commit { from: lease.position.clone(), to: Position("1".into()), writes, ..Commit::default() };
    assert_eq!(ready(store.commit(&lease, commit)).expect("commits"), Outcome::Applied);
}

fn filled<S: Store>(store: S) -> S {
    let numbers: Vec<u64> = (0..ENTITIES).collect();
    for some in numbers.chunks(1000) {
        commit(&store, some.iter().map(|number| (item(*number), Some(whole(*number)))).collect());
    }
    store
}

fn on_disk(cache_bytes: u64, format: Format) -> (TempDir, FileStore) {
    let folder = tempfile::tempdir().expect("makes a folder");
    let options = FileOptions { format, cache_bytes, ..FileOptions::default() };
    let store = FileStore::open(folder.path(), options, "bench").expect("opens");
    (folder, filled(store))
}

fn read(bencher: Bencher, store: &impl Store) {
    let mut round = 0;
    let keys = || {
        round += 1;
        (0..READ).map(|place| item((round * 7919 + place * 499) % 5000)).collect::<Vec<_>>()
    };
    bencher
        .counter(ItemsCount::new(READ))
        .with_inputs(keys)
        .bench_local_refs(|keys| ready(store.read(keys)).expect("reads").iter().flatten().count());
}

fn write(bencher: Bencher, store: &impl Store) {
    let mut round: u64 = 0;
    let writes = || {
        round += 1;
        (0..WRITES).map(|place| (item((round * 7919 + place * 499) % ENTITIES), Some(click(round as i64)))).collect()
    };
    bencher.counter(ItemsCount::new(WRITES)).with_inputs(writes).bench_local_values(|writes| commit(store, writes));
}

#[divan::bench]
fn read_100_memory(bencher: Bencher) {
    read(bencher, &filled(MemoryStore::default()));
}

#[divan::bench]
fn read_100_file_warm_cache(bencher: Bencher) {
    let (_folder, store) = on_disk(256 << 20, Format::Binary);
    read(bencher, &store);
}

#[divan::bench(args = [Format::Binary, Format::Json])]
fn read_100_file_cold_cache(bencher: Bencher, format: Format) {
    let (_folder, store) = on_disk(0, format);
    read(bencher, &store);
}

#[divan::bench]
fn commit_1000_memory(bencher: Bencher) {
    write(bencher, &filled(MemoryStore::default()));
}

#[divan::bench(args = [Format::Binary, Format::Json])]
fn commit_1000_file_warm_cache(bencher: Bencher, format: Format) {
    let (_folder, store) = on_disk(256 << 20, format);
    write(bencher, &store);
}

#[divan::bench]
fn commit_1000_file_cold_cache(bencher: Bencher) {
    let (_folder, store) = on_disk(0, Format::Binary);
    write(bencher, &store);
}
