mod damage;

use super::*;
use crate::contract::{entities_are_counted, item, put, state_store_contract, stored, sweeps_are_spaced_out};
use crate::{Cell, Entity, Position, Stored};
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("makes a folder")
}

fn open(folder: &TempDir, options: FileOptions) -> FileStore {
    FileStore::open(folder.path(), options, "shop").expect("opens")
}

async fn keeps_the_contract(options: FileOptions) {
    let folders = RefCell::new(Vec::new());
    let fresh = || {
        let folder = folder();
        let store = open(&folder, options);
        folders.borrow_mut().push(folder);
        store
    };
    state_store_contract(fresh).await;
}

#[tokio::test]
async fn the_file_store_keeps_the_contract() {
    keeps_the_contract(FileOptions::default()).await;
}

#[tokio::test]
async fn the_file_store_keeps_the_contract_in_json_and_with_hardly_any_memory() {
    keeps_the_contract(FileOptions { format: Format::Json, cache_bytes: 100_000, buffer_bytes: 1 << 16 }).await;
}

#[tokio::test]
async fn the_file_store_counts_its_entities() {
    let folder = folder();
    entities_are_counted(&open(&folder, FileOptions::default())).await;
    assert_eq!(open(&folder, FileOptions::default()).stats().await.expect("has a size").entities, 0);
}

#[tokio::test]
async fn the_file_store_spaces_out_its_sweeps() {
    sweeps_are_spaced_out(&open(&folder(), FileOptions::default())).await;
}

/// As where each night imports a day into it.
#[tokio::test]
async fn a_state_that_each_process_opens_for_a_moment_forgets_what_is_outdated() {
    const DAY: i64 = 86_400_000;
    let (folder, two_days) = (folder(), Duration::from_secs(2 * 86_400));
    let opened = async |hour: i64| {
        let (store, now) = (open(&folder, FileOptions::default()), Timestamp::from_millis(hour * DAY / 24));
        let value = Stored { at: now, event: 0, cell: Cell::Counter(1) };
        put(&store, vec![(item(&hour.to_string()), Some(Entity::one(Slot(0), value)))]).await;
        store.expire(now, &[], two_days).await.expect("expires");
        store.stats().await.expect("has a size").entities
    };
    for day in 0..30 {
        assert_eq!(opened(day * 25).await, 2.min(day as u64 + 1), "day {day}");
    }
    assert_eq!(opened(29 * 25 + 1).await, 3, "within the same day it is not looked through again");
    assert_eq!(opened(0).await, 4, "nothing is outdated by the time of an earlier event");
}

fn clicks(count: u64) -> Option<Entity> {
    Some(Entity::one(Slot(0), stored(1, Cell::Counter(count))))
}

#[tokio::test]
async fn a_state_that_is_opened_again_goes_on() {
    let folder = folder();
    let first = open(&folder, FileOptions::default());
    let slots = first.slots(&[Fingerprint(7), Fingerprint(8)]).await.expect("gives slots");
    put(&first, vec![(item("a"), clicks(1)), (item("b"), clicks(1))]).await;
    let lease = first.acquire(&Writer("suite".into())).await.expect("acquires");
    drop(first);

    let second = open(&folder, FileOptions { format: Format::Json, ..FileOptions::default() });
    assert_eq!(second.generation(), 1);
    assert_eq!(second.stats().await.expect("has a size").entities, 2);
    let stale = Commit {
        from: lease.position.clone(),
        to: lease.position.clone(),
        writes: vec![(item("c"), None)],
        ..Commit::default()
    };
    assert_eq!(second.slots(&[Fingerprint(9), Fingerprint(8)]).await.expect("gives slots")[1], slots[1]);
    put(&second, vec![(item("a"), clicks(2))]).await;
    assert_eq!(second.commit(&lease, stale).await.expect("answers"), Outcome::LostLease, "of the process before");
    drop(second);

    let third = open(&folder, FileOptions::default());
    let read = third.read(&[item("a"), item("b"), item("c")]).await.expect("reads");
    let expected = [clicks(3), clicks(1), None];
    assert_eq!(
        read.iter().map(|entity| entity.as_deref()).collect::<Vec<_>>(),
        expected.each_ref().map(Option::as_ref)
    );
    assert_eq!(third.acquire(&Writer("suite".into())).await.expect("acquires").position, Position("++".into()));
}

#[tokio::test]
async fn what_lies_in_sorted_files_is_read_and_expired_too() {
    let folder = folder();
    let store = open(&folder, FileOptions { cache_bytes: 0, ..FileOptions::default() });
    for round in 0..3 {
        put(&store, (0..2500).map(|number| (item(&format!("{number}")), clicks(1 + round))).collect()).await;
        store.disk.values.rotate_memtable_and_wait().expect("sorts what was written into a file");
    }
    let read = store.read(&[item("0"), item("2499"), item("2500")]).await.expect("reads");
    let counts: Vec<_> = read.iter().map(|entity| entity.as_deref().cloned()).collect();
    assert_eq!(counts, [clicks(6), clicks(6), None]);
    let removed = store.expire(Timestamp::from_millis(10_000), &[], Duration::from_secs(1)).await.expect("expires");
    assert_eq!((removed, store.stats().await.expect("has a size").entities), (2500, 0));
    assert!(store.scan(Space::Values).await.expect("lists").is_empty());
}

#[tokio::test]
async fn an_id_of_any_length_has_its_values() {
    let folder = folder();
    let store = open(&folder, FileOptions { cache_bytes: 0, ..FileOptions::default() });
    let ids = ["", "\0", "a", &"x".repeat(70_000), &("x".repeat(70_000) + "y")];
    for (count, id) in (1..).zip(ids) {
        put(&store, vec![(item(id), clicks(count))]).await;
    }
    let listed = store.scan(Space::Values).await.expect("lists");
    let listed: Vec<_> = listed.into_iter().map(|(key, entity)| (key, Arc::unwrap_or_clone(entity))).collect();
    let expected: Vec<_> = (1..).zip(ids).map(|(count, id)| (item(id), clicks(count).expect("some"))).collect();
    assert_eq!(listed, expected);
    put(&store, vec![(item(ids[3]), None)]).await;
    assert_eq!(store.read(&[item(ids[3])]).await.expect("reads"), [None]);
    assert_eq!(store.stats().await.expect("has a size").entities, 4);
}

fn refusal(folder: &TempDir, service: &str) -> String {
    let error = FileStore::open(folder.path(), FileOptions::default(), service).err().expect("is refused");
    let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    format!("{error}: {source}").replace(&folder.path().display().to_string(), "STATE")
}

#[test]
fn a_folder_that_is_open_already_is_refused() {
    let folder = folder();
    let _store = open(&folder, FileOptions::default());
    assert_eq!(refusal(&folder, "shop"), "failed to open the state store at STATE: another process holds it");
}

/// What lies in a folder that was killed while its state was made.
fn half_made(folder: &TempDir) {
    std::fs::create_dir_all(folder.path().join("keyspaces/0")).expect("makes a folder");
    for (name, text) in [("lock", ""), ("0.jnl", ""), ("keyspaces/0/current", "half"), ("unfinished", "begun")] {
        std::fs::write(folder.path().join(name), text).expect("writes a file");
    }
}

#[tokio::test]
async fn a_state_that_was_never_finished_is_begun_again() {
    let folder = folder();
    half_made(&folder);
    let store = open(&folder, FileOptions::default());
    put(&store, vec![(item("a"), clicks(1))]).await;
    drop(store);
    assert!(!folder.path().join("unfinished").exists());
    assert_eq!(open(&folder, FileOptions::default()).stats().await.expect("has a size").entities, 1);
}

#[tokio::test]
async fn what_was_made_and_cannot_be_opened_is_begun_again() {
    let folder = folder();
    drop(open(&folder, FileOptions::default()));
    std::fs::remove_dir_all(folder.path().join("keyspaces/0")).expect("is there");
    half_made(&folder);
    drop(open(&folder, FileOptions::default()));
    assert!(!folder.path().join("unfinished").exists());
}

/// A version that does not know the marker may have filled what was made.
#[tokio::test]
async fn a_marker_beside_a_whole_state_costs_nothing() {
    for text in ["", "begun"] {
        let folder = folder();
        let store = open(&folder, FileOptions::default());
        put(&store, vec![(item("a"), clicks(1))]).await;
        drop(store);
        std::fs::write(folder.path().join("unfinished"), text).expect("writes a file");
        assert_eq!(open(&folder, FileOptions::default()).stats().await.expect("has a size").entities, 1);
        assert!(!folder.path().join("unfinished").exists());
    }
}

#[test]
fn a_part_of_a_state_beside_a_marker_that_says_nothing_is_left_alone() {
    let folder = folder();
    drop(open(&folder, FileOptions::default()));
    std::fs::remove_file(folder.path().join("version")).expect("is there");
    std::fs::write(folder.path().join("unfinished"), "").expect("writes a file");
    for _ in 0..2 {
        assert!(refusal(&folder, "shop").contains("only a part of a state is there"));
    }
}

#[test]
fn a_state_that_another_process_makes_is_refused() {
    let folder = folder();
    half_made(&folder);
    let other = std::fs::File::open(folder.path().join("unfinished")).expect("is there");
    other.lock().expect("is free");
    assert_eq!(refusal(&folder, "shop"), "failed to open the state store at STATE: another process holds it");
}

#[test]
fn what_is_no_whole_state_is_refused_in_words() {
    let refused = |change: fn(&Path)| {
        let folder = folder();
        drop(open(&folder, FileOptions::default()));
        change(folder.path());
        refusal(&folder, "shop").replace("failed to open the state store at STATE: ", "")
    };
    let missing = refused(|path| std::fs::remove_file(path.join("version")).expect("is there"));
    assert!(missing.starts_with("only a part of a state is there, its file `version` is missing"), "{missing}");
    let damaged = refused(|path| std::fs::write(path.join("version"), "?").expect("is written"));
    assert!(damaged.starts_with("its file `version` is damaged"), "{damaged}");
    let file = refused(|path| {
        std::fs::remove_dir_all(path).expect("is removed");
        std::fs::write(path, "").expect("is written");
    });
    assert_eq!(file, "it is no folder");
}

#[test]
fn the_state_of_another_service_is_refused() {
    let folder = folder();
    drop(open(&folder, FileOptions::default()));
    let expected = r#"failed to open the state store at STATE: it belongs to the service "shop", not to "library""#;
    assert_eq!(refusal(&folder, "library"), expected);
}

#[test]
fn the_state_of_a_newer_version_is_refused() {
    let folder = folder();
    let store = open(&folder, FileOptions::default());
    store.disk.meta.entry_for_tests("format", "3");
    drop(store);
    let expected = "the state at STATE has format 3, written by a newer version; this one reads up to 2: ";
    assert_eq!(refusal(&folder, "shop"), expected);
}

#[test]
fn a_state_that_an_earlier_version_has_begun_keeps_its_format() {
    let folder = folder();
    let store = open(&folder, FileOptions::default());
    assert_eq!(store.disk.format, crate::Format::Binary);
    store.disk.meta.entry_for_tests("format", "1");
    drop(store);
    assert_eq!(open(&folder, FileOptions::default()).disk.format, crate::Format::First);
}

#[test]
fn a_path_that_is_no_folder_is_refused() {
    let file = tempfile::NamedTempFile::new().expect("makes a file");
    let error = FileStore::open(file.path(), FileOptions::default(), "shop").err().expect("is refused");
    assert!(matches!(error, Error::Open { .. }), "{error}");
}

#[tokio::test]
async fn a_damaged_row_is_an_error_that_names_its_key() {
    let folder = folder();
    let store = open(&folder, FileOptions::default());
    store.disk.values.insert(item("p1").to_bytes(), [1, 200]).expect("writes");
    let error = store.read(&[item("p1")]).await.expect_err("is damaged").to_string();
    assert!(error.starts_with(r#"damaged value under item "p1" of tenant "default" in the state store: "#), "{error}");
    assert!(matches!(store.scan(Space::Values).await, Err(Error::Damaged { .. })));
    store.disk.values.insert([1, 9, 9], [1, 0]).expect("writes");
    let expired = store.expire(Timestamp::MAX, &[], Duration::ZERO).await.expect_err("is no key").to_string();
    assert!(expired.contains(r"\x01\t\t"), "{expired}");
}

#[tokio::test]
async fn why_the_newest_commit_failed_is_known_until_one_succeeds() {
    let folder = folder();
    let store = open(&folder, FileOptions::default());
    store.disk.values.insert(item("p1").to_bytes(), [1, 200]).expect("writes");
    assert_eq!(store.trouble(), None);
    let lease = store.acquire(&Writer("suite".into())).await.expect("acquires");
    let (from, to) = (lease.position.clone(), Position("+".into()));
    let commit = |key: &str| Commit {
        from: from.clone(),
        to: to.clone(),
        writes: vec![(item(key), clicks(1))],
        ..Commit::default()
    };
    store.commit(&lease, commit("p1")).await.expect_err("cannot be merged into what is damaged");
    assert!(store.trouble().is_some_and(|trouble| trouble.starts_with("damaged value under item \"p1\"")));
    assert_eq!(store.commit(&lease, commit("p2")).await.expect("answers"), Outcome::Applied);
    assert_eq!(store.trouble(), None);
}

#[tokio::test]
async fn sync_and_dropping_leave_nothing_unwritten() {
    let folder = folder();
    let store = open(&folder, FileOptions::default());
    put(&store, vec![(item("a"), clicks(1))]).await;
    store.sync().expect("flushes");
    assert!(store.stats().await.expect("has a size").bytes.expect("has a size") > 0);
    assert!(store.durable());
}

#[tokio::test]
async fn a_walk_tells_of_all_rows_when_it_has_come_to_its_end() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let store = FileStore::open(folder.path(), FileOptions::default(), "shop").expect("opens");
    let text = |length: usize| crate::Cell::Field(crate::FieldValue::Text("x".repeat(length).as_str().into()));
    let entity = |length| Some(crate::Entity::one(Slot(0), crate::contract::stored(1, text(length))));
    let mut writes: Vec<_> = (0..1_000).map(|number| (item(&number.to_string()), entity(100))).collect();
    let join = Key::new(&Default::default(), crate::Scope::Join("r".into()));
    writes.push((join, entity(5_000)));
    put(&store, writes).await;
    let usage = async |keys| store.usage(keys).await.expect("tells");
    let whole = usage(usize::MAX).await;
    assert!(whole.whole);
    assert_eq!((whole.keys, whole.sampled), (1_001, 1_001));
    let values = whole.room[&crate::Purpose::Values(Slot(0))];
    assert_eq!(values.values, 1_000);
    assert!((100_000..150_000).contains(&values.bytes), "{whole:?}");
    assert!((5_000..5_100).contains(&whole.room[&crate::Purpose::Joins].bytes), "{whole:?}");

    let store = {
        drop(store);
        FileStore::open(folder.path(), FileOptions::default(), "shop").expect("opens")
    };
    let usage = async |keys| store.usage(keys).await.expect("tells");
    let first = usage(400).await;
    assert_eq!((first.whole, first.keys, first.sampled), (false, 1_001, 401), "as far as rows are known");
    assert!(!usage(400).await.whole);
    assert_eq!(usage(400).await, whole);
    assert_eq!(usage(400).await, whole, "until the next walk has come to its end");
}

/// Names of files and what is in them, of a folder and those in it.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = std::fs::read_dir(folder).expect("is there").map(|entry| entry.expect("can be listed").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![(path.clone(), read(&path))] }).collect()
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("can be read")
}

/// Files in which a text can be read.
fn with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let found =
        files(folder).into_iter().filter(|(_, bytes)| bytes.windows(text.len()).any(|of| of == text.as_bytes()));
    found.map(|(path, _)| path).collect()
}

#[tokio::test]
async fn a_copy_of_a_state_is_the_same_without_a_byte_of_what_was_removed() {
    let (folder, copy) = (folder(), folder());
    let options = FileOptions { format: Format::Json, ..FileOptions::default() };
    let store = open(&folder, options);
    let [gone, long] = ["removed-visitor", &"kept".repeat(3000)].map(item);
    let event = Key { scope: crate::Scope::Seen("an event".into()), ..item("") };
    let slots = store.slots(&[Fingerprint(7), Fingerprint(8)]).await.expect("gives slots");
    let written = [&gone, &long, &item("kept-visitor"), &event];
    put(&store, written.map(|key| (key.clone(), clicks(1))).to_vec()).await;
    put(&store, vec![(gone.clone(), None)]).await;
    let lease = store.acquire(&Writer("suite".into())).await.expect("acquires");
    store.sync().expect("is written");
    assert!(!with(folder.path(), "removed-visitor").is_empty(), "it is in the journal");

    store.write_copy(copy.path()).expect("is written");
    drop(store);
    assert_eq!(with(copy.path(), "removed-visitor"), [""; 0].map(PathBuf::from));
    assert!(!with(copy.path(), "kept-visitor").is_empty());
    let store = open(&copy, options);
    let read = store.read(&[gone, long, item("kept-visitor"), event]).await.expect("reads");
    assert_eq!(read.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, true, true]);
    assert_eq!(store.slots(&[Fingerprint(8), Fingerprint(7)]).await.expect("gives slots"), [slots[1], slots[0]]);
    assert_eq!(store.stats().await.expect("has a size").entities, 2);
    let next = store.acquire(&Writer("suite".into())).await.expect("acquires");
    assert_eq!((next.epoch, next.position), (lease.epoch + 1, lease.position));
    put(&store, vec![(item("kept-visitor"), clicks(2))]).await;
    drop(store);
    let read = open(&copy, options).read(&[item("kept-visitor")]).await.expect("reads");
    assert_eq!(read[0].as_deref(), clicks(3).as_ref(), "it goes on");
}

#[tokio::test]
async fn a_state_without_anything_in_it_can_be_copied() {
    let (folder, copy) = (folder(), folder());
    open(&folder, FileOptions::default()).write_copy(copy.path()).expect("is written");
    let store = open(&copy, FileOptions::default());
    put(&store, vec![(item("a"), clicks(1))]).await;
    assert_eq!(store.stats().await.expect("has a size").entities, 1);
}
