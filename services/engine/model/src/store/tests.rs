#![allow(clippy::unwrap_used)]

use super::*;
use crate::version::{Kind, Metadata, Verdict};
use rankwright_event::Timestamp;
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, thread};

fn version(model: &str, second: i64) -> Version {
    let metadata = Metadata {
        model: model.into(),
        kind: Kind::Noop,
        created_at: Timestamp::from_millis(second * 1000),
        columns: Vec::new(),
        metrics: BTreeMap::new(),
        iterations: 0,
        weights: Vec::new(),
        trained_on: None,
        settings: Default::default(),
        replaced: None,
        record: Default::default(),
    };
    Version::new(metadata, Vec::new(), second.to_le_bytes().to_vec()).unwrap()
}

/// What every store promises.
fn store_contract(store: &dyn VersionStore) {
    let versions: Vec<Version> = (1..=5).map(|second| version("m", second)).collect();
    let ids: Vec<VersionId> = versions.iter().map(|version| version.id().clone()).collect();

    assert!(store.list("m").unwrap().is_empty());
    assert!(store.current("m").unwrap().is_none());
    assert!(store.load("m", None).unwrap().is_none());
    assert!(matches!(store.load("m", Some(&ids[0])), Err(StoreError::Unknown { .. })));
    assert!(matches!(store.select("m", &ids[0]), Err(StoreError::Unknown { .. })));
    store.keep("m", 1, &[]).unwrap();

    for version in &versions {
        store.publish(version, Place::Any).unwrap();
        assert_eq!(store.current("m").unwrap().as_ref(), Some(version.id()));
        assert_eq!(store.load("m", None).unwrap().as_ref(), Some(version));
    }
    store.publish(&versions[4], Place::Any).unwrap(); // the same once more
    assert_eq!(store.list("m").unwrap(), ids);
    assert_eq!(store.load("m", Some(&ids[1])).unwrap().as_ref(), Some(&versions[1]));

    store.select("m", &ids[0]).unwrap();
    assert_eq!(store.load("m", None).unwrap().as_ref(), Some(&versions[0]));
    store.keep("m", 2, &[ids[2].clone()]).unwrap();
    assert_eq!(store.list("m").unwrap(), [&ids[0], &ids[2], &ids[3], &ids[4]].map(Clone::clone));
    store.keep("m", 2, &[]).unwrap();
    assert_eq!(store.list("m").unwrap(), [ids[0].clone(), ids[3].clone(), ids[4].clone()]);

    the_way_back(store);
    beside_the_current_one(store);
    what_a_gate_refused(store);

    for name in ["../m", "a/b", "", ".", "мод ель", "current"] {
        store.publish(&version(name, 7), Place::Told).unwrap();
        assert_eq!(store.list(name).unwrap().len(), 1, "{name:?}");
        assert_eq!(store.load(name, None).unwrap(), Some(version(name, 7)), "{name:?}");
    }
    assert_eq!(store.list("m").unwrap().len(), 3);
}

/// A version that is brought in serves when it is selected.
fn beside_the_current_one(store: &dyn VersionStore) {
    let [first, second] = [1, 2].map(|second| version("beside", second));
    store.add(&first).unwrap();
    assert_eq!((store.current("beside").unwrap(), store.list("beside").unwrap().len()), (None, 1));
    store.publish(&second, Place::Told).unwrap();
    let third = version("beside", 3);
    store.add(&third).unwrap();
    store.add(&third).unwrap(); // the same once more
    assert_eq!(store.current("beside").unwrap().as_ref(), Some(second.id()));
    assert_eq!(store.load("beside", Some(third.id())).unwrap(), Some(third.clone()));
    store.select("beside", third.id()).unwrap();
    assert_eq!(store.load("beside", None).unwrap(), Some(third));
    assert_eq!(store.previous("beside").unwrap().as_ref(), Some(second.id()));
}

/// It goes by what was current, not by what was trained.
fn the_way_back(store: &dyn VersionStore) {
    let publish = |second| {
        let (version, current) = (version("back", second), store.current("back").unwrap());
        let version = match current {
            Some(current) => version.in_place_of(current).unwrap(),
            None => version,
        };
        store.publish(&version, Place::Told).unwrap();
        version.id().clone()
    };
    assert_eq!(store.previous("back").unwrap(), None);
    let [first, second, third] = [1, 2, 3].map(publish);
    assert_eq!(store.previous("back").unwrap().as_ref(), Some(&second));
    store.select("back", &second).unwrap();
    assert_eq!(store.previous("back").unwrap().as_ref(), Some(&first));
    let fourth = publish(4);
    assert_eq!(store.previous("back").unwrap().as_ref(), Some(&second), "the third was gone back from");
    let published = store.load("back", Some(&fourth)).unwrap().unwrap();
    store.publish(&published, Place::Told).unwrap(); // once more, as where an answer was lost: it is current in that place already
    // an answer was lost, and the version is rolled back before it is published once more
    store.select("back", &second).unwrap();
    let again = store.publish(&published, Place::Told).expect_err("somebody has gone back");
    assert!(matches!(again, StoreError::Moved { .. }), "{again}");
    assert_eq!(store.current("back").unwrap().as_ref(), Some(&second));
    store.select("back", &fourth).unwrap();
    let late = version("back", 5).in_place_of(third.clone()).unwrap();
    let moved = store.publish(&late, Place::Told).expect_err("another one is current");
    assert!(
        matches!(&moved, StoreError::Moved { current: Some(current), .. } if *current == fourth.to_string()),
        "{moved}"
    );
    let first_of_all = store.publish(&version("back", 6), Place::Told).expect_err("there is one already");
    assert!(matches!(first_of_all, StoreError::Moved { .. }), "{first_of_all}");
    assert_eq!((store.current("back").unwrap().as_ref(), store.list("back").unwrap().len()), (Some(&fourth), 4));
    store.keep("back", 1, &[first.clone(), third]).unwrap();
    assert_eq!(store.current("back").unwrap().as_ref(), Some(&fourth));
    assert_eq!(
        store.previous("back").unwrap().as_ref(),
        Some(&first),
        "the one before it is gone, and that before the one"
    );
}

fn refusal(second: i64) -> Refusal {
    let verdict = Verdict { reason: "Worse".into(), message: format!("0.5 is worse, «{second}»") };
    Refusal { at: Timestamp::from_millis(second * 1000), verdict }
}

fn what_a_gate_refused(store: &dyn VersionStore) {
    assert_eq!(store.refusal("gated").unwrap(), None);
    for second in [1, 2] {
        let refusal = refusal(second);
        store.refuse("gated", &refusal).unwrap();
        assert_eq!(store.refusal("gated").unwrap(), Some(refusal), "the newest one");
    }
    assert!(store.list("gated").unwrap().is_empty() && store.current("gated").unwrap().is_none());
    assert_eq!(store.refusal("refused").unwrap(), None, "of another model");
}

fn in_redis(settings: rankwright_redis::Settings) {
    let service = format!("test-{:016x}", fastrand::u64(..));
    store_contract(&RedisVersions::open(settings, &service).unwrap());
}

#[test]
fn redis_keeps_the_contract() {
    rankwright_redis::testing::server().into_iter().for_each(in_redis);
    rankwright_redis::testing::older().into_iter().for_each(in_redis);
}

#[test]
fn a_redis_cluster_keeps_the_contract() {
    rankwright_redis::testing::cluster().into_iter().for_each(in_redis);
}

#[test]
fn a_redis_that_sentinels_name_keeps_the_contract() {
    rankwright_redis::testing::sentinel().into_iter().for_each(in_redis);
}

#[test]
fn memory_keeps_the_contract() {
    store_contract(&MemoryVersions::default());
}

#[test]
fn a_directory_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    store_contract(&Versions::open(dir.path().join("deep/er")).unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is written outside");
}

#[test]
fn another_process_finds_what_was_published() {
    let dir = tempfile::tempdir().unwrap();
    Versions::open(dir.path()).unwrap().publish(&version("m", 1), Place::Any).unwrap();
    let other = Versions::open(dir.path()).unwrap();
    assert_eq!(other.load("m", None).unwrap(), Some(version("m", 1)));
    assert_eq!(files(&dir.path().join("m")), [format!("{}.model", version("m", 1).id()), "current".to_owned()]);
}

/// Names in a folder, in order.
fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn what_a_killed_write_left_goes_with_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = Versions::open(dir.path()).unwrap();
    let writes: [&dyn Fn() -> Result<(), StoreError>; 3] =
        [&|| store.add(&version("m", 1)), &|| store.publish(&version("m", 2), Place::Any), &|| {
            store.refuse("m", &refusal(1))
        }];
    for write in writes {
        fs::create_dir_all(dir.path().join("m")).unwrap();
        fs::write(dir.path().join("m/unfinished"), "more than half of a version, but not all of it").unwrap();
        write().unwrap();
        assert!(!files(&dir.path().join("m")).contains(&"unfinished".to_owned()));
    }
    assert_eq!(store.load("m", None).unwrap(), Some(version("m", 2)));
    assert_eq!(store.refusal("m").unwrap(), Some(refusal(1)));
}

#[test]
fn of_two_that_publish_a_first_version_at_once_one_succeeds() {
    for attempt in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let publish = |second| Versions::open(dir.path()).unwrap().publish(&version("m", second), Place::Told);
        let [one, other] = thread::scope(|scope| {
            let threads = [1, 2].map(|second| scope.spawn(move || publish(second)));
            threads.map(|thread| thread.join().unwrap())
        });
        let refused = [&one, &other].map(|outcome| matches!(outcome, Err(StoreError::Moved { .. })));
        assert!(one.is_ok() != other.is_ok() && refused.contains(&true), "attempt {attempt}: {one:?}, {other:?}");
    }
}

#[test]
fn a_file_that_was_cut_or_swapped_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Versions::open(dir.path()).unwrap();
    let (old, new) = (version("m", 1), version("m", 2));
    store.publish(&old, Place::Any).unwrap();
    store.publish(&new, Place::Any).unwrap();
    let file = |version: &Version| dir.path().join(format!("m/{}.model", version.id()));

    fs::copy(file(&old), file(&new)).unwrap();
    assert!(matches!(store.load("m", None), Err(StoreError::Inconsistent { .. })));
    fs::write(file(&new), &new.encode().unwrap()[..30]).unwrap();
    assert!(store.load("m", None).unwrap_err().to_string().contains(new.id().as_str()));
    fs::write(dir.path().join("m/current"), "../../etc/passwd").unwrap();
    assert!(matches!(store.load("m", None), Err(StoreError::Inconsistent { .. })));
}
