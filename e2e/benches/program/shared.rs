//! A state in Redis: ranking over it, with and without writes beside it, a worker on a topic of Kafka, and the memory that a
//! million visitors take. `./run bench shared` prints it.

use crate::import::over_redis;
use crate::load::Load;
use crate::table::Table;
use crate::{Effort, median, wrk};
use flate2::Compression;
use flate2::write::GzEncoder;
use rankwright_e2e::crew::{Crew, source};
use rankwright_e2e::kafka::{broker, make_topic, produce};
use rankwright_e2e::many::launch;
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Service, http, program, wait};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Different requests, sent in turn.
const REQUESTS: usize = 200;
/// Events that are written while rankings are asked for: in a request, and requests a second.
pub(crate) const EVENTS: usize = 100;
const WRITES: u32 = 50;
/// Versions of a model that are trained and taken up.
const SWAPS: usize = 5;
/// How far a worker has come is asked of the server that it writes to, which has other things to do.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
const PARTITIONS: usize = 8;
/// Times that the events of the load are read from a topic, moved on in time.
const DAYS: i64 = 6;
/// Times that they are imported into a state that is there.
const JOINED: i64 = 2;
/// What takes memory.
const VISITORS: usize = 1_000_000;
const CLICKS: usize = 5;
const ITEMS: usize = 100_000;

/// All rows; each part has a server of its own, which has no other's data to rewrite.
pub(crate) fn measure(load: &Load, effort: Effort, folder: &Path) -> Table {
    let mut table = Table::default();
    ranking(load, &Redis::on_disk(), effort, folder, &mut table);
    stream(load, &Redis::on_disk(), 1, folder, &mut table);
    joining(load, &Redis::on_disk(), folder, &mut table);
    memory(load, folder, &mut table);
    table
}

/// This number of workers on a topic, without other load.
pub(crate) fn measure_stream(load: &Load, workers: usize, folder: &Path) -> Table {
    let mut table = Table::default();
    stream(load, &Redis::on_disk(), workers, folder, &mut table);
    table
}

fn stream(load: &Load, redis: &Redis, workers: usize, folder: &Path, table: &mut Table) {
    match broker() {
        Some(broker) => following(load, redis, &broker, workers, folder, table),
        None => println!("reading from Kafka is not measured: RANKWRIGHT_TEST_KAFKA names no broker"),
    }
}

/// Runs a subcommand on a configuration; what it logged.
pub(crate) fn run(subcommand: &str, config: &Path, service: &str, arguments: &[&str]) -> String {
    let mut command = program::command(&[subcommand, "--config"]);
    command.arg(config).args(arguments).env("RANKWRIGHT_SERVICE", service);
    program::Ended::of(&mut command).ok().stderr
}

fn ranking(load: &Load, redis: &Redis, effort: Effort, folder: &Path, table: &mut Table) {
    let (service, path) = (redis.own_service("ranking"), folder.join("ranking.yml"));
    let config = over_redis(&load.config, redis, folder);
    fs::write(&path, &config).expect("can be written");
    run("import", &path, &service, &["--data", &load.events.to_string_lossy()]);
    run("train", &path, &service, &[]);
    let uncached = config.replace("state: {", "state: {cache: {maxSize: 0}, ");
    let server = |name: &str, config: &str| launch("rank-server", config, &service, &folder.join(name));
    let (cold, warm) = (server("cold", &uncached), server("warm", &config));
    let to = format!("/rank/{}", load.model);
    let mut row = |what: &str, server: &Service, (items, connections): (usize, usize), wanted: &str| {
        let bodies = load.requests(items, REQUESTS);
        let of = wrk::load(server.address(), server.pid(), &to, &bodies, connections, effort, folder);
        let measured =
            format!("p50 {:.2} ms, p99 {:.2} ms, {:.0} requests/s, {:.3} ms CPU", of.p50, of.p99, of.rate, of.cpu);
        table.add(what, measured, wanted, "-".to_owned());
    };
    row("rank over Redis, 100 items, 1 connection, no cache", &cold, (100, 1), "p50 1.0 ms, p99 3 ms");
    row("the same, warm cache", &warm, (100, 1), "p50 0.5 ms, p99 1.5 ms");
    row("rank over Redis, 50 items, 8 connections, warm cache", &warm, (50, 8), "5,000 requests/s");
    let writes = Writes::new(cold.address(), load, WRITES);
    let used = || ["hits", "misses"].map(|name| warm.status()["store"]["cache"][name].as_f64().unwrap_or(f64::NAN));
    let (begun, before) = (Instant::now(), used());
    std::thread::scope(|scope| {
        scope.spawn(|| writes.send());
        let _end = writes.ends();
        row("the same with 5,000 events/s written meanwhile", &warm, (50, 8), "3,000 requests/s");
    });
    let written = writes.sent.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
    let [hits, misses] = used();
    let (hits, misses) = (hits - before[0], misses - before[1]);
    let measured = format!("{written:.0} events/s, {:.1} % of keys were in the cache", 100.0 * hits / (hits + misses));
    table.add("written meanwhile", measured, "5,000 events/s", "-".to_owned());
    let mut swaps: Vec<f64> = (0..SWAPS).map(|_| swapped(load.model, &warm, &path, &service)).collect();
    swaps.sort_by(f64::total_cmp);
    let measured = format!("{:.1} s in the median, {:.1} s at most", median(swaps.clone()), swaps[SWAPS - 1]);
    table.add("from a version's publication to its being served", measured, "10 s at most", "-".to_owned());
}

/// Trains a version, and tells the seconds from the training's end until a server ranks by it.
fn swapped(model: &str, server: &Service, config: &Path, service: &str) -> f64 {
    let version = || server.status()["models"][model]["version"].to_string();
    let before = version();
    run("train", config, service, &[]);
    let ended = Instant::now();
    wait::until("another version served", || server.log(), || version() != before);
    ended.elapsed().as_secs_f64()
}

/// Events that go to a rank server at an even rate.
pub(crate) struct Writes {
    to: SocketAddr,
    events: Vec<Value>,
    /// Requests in a second.
    rate: u32,
    /// No more are sent.
    over: AtomicBool,
    /// Events.
    pub(crate) sent: AtomicU64,
    /// Requests that the server had no room for at first.
    pub(crate) refused: AtomicU64,
}

impl Writes {
    /// Of visitors, with ids that were not there.
    pub(crate) fn new(to: SocketAddr, load: &Load, rate: u32) -> Self {
        let (over, [sent, refused]) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 2]);
        Self { to, events: load.visits(), rate, over, sent, refused }
    }

    /// No more are sent when that goes, also by a panic.
    pub(crate) fn ends(&self) -> impl Drop {
        Ends(&self.over)
    }

    pub(crate) fn send(&self) {
        let begun = Instant::now();
        let length = i64::try_from(self.events.len()).unwrap_or(i64::MAX);
        for turn in 0.. {
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            let at = |number: i64| &self.events[(number % length) as usize];
            let numbers = turn * EVENTS as i64..(turn + 1) * EVENTS as i64;
            let batch: Vec<Value> = numbers.map(|number| again(at(number), 1 + number / length)).collect();
            let body = json!(batch).to_string();
            let send = || http::post(self.to, "/feedback", body.as_bytes()).expect("the server answers");
            let mut answer = send();
            while answer.status == 503 {
                self.refused.fetch_add(1, Ordering::Relaxed); // it is sent again, as clients do
                std::thread::sleep(Duration::from_millis(100));
                answer = send();
            }
            answer.ok();
            self.sent.fetch_add(EVENTS as u64, Ordering::Relaxed);
            let due = Duration::from_secs(1) / self.rate * u32::try_from(turn + 1).unwrap_or(u32::MAX);
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
        }
    }
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An event moved on by `turn` times the length of the data, with ids of its own.
fn again(event: &Value, turn: i64) -> Value {
    let mut event = event.clone();
    for name in ["id", "ranking"] {
        if let Some(id) = event[name].as_str().map(|id| format!("{turn}-{id}")) {
            event[name] = json!(id);
        }
    }
    let time = event["timestamp"].as_str().and_then(|time| time.parse::<i64>().ok()).unwrap_or(0);
    event["timestamp"] = json!((time + turn * Load::LENGTH).to_string());
    event
}

/// Workers read a topic: features, the join and click-throughs included.
fn following(load: &Load, redis: &Redis, broker: &str, workers: usize, folder: &Path, table: &mut Table) {
    let service = redis.own_service("following");
    let mut random = Random(1);
    let mut partitions = vec![Vec::new(); PARTITIONS];
    let visits = load.visits();
    for event in
        load.catalogue().into_iter().chain((0..DAYS).flat_map(|day| visits.iter().map(move |event| again(event, day))))
    {
        partitions[random.below(PARTITIONS)].push(event.to_string());
    }
    make_topic(broker, &service, PARTITIONS);
    produce(broker, &service, &partitions);
    let count: usize = partitions.iter().map(Vec::len).sum();
    let config = format!("{}{}", over_redis(&load.config, redis, folder), source(broker, &service));
    let mut crew = Crew::new(config, &service, &folder.join("following"), &partitions);
    (0..workers).for_each(|_| crew.join());
    crew.until_read(redis, 1);
    let read = || crew.read(redis).iter().sum::<usize>();
    let (begun, before) = (Instant::now(), read());
    while read() < count {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let rate = |begun: Instant| (count - before) as f64 / begun.elapsed().as_secs_f64();
    let read = rate(begun);
    while !redis.is_settled(&service) {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let measured = format!(
        "{read:.0} events/s of {count} until all are read, {:.0} until all is closed and in parts",
        rate(begun)
    );
    crew.until_done(redis); // that was so, and has stayed so
    let what = if workers == 1 { "one worker".to_owned() } else { format!("{workers} workers") };
    let wanted = if workers == 1 { "30,000 events/s" } else { "-" };
    table.add(&format!("ingest from Kafka, {what}"), measured, wanted, "-".to_owned());
}

/// An import into a state that is there already, which others may write to meanwhile.
fn joining(load: &Load, redis: &Redis, folder: &Path, table: &mut Table) {
    let (service, path) = (redis.own_service("joining"), folder.join("joining.yml"));
    fs::write(&path, over_redis(&load.config, redis, folder)).expect("can be written");
    let import = |name: &str, events: &mut dyn Iterator<Item = Value>| {
        let file = folder.join(name);
        let each = |put: &mut dyn FnMut(&Value) -> std::io::Result<()>| {
            for event in events {
                put(&event)?;
            }
            Ok(())
        };
        let count = write(&file, each).expect("there is room for events");
        let begun = Instant::now();
        let log = run("import", &path, &service, &["--data", &file.to_string_lossy()]);
        assert!(log.contains("skipped=0"), "{log}");
        count as f64 / begun.elapsed().as_secs_f64()
    };
    import("items.jsonl.gz", &mut load.catalogue().into_iter());
    let visits = load.visits();
    let rate =
        import("visits.jsonl.gz", &mut (0..JOINED).flat_map(|day| visits.iter().map(move |event| again(event, day))));
    assert!(redis.is_settled(&service), "all is closed");
    table.add(
        "import into a state that is there, beside which others may write",
        format!("{rate:.0} events/s"),
        "-",
        "-".to_owned(),
    );
}

/// A million visitors with some clicks each, in an empty server.
fn memory(load: &Load, folder: &Path, table: &mut Table) {
    let (redis, path, events) = (Redis::on_disk(), folder.join("memory.yml"), folder.join("visitors.jsonl.gz"));
    fs::write(&path, over_redis(&load.config, &redis, folder)).expect("can be written");
    let written = visitors(load, &events).expect("there is room for events");
    let before = redis.used_memory();
    let begun = Instant::now();
    let service = redis.own_service("memory");
    let log = run("import", &path, &service, &["--data", &events.to_string_lossy()]);
    let used = (redis.used_memory() - before) as f64 / 1e9;
    let took = begun.elapsed().as_secs_f64();
    let clicks = VISITORS * CLICKS;
    let all =
        format!("items={ITEMS} users=0 rankings={VISITORS} interactions={clicks} clickthroughs={VISITORS} skipped=0");
    assert!(log.contains(&all) && redis.is_settled(&service), "not {all}:\n{log}");
    let what = format!("Redis memory, {VISITORS} visitors with {CLICKS} clicks, {ITEMS} items");
    let imported = format!("{written} events imported at {:.0} events/s", written as f64 / took);
    table.add(&what, format!("{used:.2} GB"), "0.4 GB", imported);
}

/// Writes items like those of the load, and visitors who each see one list; how many events that are.
fn visitors(load: &Load, path: &Path) -> std::io::Result<usize> {
    write(path, |put| {
        let (catalogue, mut random) = (load.catalogue(), Random(2));
        for number in 0..ITEMS {
            let mut item = catalogue[number % catalogue.len()].clone();
            (item["item"], item["id"]) = (json!(format!("item-{number}")), json!(format!("item-event-{number}")));
            put(&item)?;
        }
        let first = load.last() + 1000;
        for number in 0..VISITORS {
            // within a day, so that nothing is outdated at the end
            let time = |later: usize| (first + (number * 80_000_000 / VISITORS + later * 1000) as i64).to_string();
            let (id, visitor) = (format!("ranking-{number}"), format!("visitor-{number:07}"));
            let shown: Vec<Value> = (0..10).map(|_| json!({"id": format!("item-{}", random.below(ITEMS))})).collect();
            put(
                &json!({"event": "ranking", "id": id, "timestamp": time(0), "user": visitor, "session": visitor, "fields": [], "items": shown}),
            )?;
            for (click, item) in shown.iter().map(|item| &item["id"]).enumerate().take(CLICKS) {
                put(
                    &json!({"event": "interaction", "id": format!("click-{number}-{click}"), "type": "click", "ranking": id,
                "timestamp": time(1 + click), "user": visitor, "session": visitor, "item": item, "fields": []}),
                )?;
            }
        }
        Ok(())
    })
}

/// Writes events, one a line; how many there were.
fn write(
    path: &Path,
    events: impl FnOnce(&mut dyn FnMut(&Value) -> std::io::Result<()>) -> std::io::Result<()>,
) -> std::io::Result<usize> {
    let mut out = GzEncoder::new(BufWriter::new(File::create(path)?), Compression::fast());
    let mut count = 0;
    events(&mut |event| {
        count += 1;
        writeln!(out, "{event}")
    })?;
    out.finish()?.flush()?;
    Ok(count)
}
