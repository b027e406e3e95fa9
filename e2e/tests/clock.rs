//! Clocks of programs that jump, by Debian's `libfaketime`; the machine's clock does not.

use rankwright_e2e::many::{FEATURES, click_throughs};
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Launch, Service};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A clock that programs are started with, and that is changed while they run.
struct Clock {
    file: PathBuf,
    library: String,
}

impl Clock {
    /// `None`, after a line that says so, where the library is not installed.
    fn of_programs(folder: &Path) -> Option<Self> {
        let places = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
        let mut places = places.map(|place| place.path().join("faketime/libfaketimeMT.so.1"));
        let Some(library) = places.find(|place| place.is_file()) else {
            assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "libfaketime is not installed");
            println!("SKIPPED: libfaketime is not installed");
            return None;
        };
        let clock = Self { file: folder.join("clock"), library: library.display().to_string() };
        clock.set(0);
        Some(clock)
    }

    /// Sets it this number of hours beside that of the machine, at once.
    fn set(&self, hours: i64) {
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{hours:+}h\n")).expect("can be written");
        std::fs::rename(new, &self.file).expect("can be renamed"); // never half of it
    }

    fn launch(&self, program: &str, config: &str, service: &str, folder: &Path) -> Service {
        std::fs::create_dir_all(folder).expect("the folder can be made");
        let file = self.file.to_string_lossy();
        let environment = [
            ("RANKWRIGHT_SERVICE", service),
            ("LD_PRELOAD", &self.library),
            ("FAKETIME_TIMESTAMP_FILE", &file),
            ("FAKETIME_NO_CACHE", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ];
        Launch { subcommand: program, config, data: None, folder, environment: &environment }.start()
    }
}

/// An event of this number of seconds ago.
fn ago(seconds: i64, id: &str, kind: &str, more: Value) -> Value {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is later").as_millis() as i64;
    let mut event = json!({"event": kind, "id": id, "timestamp": (now - seconds * 1000).to_string(),
        "user": "u", "session": "s"});
    event.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    event
}

fn ranking(id: &str) -> Value {
    ago(5, id, "ranking", json!({"items": [{"id": "a"}, {"id": "b"}]}))
}

fn click(ranking: &str) -> Value {
    ago(4, &format!("c{ranking}"), "interaction", json!({"type": "click", "ranking": ranking, "item": "b"}))
}

#[test]
fn a_clock_that_jumps_and_comes_back_closes_and_loses_nothing() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let Some(clock) = Clock::of_programs(folder.path()) else { return };
    let service = redis.own_service("clock");
    let features = FEATURES.replace("maxSessionLength: 10s", "maxSessionLength: 40m");
    let config = format!("state: {{type: redis, {}}}\n{features}", redis.patient());
    let place = |name: &str| folder.path().join(name);
    let worker = clock.launch("ingest-worker", &config, &service, &place("worker"));
    let server = clock.launch("rank-server", &config, &service, &place("server"));
    let said = |program: &Service| program.log().matches("the clock has jumped").count();
    server.feedback(&[ranking("before")]);
    let mut shown = vec!["before".to_owned()];
    for (turn, hours) in [3, -3, 5, 0].into_iter().enumerate() {
        clock.set(hours);
        if hours != 0 {
            // each jump is logged once; what the one before has caused is over then
            worker.until("a jump is told by who closes", || said(&worker) == 1 + turn);
            server.until("a jump is told by who takes events in", || said(&server) == 1 + turn);
        }
        let id = format!("at{turn}");
        server.feedback(&[click(&shown[turn]), ranking(&id)]);
        shown.push(id);
    }
    server.feedback(&[click(&shown[4])]);
    assert_eq!((said(&worker), said(&server)), (3, 3), "{}{}", worker.log(), server.log());
    worker.terminate();
    assert_eq!(worker.wait(), Some(0));
    assert_eq!(click_throughs(&[place("worker"), place("server")]).len(), 0, "nothing is over yet");
    server.terminate();
    assert_eq!(server.wait(), Some(0));

    // an hour later
    clock.set(1);
    let worker = clock.launch("ingest-worker", &config, &service, &place("worker"));
    worker.until("all is closed", || redis.is_settled(&service) && redis.has_closed(&service));
    worker.terminate();
    assert_eq!(worker.wait(), Some(0));
    let closed = click_throughs(&[place("worker"), place("server")]);
    let clicked = |record: &Value| record["interactions"].as_array().map(Vec::len) == Some(1);
    assert_eq!(closed.len(), shown.len(), "{closed:?}");
    assert!(closed.values().all(clicked), "{closed:?}");
}
