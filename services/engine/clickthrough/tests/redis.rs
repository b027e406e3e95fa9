//! The store in Redis servers that `RANKWRIGHT_TEST_REDIS` and its like name.
#![allow(clippy::unwrap_used)]

use rankwright_clickthrough::contract::{Keeps, becomes_durable_when_due, failures};
use rankwright_clickthrough::store::redis::RedisSettings;
use rankwright_clickthrough::testing::{header, ranking};
use rankwright_clickthrough::{
    Clickthrough, ClickthroughStore, Error, Format, Header, Losses, Mark, RedisStore, Subject, Who,
};
use rankwright_object::Runner;
use rankwright_redis::redis::{Cmd, FromRedisValue, cmd};
use rankwright_redis::{Link, Settings, testing};
use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::time::Duration;

const YEAR: Duration = Duration::from_secs(365 * 86_400);

/// A service of its own. Its keys go with it, and those of services whose names begin as its own does.
struct Service {
    name: String,
    settings: RedisSettings,
}

/// One in a server, parts of any size.
fn service() -> Option<Service> {
    testing::server().map(Service::on)
}

/// One in each kind of servers that there is.
fn services() -> Vec<Service> {
    let servers = [testing::server(), testing::older(), testing::cluster(), testing::sentinel()];
    servers.into_iter().flatten().map(Service::on).collect()
}

impl Service {
    fn on(server: Settings) -> Self {
        let settings = RedisSettings {
            part_bytes: u64::MAX,
            part_records: u64::MAX,
            part_interval: Duration::from_secs(3600),
            block_bytes: 10_000,
            ..RedisSettings::new(server, Format::Binary, YEAR)
        };
        Self { name: format!("parts-{:016x}", RandomState::new().hash_one(0)), settings }
    }

    fn with(mut self, change: impl FnOnce(&mut RedisSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    fn open(&self) -> RedisStore {
        RedisStore::open(&self.settings, Header { service: self.name.clone(), ..header(3) }).unwrap()
    }

    fn prefix(&self) -> String {
        format!("rw:{}:parts:", self.name)
    }

    /// Sends a command beside the store.
    fn beside<T: FromRedisValue + Send + 'static>(&self, key: &str, command: &Cmd) -> T {
        let (link, key, command) =
            (Link::new(self.settings.server.clone(), None).unwrap(), key.to_owned(), command.clone());
        Runner::start().unwrap().wait(async move {
            let command = &command;
            let answer = link.send(&key, |mut to| async move { command.query_async(&mut to).await });
            answer.await.unwrap()
        })
    }

    /// The keys of parts by the index, in order.
    fn keys(&self) -> Vec<String> {
        let index = format!("{}index", self.prefix());
        let entries: Vec<String> = self.beside(&index, cmd("ZRANGE").arg(&index).arg(0).arg(-1));
        let mut names: Vec<&str> = entries.iter().map(|entry| entry.split_once(' ').unwrap().0).collect();
        names.sort_unstable();
        names.into_iter().map(|name| self.prefix() + name).collect()
    }

    fn delete(&self, key: &str) {
        self.beside::<()>(key, cmd("DEL").arg(key));
    }

    /// Changes the bytes of a part.
    fn change(&self, key: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let bytes: Vec<u8> = self.beside(key, cmd("GET").arg(key));
        self.beside::<()>(key, cmd("SET").arg(key).arg(change(bytes)).arg("PX").arg(100_000));
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let (link, prefix) = (Link::new(self.settings.server.clone(), None).unwrap(), format!("rw:{}", self.name));
        Runner::start().unwrap().wait(async move { link.remove_all(&prefix).await }).unwrap();
    }
}

fn some(first: u64, count: u64) -> Vec<Clickthrough> {
    (first..first + count).map(|number| ranking(number, 4, 3)).collect()
}

fn read(store: &RedisStore) -> (Vec<Clickthrough>, Losses) {
    let mut entries = store.read().unwrap();
    (entries.by_ref().map(|entry| entry.unwrap().1).collect(), entries.losses().clone())
}

#[test]
fn the_store_in_redis_keeps_its_promises_however_parts_are_written_and_whoever_serves_them() {
    for service in services() {
        for (format, part_records) in [(Format::Binary, 100), (Format::Binary, 7), (Format::Json, u64::MAX)] {
            let open = |place: &str, header: Header| -> Box<dyn ClickthroughStore> {
                let own = format!("{}.{format:?}.{part_records}.{}", service.name, place.replace(' ', "-"));
                let settings = RedisSettings { format, part_records, ..service.settings.clone() };
                Box::new(RedisStore::open(&settings, Header { service: own, ..header }).unwrap())
            };
            assert_eq!(failures(Keeps::Forever, &open), [""; 0], "{format:?} in {}", service.settings.server);
        }
    }
}

#[test]
fn all_of_2500_parts_are_read() {
    for service in services() {
        let service = service.with(|settings| settings.part_records = 1);
        let store = service.open();
        store.append(&some(0, 2500)).unwrap();
        store.flush().unwrap();
        assert_eq!(service.keys().len(), 2500);
        let (records, losses) = read(&service.open());
        assert!(records == some(0, 2500) && losses == Losses::default(), "{} records, {losses:?}", records.len());
        assert_eq!(service.open().status().parts, 2500);
    }
}

#[test]
fn pages_of_the_index_lose_nothing_where_many_parts_end_at_the_same_time() {
    let Some(service) = service() else { return };
    let service = service.with(|settings| settings.part_records = 1);
    let store = service.open();
    store.append(&some(0, 2500)).unwrap();
    store.flush().unwrap();
    let index = format!("{}index", service.prefix());
    let entries: Vec<(String, f64)> =
        service.beside(&index, cmd("ZRANGE").arg(&index).arg(0).arg(-1).arg("WITHSCORES"));
    let mut same = cmd("ZADD");
    same.arg(&index);
    entries[200..2300].iter().for_each(|(entry, _)| {
        same.arg(entries[200].1).arg(entry);
    });
    service.beside::<()>(&index, &same);
    assert_eq!(read(&service.open()), (some(0, 2500), Losses::default()));
}

#[test]
fn every_part_has_its_time_to_live_and_is_not_read_after_it() {
    let Some(service) = service() else { return };
    let store = service.open();
    store.append(&some(0, 10)).unwrap();
    store.flush().unwrap();
    let lives: i64 = service.beside(&service.keys()[0], cmd("TTL").arg(&service.keys()[0]));
    assert!((365 * 86_400..=365 * 86_400 + 600).contains(&lives), "{lives} s");
    let service = service.with(|settings| settings.ttl = Duration::from_secs(5));
    let short = service.open();
    short.append(&some(10, 10)).unwrap();
    short.flush().unwrap();
    assert_eq!(service.keys().len(), 2);
    std::thread::sleep(Duration::from_millis(5100));
    assert_eq!(read(&short), (some(0, 10), Losses::default()), "what was given up is no loss");
    store.append(&some(20, 10)).unwrap();
    store.flush().unwrap();
    assert_eq!(service.keys().len(), 2, "a part that was given up leaves the index with the next one");
    assert_eq!(read(&service.open()).0, [some(0, 10), some(20, 10)].concat());
}

#[test]
fn a_part_that_is_written_anew_without_a_visitor_lives_no_longer_than_before() {
    let Some(service) = service() else { return };
    let store = service.open();
    let records = some(0, 10);
    store.append(&records).unwrap();
    store.flush().unwrap();
    let key = service.keys().remove(0);
    let index = format!("{}index", service.prefix());
    let lives = |key: &str| service.beside::<i64>(key, cmd("PTTL").arg(key));
    // as if it had been put a while ago
    let (entry, until): (String, f64) = service
        .beside::<Vec<(String, f64)>>(&index, cmd("ZRANGE").arg(&index).arg(0).arg(-1).arg("WITHSCORES"))
        .remove(0);
    let earlier = until - (YEAR - Duration::from_secs(1000)).as_millis() as f64;
    service.beside::<i64>(&index, cmd("ZADD").arg(&index).arg(earlier).arg(&entry));
    service.beside::<i64>(&key, cmd("PEXPIRE").arg(&key).arg(1_600_000));
    let user = records[0].user.clone().unwrap();
    let forgotten = store.forget(&Subject { tenant: records[0].tenant.clone(), who: Who::User(user) }).unwrap();
    assert!(forgotten.parts == 1, "{forgotten:?}");
    let left = service.keys();
    if let [anew] = &left[..] {
        assert!(*anew != key && lives(anew) <= 1_600_000, "{} ms", lives(anew));
        let score: f64 = service
            .beside::<Vec<(String, f64)>>(&index, cmd("ZRANGE").arg(&index).arg(0).arg(-1).arg("WITHSCORES"))[0]
            .1;
        assert!(score <= earlier + 1000.0, "{score} {earlier}");
    } else {
        panic!("{left:?}");
    }
    assert_eq!(read(&service.open()).0, records[1..]);
}

/// A put that was killed before its entry, and a removal behind it.
#[test]
fn who_is_forgotten_is_in_no_part_that_is_not_listed() {
    for service in services() {
        let store = service.open();
        let records = some(0, 10);
        store.append(&records).unwrap();
        store.flush().unwrap();
        let (listed, index) = (service.keys().remove(0), format!("{}index", service.prefix()));
        service.delete(&index);
        store.append(&some(10, 10)).unwrap();
        store.flush().unwrap();
        let user = records[0].user.clone().unwrap();
        let forgotten = store.forget(&Subject { tenant: records[0].tenant.clone(), who: Who::User(user) }).unwrap();
        assert_eq!((forgotten.unlisted, forgotten.left.len()), (1, 0), "{forgotten:?}");
        assert_eq!(service.beside::<u64>(&listed, cmd("EXISTS").arg(&listed)), 0);
        assert_eq!(read(&service.open()).0, some(10, 10), "what is listed is there");
    }
}

#[test]
fn what_was_given_up_is_not_put_and_what_comes_later_is() {
    let Some(service) = service() else { return };
    let store = service.open();
    store.append(&some(0, 10)).unwrap();
    let before = store.flush().unwrap();
    store.append(&some(10, 10)).unwrap();
    store.give_up();
    assert_eq!((store.durable(), store.status().records), (before, 10));
    store.flush().unwrap();
    assert_eq!(read(&store).0, some(0, 10));
    let mark = store.append(&some(20, 10)).unwrap();
    assert!(store.durable() < mark);
    store.flush().unwrap();
    assert!(store.durable() >= mark);
    store.append(&some(30, 10)).unwrap();
    store.give_up();
    drop(store);
    assert_eq!(read(&service.open()).0, [some(0, 10), some(20, 10)].concat());
}

#[test]
fn a_part_that_is_read_longer_than_it_lives_is_read_to_its_end() {
    let Some(service) = service() else { return };
    let service = service.with(|settings| (settings.part_records, settings.ttl) = (1, Duration::from_secs(5)));
    let store = service.open();
    store.append(&some(0, 30)).unwrap();
    store.flush().unwrap();
    let mut entries = store.read().unwrap();
    assert!(entries.next().unwrap().is_ok());
    std::thread::sleep(Duration::from_millis(5100));
    let left = entries.by_ref().filter(Result::is_ok).count();
    assert!(entries.losses().is_empty() && left > 0, "{left} left, {:?}", entries.losses());
}

#[test]
fn a_part_is_put_when_it_is_large_or_old_enough() {
    type Change = fn(&mut RedisSettings);
    let cases: [(Change, usize); 3] = [
        (|settings| settings.part_records = 10, 10),
        (|settings| settings.part_bytes = 4000, 6),
        (|settings| settings.part_interval = Duration::ZERO, 100),
    ];
    for (change, at_least) in cases {
        let Some(service) = service() else { return };
        let service = service.with(change);
        let store = service.open();
        for number in 0..100 {
            store.append(&some(number, 1)).unwrap();
        }
        std::mem::forget(store); // killed; the last four parts may not have arrived
        let parts = service.keys().len();
        assert!(parts + 4 >= at_least && parts > 0, "{parts} parts");
    }
}

#[test]
fn records_become_durable_in_the_background_once_they_are_due() {
    let Some(service) = service() else { return };
    let age = Duration::from_millis(50);
    becomes_durable_when_due(&service.with(|settings| settings.part_interval = age).open(), &some(0, 5), age);
}

#[test]
fn records_sent_again_after_a_kill_make_no_second_part_and_are_read_once() {
    for service in services() {
        let store = service.open();
        store.append(&some(0, 50)).unwrap();
        store.flush().unwrap();
        std::mem::forget(store); // killed, before it could note that they are durable
        let store = service.open();
        store.append(&some(0, 50)).unwrap();
        assert_eq!((store.flush().unwrap(), service.keys().len()), (Mark(50), 1));
        store.append(&some(40, 20)).unwrap(); // in other parts this time
        store.flush().unwrap();
        let (records, losses) = read(&store);
        assert_eq!((records, losses.duplicates, losses.is_empty()), (some(0, 60), 10, true));
    }
}

#[test]
fn a_part_whose_entry_was_not_written_is_written_again() {
    let Some(service) = service() else { return };
    let store = service.open();
    store.append(&some(0, 50)).unwrap();
    store.flush().unwrap();
    service.delete(&format!("{}index", service.prefix())); // as if killed between the two
    let store = service.open();
    assert_eq!(read(&store), (vec![], Losses::default()));
    store.append(&some(0, 50)).unwrap();
    assert_eq!(store.flush().unwrap(), Mark(50));
    assert_eq!(read(&service.open()), (some(0, 50), Losses::default()));
}

#[test]
fn eight_writers_at_once_lose_nothing() {
    for service in services() {
        let service = service.with(|settings| settings.part_records = 20);
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let service = &service;
                scope.spawn(move || {
                    let store = service.open();
                    for batch in 0..20 {
                        store.append(&some(1000 * writer + 10 * batch, 10)).unwrap();
                    }
                    store.flush().unwrap();
                });
            }
        });
        let (mut records, losses) = read(&service.open());
        records.sort_by_key(|record| record.timestamp);
        let expected: Vec<Clickthrough> = (0..8).flat_map(|writer| some(1000 * writer, 200)).collect();
        assert!(records == expected && losses == Losses::default(), "{} records, {losses:?}", records.len());
    }
}

#[test]
fn damaged_parts_are_named_and_the_rest_is_read() {
    for format in [Format::Binary, Format::Json] {
        let Some(service) = service() else { return };
        let service = service.with(|settings| {
            (settings.format, settings.part_records, settings.block_bytes) = (format, 100, 3000);
        });
        let store = service.open();
        store.append(&some(0, 400)).unwrap();
        store.flush().unwrap();
        let keys = service.keys();
        service.change(&keys[0], |mut bytes| {
            let middle = bytes.len() / 2;
            bytes[middle..middle + 8].fill(0xaa);
            bytes
        });
        service.change(&keys[1], |bytes| bytes[..bytes.len() * 2 / 3].to_vec());
        service.change(&keys[2], |_| Vec::new());
        let (records, losses) = read(&store);
        let of = |part: u64| some(100 * part, 100).iter().filter(|record| records.contains(record)).count();
        assert!((50..100).contains(&of(0)) && (30..80).contains(&of(1)), "{format:?}: {} and {}", of(0), of(1));
        assert_eq!((of(2), of(3)), (0, 100));
        let named = |key: &String| losses.named.iter().any(|loss| loss.place.starts_with(key.as_str()));
        assert!(keys[..3].iter().all(named) && !named(&keys[3]), "{format:?}: {losses:?}");
    }
}

#[test]
fn a_part_that_is_gone_before_its_time_is_a_loss_that_is_told_once() {
    for service in services() {
        let service = service.with(|settings| settings.part_records = 1);
        let store = service.open();
        store.append(&some(0, 40)).unwrap();
        store.flush().unwrap();
        let gone = service.keys()[39].clone();
        service.delete(&gone);
        let (records, losses) = read(&store);
        assert_eq!((records, losses.damaged, losses.named[0].reason), (some(0, 39), 1, "gone since it was listed"));
        assert!(losses.named[0].place.starts_with(&gone), "{losses:?}");
        assert_eq!(read(&store), (some(0, 39), Losses::default()));
        assert_eq!(service.keys().len(), 39);
    }
}

#[test]
fn a_server_that_is_not_there_is_named_and_no_password_is() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Settings { password: Some("hunter2".into()), ..Settings::new("127.0.0.1", nobody.port()) };
    let settings = RedisSettings::new(server, Format::Binary, YEAR);
    let error = RedisStore::open(&settings, header(3)).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Redis(_)), "{error}");
    assert!(error.to_string().starts_with(&format!("redis at {nobody}/0: no connection")), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[test]
fn a_service_whose_name_fits_in_no_key_is_refused() {
    let settings = RedisSettings::new(Settings::new("127.0.0.1", 1), Format::Binary, YEAR);
    for name in ["", "a:b", "a{b}", "ä"] {
        let outcome = RedisStore::open(&settings, Header { service: name.into(), ..header(3) }).map(|_| ());
        assert!(matches!(outcome, Err(Error::Setting { key: "RANKWRIGHT_SERVICE", .. })), "{name}");
    }
}
