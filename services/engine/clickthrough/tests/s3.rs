//! The store in a bucket of a real server, which `RANKWRIGHT_TEST_S3` names.
#![allow(clippy::unwrap_used)]

#[path = "s3/line.rs"]
mod line;

use line::Line;
use rankwright_clickthrough::contract::{Keeps, becomes_durable_when_due, failures};
use rankwright_clickthrough::store::s3::S3Settings;
use rankwright_clickthrough::testing::{header, ranking};
use rankwright_clickthrough::{Clickthrough, ClickthroughStore, Error, Format, Header, Losses, Mark, S3Store};
use rankwright_config::train::Compression;
use rankwright_object::testing::own_bucket;
use rankwright_object::{Bucket, Bytes, Credentials, Problem, Runner, Settings};
use std::net::TcpListener;
use std::time::{Duration, Instant};

const PACKINGS: [Compression; 3] = [Compression::None, Compression::Gzip, Compression::Zstd];

/// Parts of any size in a bucket of its own.
fn settings() -> Option<S3Settings> {
    Some(S3Settings {
        bucket: own_bucket()?,
        prefix: "clicks/throughs".into(),
        format: Format::Binary,
        compress: Compression::Gzip,
        part_bytes: u64::MAX,
        part_records: u64::MAX,
        part_interval: Duration::from_secs(3600),
        block_bytes: 10_000,
    })
}

fn open(settings: &S3Settings) -> S3Store {
    S3Store::open(settings, header(3)).unwrap()
}

fn some(first: u64, count: u64) -> Vec<Clickthrough> {
    (first..first + count).map(|number| ranking(number, 4, 3)).collect()
}

fn read(store: &S3Store) -> (Vec<Clickthrough>, Losses) {
    let mut entries = store.read().unwrap();
    (entries.by_ref().map(|entry| entry.unwrap().1).collect(), entries.losses().clone())
}

/// Does something with the bucket beside the store.
fn beside<T: Send + 'static, F: Future<Output = T> + Send>(
    settings: &S3Settings,
    work: impl FnOnce(Bucket) -> F + Send + 'static,
) -> T {
    let of = settings.bucket.clone();
    Runner::start().unwrap().wait(async move { work(Bucket::connect(&of).await).await })
}

fn keys(settings: &S3Settings) -> Vec<String> {
    let listed = beside(settings, |bucket| async move { bucket.list("").await.unwrap() });
    listed.into_iter().map(|object| object.key).collect()
}

/// Waits until something is so, a minute at most.
fn until(is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "it did not come to that within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Changes the bytes of an object.
fn change(settings: &S3Settings, key: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8> + Send + 'static) {
    let key = key.to_owned();
    beside(settings, |bucket| async move {
        let bytes = bucket.get(&key).await.unwrap().unwrap().to_vec();
        bucket.put(&key, Bytes::from(change(bytes))).await.unwrap();
    });
}

#[test]
fn the_store_in_a_bucket_keeps_its_promises_however_parts_are_written() {
    for format in [Format::Binary, Format::Json] {
        for (compress, part_records) in PACKINGS.into_iter().zip([100, u64::MAX, 7]) {
            let Some(settings) = settings() else { return };
            let open = |place: &str, header: Header| -> Box<dyn ClickthroughStore> {
                let prefix = place.replace(' ', "-");
                let settings = S3Settings { prefix, format, compress, part_records, ..settings.clone() };
                Box::new(S3Store::open(&settings, header).unwrap())
            };
            assert_eq!(failures(Keeps::Forever, &open), [""; 0], "{format:?}, {compress:?}");
        }
    }
}

#[test]
fn all_of_2500_parts_are_read() {
    let Some(settings) = settings() else { return };
    let settings = S3Settings { part_records: 1, ..settings };
    let store = open(&settings);
    store.append(&some(0, 2500)).unwrap();
    store.flush().unwrap();
    assert_eq!(keys(&settings).len(), 2500);
    let (records, losses) = read(&open(&settings));
    assert!(records == some(0, 2500) && losses == Losses::default(), "{} records, {losses:?}", records.len());
    assert_eq!(open(&settings).status().parts, 2500);
}

#[test]
fn parts_are_read_however_they_were_written_and_whatever_lies_beside_them() {
    let Some(settings) = settings() else { return };
    let mut first = 0;
    for format in [Format::Binary, Format::Json] {
        for compress in PACKINGS {
            let settings = S3Settings { format, compress, ..settings.clone() };
            open(&settings).append(&some(first, 10)).unwrap();
            first += 10;
        }
    }
    beside(&settings, |bucket| async move {
        bucket.put("clicks/throughs/README.txt", Bytes::from_static(b"no part")).await.unwrap();
        bucket.put("clicks/throughs-2/x.bin", Bytes::from_static(b"no part")).await.unwrap();
    });
    let mut suffixes: Vec<String> =
        keys(&settings).iter().filter_map(|key| Some(key.split_once("Z-10-")?.1[33..].to_owned())).collect();
    suffixes.sort();
    assert_eq!(suffixes, ["bin", "bin.gz", "bin.zst", "json", "json.gz", "json.zst"]);
    assert_eq!(read(&open(&settings)), (some(0, 60), Losses::default()));
}

#[test]
fn a_part_is_put_when_it_is_large_or_old_enough() {
    let Some(settings) = settings() else { return };
    let by_records = S3Settings { part_records: 10, prefix: "records".into(), ..settings.clone() };
    let by_bytes = S3Settings { part_bytes: 4000, prefix: "bytes".into(), ..settings.clone() };
    let by_age = S3Settings { part_interval: Duration::ZERO, prefix: "age".into(), ..settings.clone() };
    for (settings, at_least) in [(by_records, 9), (by_bytes, 3), (by_age, 90)] {
        let store = open(&settings);
        for number in 0..100 {
            store.append(&some(number, 1)).unwrap();
        }
        std::mem::forget(store); // never asked to write anything
        until(|| keys(&settings).iter().filter(|key| key.starts_with(&settings.prefix)).count() >= at_least);
    }
    let store = open(&settings);
    store.append(&some(0, 100)).unwrap();
    assert_eq!((store.flush_due().unwrap(), store.durable(), store.status().parts), (Mark(0), Mark(0), 1));
    assert_eq!(read(&store), (some(0, 100), Losses::default()));
    assert_eq!(store.flush().unwrap(), Mark(100));
}

#[test]
fn records_become_durable_in_the_background_once_they_are_due() {
    let Some(settings) = settings() else { return };
    let age = Duration::from_millis(50);
    becomes_durable_when_due(&open(&S3Settings { part_interval: age, ..settings }), &some(0, 5), age);
}

#[test]
fn records_sent_again_after_a_kill_make_no_second_part_and_are_read_once() {
    let Some(settings) = settings() else { return };
    let store = open(&settings);
    store.append(&some(0, 50)).unwrap();
    store.flush().unwrap();
    std::mem::forget(store); // killed, before it could note that they are durable
    let store = open(&settings);
    store.append(&some(0, 50)).unwrap();
    assert_eq!(store.flush().unwrap(), Mark(50));
    assert_eq!(keys(&settings).len(), 1);
    store.append(&some(40, 20)).unwrap(); // in other parts this time
    store.flush().unwrap();
    let (records, losses) = read(&store);
    assert_eq!((records, losses.duplicates, losses.is_empty()), (some(0, 60), 10, true));
    assert_eq!(keys(&settings).len(), 2);
}

#[test]
fn eight_writers_at_once_lose_nothing() {
    let Some(settings) = settings() else { return };
    let settings = S3Settings { part_records: 20, ..settings };
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let settings = &settings;
            scope.spawn(move || {
                let store = open(settings);
                for batch in 0..20 {
                    store.append(&some(1000 * writer + 10 * batch, 10)).unwrap();
                }
                store.flush().unwrap();
            });
        }
    });
    let (mut records, losses) = read(&open(&settings));
    records.sort_by_key(|record| record.timestamp);
    let expected: Vec<Clickthrough> = (0..8).flat_map(|writer| some(1000 * writer, 200)).collect();
    assert!(records == expected && losses == Losses::default(), "{} records, {losses:?}", records.len());
}

#[test]
fn damaged_and_vanished_parts_are_named_and_the_rest_is_read() {
    for compress in PACKINGS {
        let Some(settings) = settings() else { return };
        let settings = S3Settings { part_records: 100, compress, block_bytes: 3000, ..settings };
        let store = open(&settings);
        store.append(&some(0, 500)).unwrap();
        store.flush().unwrap();
        let keys = keys(&settings);
        change(&settings, &keys[0], |mut bytes| {
            let middle = bytes.len() / 2;
            bytes[middle..middle + 8].fill(0xaa);
            bytes
        });
        change(&settings, &keys[1], |bytes| bytes[..bytes.len() * 2 / 3].to_vec());
        change(&settings, &keys[2], |_| Vec::new());
        let mut entries = store.read().unwrap();
        let gone = keys[3].clone();
        beside(&settings, |bucket| async move { bucket.delete(&gone).await.unwrap() });
        let records: Vec<Clickthrough> = entries.by_ref().map(|entry| entry.unwrap().1).collect();
        let of = |part: u64| {
            let part = some(100 * part, 100);
            records.iter().filter(|record| part.contains(record)).count()
        };
        assert!((50..100).contains(&of(0)) && (30..80).contains(&of(1)), "{compress:?}: {} and {}", of(0), of(1));
        assert_eq!((of(2), of(4)), (0, 100));
        let losses = entries.losses();
        let named = |key: &String| losses.named.iter().any(|loss| loss.place.ends_with(key.as_str()));
        assert!(keys[..3].iter().all(named) && !named(&keys[4]), "{compress:?}: {losses:?}");
        // the list may have been followed by the fetch of the part before it was deleted
        assert!(named(&keys[3]) || of(3) == 100, "{compress:?}: {losses:?}");
    }
}

#[test]
fn a_part_that_is_gone_is_a_loss() {
    let Some(settings) = settings() else { return };
    let settings = S3Settings { part_records: 1, ..settings };
    let store = open(&settings);
    store.append(&some(0, 40)).unwrap();
    store.flush().unwrap();
    let mut entries = store.read().unwrap();
    let last = keys(&settings)[39].clone(); // further ahead than what is fetched before it is asked for
    beside(&settings, |bucket| async move { bucket.delete(&last).await.unwrap() });
    assert_eq!(entries.by_ref().filter(Result::is_ok).count(), 39);
    assert_eq!((entries.losses().damaged, entries.losses().named[0].reason), (1, "gone since it was listed"));
}

fn problem(settings: &S3Settings) -> Problem {
    match S3Store::open(settings, header(3)).map(|_| ()).unwrap_err() {
        Error::Object(error) => error.problem,
        other => panic!("{other}"),
    }
}

#[test]
fn a_bucket_that_cannot_be_used_is_refused_when_it_is_opened() {
    let Some(settings) = settings() else { return };
    let with = |bucket: Settings| S3Settings { bucket, ..settings.clone() };
    let missing = with(Settings { bucket: "missing".into(), ..settings.bucket.clone() });
    assert!(matches!(problem(&missing), Problem::NoBucket { .. }));
    if std::env::var("AWS_ACCESS_KEY_ID").is_err() {
        let key = std::env::var("RANKWRIGHT_TEST_S3_KEY").unwrap();
        let credentials = Some(Credentials::new(key, "wrong"));
        assert_eq!(problem(&with(Settings { credentials, ..settings.bucket.clone() })), Problem::WrongSecret);
    }
}

#[test]
fn a_service_that_is_not_there_is_named() {
    let endpoint = Some(format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()));
    let bucket = Settings { endpoint, credentials: Some(Credentials::new("k", "s")), ..Settings::new("b", "r") };
    let compress = Compression::None;
    let (part_bytes, part_records, block_bytes) = (1000, 1000, 1000);
    let (prefix, format, part_interval) = (String::new(), Format::Json, Duration::MAX);
    let settings =
        S3Settings { bucket, prefix, format, compress, part_bytes, part_records, part_interval, block_bytes };
    assert!(matches!(problem(&settings), Problem::Unreachable { .. }));
}

#[test]
fn a_put_whose_answer_is_lost_makes_one_object_and_is_durable_when_it_is_known() {
    let Some(settings) = settings() else { return };
    let line = Line::to(settings.bucket.endpoint.as_deref().unwrap());
    let through = Settings { endpoint: Some(line.address.clone()), ..settings.bucket.clone() };
    let store = open(&S3Settings { bucket: through, ..settings.clone() });
    store.append(&some(0, 10)).unwrap();
    line.break_answers(true);
    assert!(matches!(store.flush(), Err(Error::Object(_))));
    assert_eq!((store.durable(), keys(&settings).len()), (Mark(0), 1));
    assert!(store.append(&some(10, 10)).is_err(), "takes more while parts do not arrive");
    line.break_answers(false);
    assert_eq!(store.append(&some(10, 10)).unwrap(), Mark(20));
    assert_eq!((store.durable(), keys(&settings).len()), (Mark(10), 1));
    assert_eq!(store.flush().unwrap(), Mark(20));
    assert_eq!((keys(&settings).len(), read(&store)), (2, (some(0, 20), Losses::default())));
}

#[test]
fn a_service_removes_its_own_parts_and_no_others() {
    let Some(settings) = settings() else { return };
    let of = |service: &str| S3Store::open(&settings, Header { service: service.into(), ..header(3) }).unwrap();
    for (service, first) in [("shop", 0), ("other", 100), ("shop", 200)] {
        let store = of(service);
        store.append(&some(first, 3)).unwrap();
        store.flush().unwrap();
    }
    beside(&settings, |bucket| async move {
        bucket.put("clicks/throughs/README", Bytes::from_static(b"no part")).await.unwrap();
    });
    let purged = of("shop").purge().unwrap();
    assert_eq!((purged.removed, purged.left), (2, 1));
    assert_eq!(read(&of("other")).0.len(), 3, "another service keeps its own");
    assert_eq!(keys(&settings).len(), 2, "what is no part is left alone");
    assert_eq!(of("shop").purge().unwrap().removed, 0);
}

#[test]
fn a_part_of_which_nobody_can_tell_whose_it_is_stays_and_is_named() {
    let Some(settings) = settings() else { return };
    let store = S3Store::open(&settings, header(3)).unwrap();
    store.append(&some(0, 3)).unwrap();
    store.flush().unwrap();
    let key = keys(&settings).remove(0);
    let name = key.clone();
    beside(&settings, |bucket| async move {
        bucket.delete(&name).await.unwrap();
        bucket.put(&name, Bytes::from_static(b"RW????")).await.unwrap();
    });
    let purged = store.purge().unwrap();
    assert_eq!((purged.removed, purged.left, purged.unreadable.len()), (0, 0, 1));
    assert!(purged.unreadable[0].ends_with(&key), "{:?}", purged.unreadable);
    assert_eq!(keys(&settings), [key]);
}
