//! Importing more than once into a state that stays.

use rankwright_e2e::Ended;
use rankwright_e2e::events::lines;
use rankwright_e2e::many::{self, ITEMS, day_of_changes};
use rankwright_e2e::outcome::Outcome;
use rankwright_e2e::program::{command, models_for_tests, run_on};
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

const CONFIG: &str = "
state: {type: file, path: STATE}
features:
  - {name: clicks, type: interaction_count, interaction: click, scope: item}
models:
  none: {type: noop}
";

struct Shop {
    folder: tempfile::TempDir,
}

impl Shop {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let state = folder.path().join("state");
        fs::write(folder.path().join("config.yml"), CONFIG.replace("STATE", &state.to_string_lossy()))
            .expect("the folder can be written to");
        Self { folder }
    }

    /// A file of clicks with these ids.
    fn clicks(&self, file: &str, ids: &[u32]) -> PathBuf {
        let path = self.folder.path().join(file);
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("the folder can be written to");
        let click = |id: &u32| {
            format!(
                "{{\"event\":\"interaction\",\"id\":\"c{id}\",\"timestamp\":\"{}\",\"user\":\"u\",\"session\":\"s\",\
                 \"item\":\"i\",\"type\":\"click\"}}\n",
                1_636_907_100_000_u64 + u64::from(*id)
            )
        };
        fs::write(&path, ids.iter().map(click).collect::<String>()).expect("the folder can be written to");
        path
    }

    fn import(&self, data: &Path, more: &[&str]) -> Ended {
        run_on("import", &self.folder.path().join("config.yml"), data, more)
    }

    /// How many clicks an import took in.
    fn taken(&self, data: &Path) -> u32 {
        let log = self.import(data, &[]).ok().stderr;
        let count = log.split("interactions=").nth(1).and_then(|rest| rest.split(' ').next());
        count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no count in\n{log}"))
    }
}

#[test]
fn files_of_one_name_in_different_folders_are_different_files() {
    let shop = Shop::new();
    assert_eq!(shop.taken(&shop.clicks("day1/events.jsonl", &[1, 2])), 2);
    assert_eq!(shop.taken(&shop.clicks("day2/events.jsonl", &[3, 4, 5])), 3);
    assert_eq!(shop.taken(&shop.folder.path().join("day1/events.jsonl")), 0, "read before");
}

#[test]
fn a_folder_that_is_imported_again_gives_what_is_new_whatever_its_name() {
    let shop = Shop::new();
    shop.clicks("days/2021-12.jsonl", &[1, 2]);
    let days = shop.folder.path().join("days");
    assert_eq!(shop.taken(&days), 2);
    assert_eq!(shop.taken(&days), 0);
    shop.clicks("days/2021-11.jsonl", &[3]);
    assert_eq!(shop.taken(&days), 1, "sorts before what was read");
    shop.clicks("days/2021-12.jsonl", &[1, 2, 4]);
    assert_eq!(shop.taken(&days), 1, "has grown");
    fs::remove_file(days.join("2021-11.jsonl")).expect("was written");
    shop.clicks("days/2021-12.jsonl", &[7, 8, 9]);
    assert_eq!(shop.taken(&days), 3, "is another file");
}

#[test]
fn an_earlier_offset_than_before_is_refused() {
    let shop = Shop::new();
    let clicks = shop.clicks("events.jsonl", &[1, 2]);
    shop.import(&clicks, &["--offset", "latest"]).ok(); // reads nothing, and is no offset to keep to
    shop.import(&clicks, &["--offset", "ts=1636907100"]).ok();
    let refused = shop.import(&clicks, &[]).refused().stderr;
    assert!(refused.contains("read before, from 2021-11-14T16:25:00Z on"), "{refused}");
}

/// Its task to close rankings seems to be held for ten seconds more.
#[test]
fn an_import_into_redis_that_was_killed_is_brought_to_its_end_by_the_next_one_at_once() {
    let (Some(redis), Some(_)) = (Redis::for_tests(), models_for_tests()) else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let events = day_of_changes(&mut Random::seeded(), 20_000);
    let config = many::config(&redis);
    let expected = Outcome::undisturbed(&redis, &config, &events, folder.path());
    let (service, home) = (redis.own_service("killed-import"), folder.path().join("home"));
    many::import(&config, &service, &events[..ITEMS], &home); // the next one shares the state with others
    fs::write(home.join("events.jsonl"), lines(&events)).expect("can be written");
    let importing = || {
        let mut command = command(&["import", "--config", "config.yml", "--data", "events.jsonl"]);
        command.current_dir(&home).env("RANKWRIGHT_SERVICE", &service);
        command
    };
    let mut running = importing().stderr(Stdio::null()).spawn().expect("starts");
    let closes = || fs::read_dir(home.join("parts")).is_ok_and(|mut parts| parts.next().is_some());
    while !closes() {
        assert!(running.try_wait().expect("can be asked").is_none(), "it ended before a ranking was closed");
        std::thread::sleep(Duration::from_millis(1));
    }
    running.kill().expect("can be killed");
    running.wait().expect("ends");
    assert!(!redis.is_settled(&service), "it was killed too late");
    Ended::of(&mut importing()).ok();
    Outcome::of(&redis, &service, std::slice::from_ref(&home)).assert_is(&expected);
    assert!(redis.is_settled(&service), "rankings are open yet");
}
