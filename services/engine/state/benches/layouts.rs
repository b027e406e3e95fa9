//! Three ways to keep entities in Redis, on a server of its own: memory, reading a hundred entities, changing a thousand.
//!
//! - *hash*: a hash for each entity, counters changed by `HINCRBY`; what must compare times first is left out, which
//!   favours this layout.
//! - *script*: one packed value, unpacked, changed and packed again by a script in the server.
//! - *compared*: one packed value with a stamp, merged in the client, stored by one script that compares stamps: ours.
#![allow(missing_docs)]

use rankwright_event::{ItemId, Tenant, Timestamp};
use rankwright_redis::redis::{Connection, Script, cmd, pipe};
use rankwright_redis::{Blocking, Settings};
use rankwright_state::{
    Cell, Commit, Entity, FieldValue, Key, Position, RedisOptions, RedisStore, Scope, Slot, Store, Stored, Windows,
    Writer,
};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ENTITIES: usize = 50_000;
const READ: usize = 100;
const WRITTEN: usize = 1000;
const ROUNDS: usize = 30;
const COUNTERS: u16 = 2;

/// A server that ends with the benchmark.
struct Server {
    child: Child,
    settings: Settings,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn server() -> Server {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let folder = tempfile::tempdir().expect("there is room");
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &free.port().to_string(), "--save", ""]);
    let child = command.current_dir(folder.path()).stdout(Stdio::null()).spawn().expect("redis-server is installed");
    let settings = Settings { command: Duration::from_secs(60), ..Settings::new("127.0.0.1", free.port()) };
    let link = Blocking::new(settings.clone()).expect("needs no certificates");
    while link.send("", |connection| cmd("PING").query::<String>(connection)).is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
    Server { child, settings, _folder: folder }
}

fn text(number: usize, length: usize) -> String {
    format!("{number:0length$}")
}

/// What an item of a shop has: a number, two strings, and a list of words.
fn fields(number: usize) -> Vec<FieldValue> {
    let words: Vec<String> = (0..5).map(|word| text(number * 7 + word, 8)).collect();
    vec![
        FieldValue::Number(number as f64),
        FieldValue::Text(text(number, 12).as_str().into()),
        FieldValue::Text(text(number % 50, 6).as_str().into()),
        FieldValue::Texts(words.iter().map(String::as_str).collect()),
    ]
}

fn stored(cell: Cell) -> Stored {
    Stored { at: Timestamp::from_millis(1_636_907_100_000), event: 77, cell }
}

fn whole(number: usize) -> Entity {
    let fields = fields(number).into_iter().map(|field| stored(Cell::Field(field)));
    let mut entity = Entity::from_values((0..).map(Slot).zip(fields).collect()).expect("in order");
    entity.absorb(&change());
    entity
}

/// A click: two counters and a count of today.
fn change() -> Entity {
    let mut entity = Entity::default();
    for slot in 0..COUNTERS {
        entity.absorb_value(Slot(10 + slot), &stored(Cell::Counter(1)));
    }
    entity.absorb_value(Slot(12), &stored(Cell::Windows(Windows::one(18_945, 7))));
    entity
}

struct Figures {
    memory: u64,
    read: Duration,
    write: Duration,
}

fn used(link: &Blocking) -> u64 {
    let memory = link.send("", |connection| cmd("INFO").arg("memory").query::<String>(connection)).expect("answers");
    let used = memory.lines().find_map(|line| line.strip_prefix("used_memory:")).expect("tells its memory");
    used.trim().parse().expect("a number")
}

/// The median of the rounds.
fn median(mut work: impl FnMut(usize)) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|round| {
            let began = Instant::now();
            work(round);
            began.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

fn some(round: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |number| (round * 7919 + number * 104_729) % ENTITIES)
}

/// Loads, reads and writes through plain commands.
fn plain(
    load: impl Fn(&mut Connection, usize),
    read: impl Fn(&mut Connection, &[usize]),
    write: impl Fn(&mut Connection, &[usize]),
) -> Figures {
    let server = server();
    let link = Blocking::new(server.settings.clone()).expect("needs no certificates");
    let before = used(&link);
    let run = |work: &dyn Fn(&mut Connection)| {
        link.send("", |connection| {
            work(connection);
            Ok(())
        })
        .expect("answers");
    };
    (0..ENTITIES).step_by(WRITTEN).for_each(|first| run(&|connection| load(connection, first)));
    let memory = (used(&link) - before) / ENTITIES as u64;
    let read = median(|round| run(&|connection| read(connection, &some(round, READ).collect::<Vec<_>>())));
    let write = median(|round| run(&|connection| write(connection, &some(round, WRITTEN).collect::<Vec<_>>())));
    Figures { memory, read, write }
}

fn hash() -> Figures {
    let name = |number: &usize| format!("rw:shop:1:{number}");
    let load = |connection: &mut Connection, first: usize| {
        let mut batch = pipe();
        for number in first..first + WRITTEN {
            let mut entry = cmd("HSET");
            entry.arg(name(&number));
            for (slot, field) in fields(number).into_iter().enumerate() {
                entry.arg(slot).arg(postcard::to_stdvec(&stored(Cell::Field(field))).expect("encodes"));
            }
            entry.arg("10").arg(1).arg("11").arg(1).arg("12:18945").arg(1).arg("t").arg(1_636_907_100_000_u64);
            batch.add_command(entry).ignore();
            batch.cmd("PEXPIRE").arg(name(&number)).arg(7_776_000_000_u64).ignore();
        }
        batch.query::<()>(connection).expect("answers");
    };
    let read = |connection: &mut Connection, numbers: &[usize]| {
        let mut batch = pipe();
        numbers.iter().for_each(|number| {
            batch.cmd("HGETALL").arg(name(number));
        });
        let rows = batch.query::<Vec<Vec<(Vec<u8>, Vec<u8>)>>>(connection).expect("answers");
        assert_eq!(rows.len(), numbers.len());
    };
    let write = |connection: &mut Connection, numbers: &[usize]| {
        let mut batch = pipe();
        batch.atomic();
        for number in numbers {
            for field in ["10", "11", "12:18945"] {
                batch.cmd("HINCRBY").arg(name(number)).arg(field).arg(1).ignore();
            }
            batch.cmd("HSET").arg(name(number)).arg("t").arg(1_636_907_100_001_u64).ignore();
            batch.cmd("PEXPIRE").arg(name(number)).arg(7_776_000_000_u64).ignore();
        }
        batch.query::<()>(connection).expect("answers");
    };
    plain(load, read, write)
}

fn script() -> Figures {
    let name = |number: &usize| format!("rw:shop:1:{number}");
    let make = Script::new(
        "for i = 1, #KEYS do redis.call('SET', KEYS[i], cmsgpack.pack({ARGV[i], 1, 1, {[18945] = 1}, 1636907100000}), 'PX', 7776000000) end",
    );
    let change = Script::new(
        "for i = 1, #KEYS do
            local value = cmsgpack.unpack(redis.call('GET', KEYS[i]))
            value[2], value[3], value[5] = value[2] + 1, value[3] + 1, math.max(value[5], 1636907100001)
            value[4][18945] = (value[4][18945] or 0) + 1
            redis.call('SET', KEYS[i], cmsgpack.pack(value), 'PX', 7776000000)
        end",
    );
    let load = |connection: &mut Connection, first: usize| {
        let mut call = make.prepare_invoke();
        for number in first..first + WRITTEN {
            let fields: Vec<Stored> = fields(number).into_iter().map(|field| stored(Cell::Field(field))).collect();
            call.key(name(&number)).arg(postcard::to_stdvec(&fields).expect("encodes"));
        }
        call.invoke::<()>(connection).expect("answers");
    };
    let read = |connection: &mut Connection, numbers: &[usize]| {
        let mut command = cmd("MGET");
        numbers.iter().for_each(|number| {
            command.arg(name(number));
        });
        let rows = command.query::<Vec<Vec<u8>>>(connection).expect("answers");
        assert_eq!(rows.len(), numbers.len());
    };
    let write = |connection: &mut Connection, numbers: &[usize]| {
        let mut call = change.prepare_invoke();
        numbers.iter().for_each(|number| {
            call.key(name(number));
        });
        call.invoke::<()>(connection).expect("answers");
    };
    plain(load, read, write)
}

/// Everything included: reading what is merged into, merging, encoding.
fn compared() -> Figures {
    let server = server();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("starts");
    let link = Blocking::new(server.settings.clone()).expect("needs no certificates");
    let before = used(&link);
    let options = RedisOptions { cache_entries: 0, ..RedisOptions::default() };
    let store = runtime.block_on(RedisStore::open(server.settings.clone(), options, "shop")).expect("opens");
    let key = |number: usize| Key::new(&Tenant::default(), Scope::Item(ItemId::from(number.to_string().as_str())));
    let lease = runtime.block_on(store.acquire(&Writer("bench".into()))).expect("answers");
    let commit = |writes: Vec<(Key, Option<Entity>)>| {
        let commit = Commit { from: Position::default(), to: Position::default(), writes, ..Commit::default() };
        runtime.block_on(store.commit(&lease, commit)).expect("commits");
    };
    for first in (0..ENTITIES).step_by(WRITTEN) {
        commit((first..first + WRITTEN).map(|number| (key(number), Some(whole(number)))).collect());
    }
    let memory = (used(&link) - before) / ENTITIES as u64;
    let read = median(|round| {
        let keys: Vec<Key> = some(round, READ).map(key).collect();
        assert_eq!(runtime.block_on(store.read(&keys)).expect("reads").len(), READ);
    });
    let write = median(|round| commit(some(round, WRITTEN).map(|number| (key(number), Some(change()))).collect()));
    Figures { memory, read, write }
}

fn main() {
    println!("{ENTITIES} items, medians of {ROUNDS} rounds, one connection");
    println!("layout     bytes an item   read {READ}, ms   change {WRITTEN}, ms");
    for (name, figures) in [("hash", hash()), ("script", script()), ("compared", compared())] {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        println!("{name:<10} {:>13} {:>14.2} {:>17.1}", figures.memory, ms(figures.read), ms(figures.write));
    }
}
