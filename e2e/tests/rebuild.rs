//! `import --rebuild`: a new state that is built beside the live one, and takes its place while the service runs.

use rankwright_e2e::asking::Asking;
use rankwright_e2e::events::{at, click, item, lines, ranking};
use rankwright_e2e::kafka::{broker, make_topic, produce, spread};
use rankwright_e2e::many::{FEATURES, click_throughs, config, features, halves, import, launch};
use rankwright_e2e::program::command;
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, Service};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const PARTITIONS: usize = 3;

/// `import` with a configuration in a folder.
fn importing(config: &str, service: &str, folder: &Path, more: &[&str]) -> Command {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    std::fs::write(folder.join("import.yml"), config).expect("can be written");
    let mut command = command(&[&["import", "--config", "import.yml"], more].concat());
    command.current_dir(folder).env("RANKWRIGHT_SERVICE", service);
    command
}

fn rebuild(config: &str, service: &str, folder: &Path, more: &[&str]) -> Ended {
    Ended::of(&mut importing(config, service, folder, &[&["--rebuild"], more].concat())).ok()
}

/// Starts it, and kills it before a run of this length is over: when, makes no difference to what may come out. Models of texts
/// are opened in its first half.
fn killed_within(mut command: Command, whole: Duration, random: &mut Random) {
    let mut running = command.stderr(std::process::Stdio::null()).spawn().expect("starts");
    let half = whole / 2;
    std::thread::sleep(half + half.mul_f64(random.below(1000) as f64 / 1000.0));
    running.kill().expect("can be killed");
    running.wait().expect("ends");
}

/// Everything that answers say about some items.
fn values(service: &Service) -> Value {
    let mut request = ranking("q", 5000, "u1", &["i1", "i2", "i3", "i4", "i5"]);
    request["fields"] = json!([{"name": "query", "value": "a brand such as 2"}]);
    service.rank("all", &request)["items"].clone()
}

/// The configuration with a model that shows all features.
fn explained(config: &str) -> String {
    let meaning = if config.contains("name: meaning") { ", meaning" } else { "" };
    let features = format!("features: [clicks, recent, ctr, brand_ctr, words, grams, weighed{meaning}]");
    config.replace(
        "same: {type: noop}",
        &format!("all: {{type: lambdamart, backend: {{type: xgboost}}, weights: {{click: 1}}, {features}}}"),
    )
}

#[test]
fn a_service_goes_on_with_a_state_that_was_rebuilt_from_its_stream() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut random = Random::seeded();
    let (first, second) = halves(&mut random);
    let (alone, many) = (redis.own_service("alone"), redis.own_service("rebuilt"));
    let plain = config(&redis);
    let place = |name: &str| folder.path().join(name);
    import(&plain, &alone, &[first.clone(), second.clone()].concat(), &place("alone"));

    make_topic(&broker, &many, PARTITIONS);
    let parts = [&first, &second].map(|events| spread(events, PARTITIONS, &mut random));
    produce(&broker, &many, &parts[0]);
    let config = format!(
        "{plain}\nsource: {{type: kafka, brokers: ['{broker}'], topic: {many}, groupId: {many}, offset: earliest, \
         options: {{session.timeout.ms: '2000', heartbeat.interval.ms: '500'}}}}\n"
    );
    let worker = launch("ingest-worker", &config, &many, &place("worker"));
    let server = launch("rank-server", &plain, &many, &place("server"));
    let at_end = |parts: &[Vec<Vec<String>>]| {
        (0..PARTITIONS).all(|number| {
            let lines: usize = parts.iter().map(|part| part[number].len()).sum();
            redis.position(&many, &format!("kafka:{many}/{number}")).contains(&format!("\"line\":{lines}"))
        })
    };
    worker.until("the first half is read", || at_end(&parts[..1]));
    let before = redis.generation(&many);
    let asking = Asking::of(&plain, &many, &place("alone/parts"), folder.path(), false);
    rebuild(&config, &many, &place("rebuild"), &[]);
    assert_eq!(redis.generation(&many), before + 1);
    produce(&broker, &many, &parts[1]);
    worker.until("all is read and closed", || at_end(&parts) && redis.is_settled(&many));
    asking.end();
    assert!(redis.values(&many) == redis.values(&alone), "another state, see redis-cli for {many} and {alone}");
    let expected = click_throughs(&[place("alone")]);
    assert_eq!(click_throughs(&[place("worker"), place("rebuild")]), expected);
    assert_eq!(server.feedback(&[click("fresh", 90_000, "unknown", "u1", "i1")])["accepted"], 1);
}

#[test]
fn a_rebuild_that_is_killed_changes_nothing_and_one_that_is_repeated_doubles_nothing() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut random = Random::seeded();
    let (first, second) = halves(&mut random);
    let events = [first, second].concat();
    let service = redis.own_service("killed");
    let (config, home) = (config(&redis), folder.path().join("home"));
    let began = Instant::now();
    import(&config, &service, &events, &home);
    let (whole, expected) = (began.elapsed(), redis.values(&service));
    assert!(expected.len() > 30, "{}", expected.len());
    for _ in 0..4 {
        let rebuild = importing(&config, &service, &home, &["--rebuild", "--data", "events.jsonl"]);
        killed_within(rebuild, whole, &mut random);
        assert!(redis.values(&service) == expected, "see redis-cli for {service}");
    }
    for _ in 0..2 {
        rebuild(&config, &service, &home, &["--data", "events.jsonl"]);
        assert!(redis.values(&service) == expected, "see redis-cli for {service}");
    }
    let again = Ended::of(&mut importing(&config, &service, &home, &["--data", "events.jsonl"])).ok();
    assert!(again.stderr.contains("events=0"), "an import goes on behind the rebuild: {}", again.stderr);
}

/// It is built here, and put there at its end.
#[test]
fn a_first_import_that_is_killed_is_seen_by_nobody_and_the_next_one_begins_anew() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut random = Random::seeded();
    let (first, second) = halves(&mut random);
    let events = [first, second].concat();
    let [whole, service] = ["whole", "killed-first"].map(|name| redis.own_service(name));
    let [of_whole, home] = ["whole", "killed"].map(|name| folder.path().join(name));
    let config = config(&redis);
    let began = Instant::now();
    import(&config, &whole, &events, &of_whole);
    let (length, expected) = (began.elapsed(), redis.values(&whole));
    let data = ["--data", "events.jsonl"];
    std::fs::create_dir_all(&home).expect("the folder can be made");
    std::fs::write(home.join("events.jsonl"), lines(&events)).expect("can be written");
    for _ in 0..6 {
        killed_within(importing(&config, &service, &home, &data), length, &mut random);
        let found = redis.values(&service);
        assert!(found.is_empty() || found == expected, "see redis-cli for {service}");
    }
    import(&config, &service, &events, &home);
    assert!(redis.values(&service) == expected, "see redis-cli for {service}");
    assert_eq!(click_throughs(&[home.join("parts")]), click_throughs(&[of_whole.join("parts")]));
    let again = Ended::of(&mut importing(&config, &service, &home, &data)).ok();
    assert!(again.stderr.contains("events=0"), "{}", again.stderr);
}

#[test]
fn click_throughs_that_only_the_former_state_has_are_brought_to_their_store() {
    let Some(redis) = Redis::for_tests() else { return };
    let (folder, service) =
        (tempfile::tempdir().expect("there is room for temporary files"), redis.own_service("owed"));
    let place = |name: &str| folder.path().join(name);
    let kept = format!("train: {{type: redis, format: json, {}}}", redis.keys());
    let config = config(&redis).replace("train: {type: file, path: ./parts, format: json}", &kept);
    let worker = launch("ingest-worker", &config, &service, &place("worker"));
    let server = launch("rank-server", &config, &service, &place("server"));
    let visit = [ranking("owed", 10, "u1", &["i1", "i2"]), click("c", 11, "owed", "u1", "i1")];
    server.feedback(&[&visit[..], &[ranking("open", 1000, "u1", &["i1", "i2"])]].concat());
    worker.until("closed, and held", || worker.status()["ingest"]["outbox"].as_u64() == Some(1));
    let parts = || redis.with(&service, "\"owed\"").iter().any(|name| name.contains(":parts:"));
    assert!(!parts());
    worker.kill();
    std::fs::create_dir_all(place("home")).expect("the folder can be made");
    std::fs::write(place("home").join("events.jsonl"), lines(&[item("i1", 0, &[])])).expect("can be written");
    rebuild(&config, &service, &place("home"), &["--data", "events.jsonl"]);
    assert!(parts(), "{:?}", redis.names(&service));
}

/// For ten seconds it seems to be under way.
#[test]
fn nothing_of_a_visitor_stays_in_what_a_rebuild_has_left_that_was_killed_a_moment_ago() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (first, second) = halves(&mut Random(1));
    let (service, home) = (redis.own_service("killed-forget"), folder.path().join("home"));
    let config = config(&redis);
    import(&config, &service, &[first, second].concat(), &home);
    let seems_under_way = || redis.names(&service).iter().any(|name| name.ends_with("t:rebuild"));
    for attempt in 0.. {
        assert!(attempt < 100, "it always comes to its end");
        let generation = redis.generation(&service);
        let mut running = importing(&config, &service, &home, &["--rebuild", "--data", "events.jsonl"])
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("starts");
        while !seems_under_way() && running.try_wait().expect("can be asked").is_none() {}
        running.kill().expect("can be killed");
        running.wait().expect("ends");
        if seems_under_way() && redis.generation(&service) == generation {
            break;
        }
    }
    let forgotten = ["forget", "--config", "config.yml", "--user", "u1"];
    let told = Ended::of(command(&forgotten).current_dir(&home).env("RANKWRIGHT_SERVICE", &service)).ok().stdout;
    assert!(told.contains("entities of the state") && !told.contains("under way"), "{told}");
}

#[test]
fn a_rebuild_under_a_name_is_done_once_whatever_has_come_since() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (first, second) = halves(&mut Random(8));
    let service = redis.own_service("once");
    let (config, home) = (config(&redis), folder.path().join("home"));
    std::fs::create_dir_all(&home).expect("the folder can be made");
    std::fs::write(home.join("first.jsonl"), lines(&first)).expect("can be written");
    std::fs::write(home.join("second.jsonl"), lines(&second)).expect("can be written");
    let named = |name: &str| rebuild(&config, &service, &home, &["--data", "first.jsonl", "--once", name]);
    named("backfill");
    let expected = redis.values(&service);
    Ended::of(&mut importing(&config, &service, &home, &["--data", "second.jsonl"])).ok();
    let (grown, generation) = (redis.values(&service), redis.generation(&service));
    assert!(grown != expected, "more has come");
    let again = named("backfill");
    assert!(again.stderr.contains("imported under this name already"), "{}", again.stderr);
    assert!(redis.values(&service) == grown && redis.generation(&service) == generation, "see redis-cli for {service}");
    named("another backfill");
    assert!(redis.values(&service) == expected, "see redis-cli for {service}");
}

#[test]
fn a_state_in_a_folder_is_rebuilt_from_its_events_alone() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (first, second) = halves(&mut Random(7));
    let config = explained(&format!("state: {{type: file, path: ./state}}\n{}", features()));
    let home = folder.path().join("home");
    std::fs::create_dir_all(&home).expect("the folder can be made");
    std::fs::write(home.join("events.jsonl"), lines(&[first, second].concat())).expect("can be written");
    let data = ["--data", "events.jsonl"];
    let began = Instant::now();
    Ended::of(&mut importing(&config, "default", &home, &data)).ok();
    let whole = began.elapsed();
    let service = Service::serve(&config, &home);
    service.train("all");
    let expected = values(&service);
    let alone = json!({"event": "interaction", "id": "own", "timestamp": at(4000), "type": "click", "item": "i1", "user": "u1"});
    service.feedback(&[alone]);
    assert_ne!(values(&service), expected, "it is in no file");
    let held = Ended::of(&mut importing(&config, "default", &home, &[&data[..], &["--rebuild"]].concat())).refused();
    assert!(held.stderr.contains("another process holds it"), "{}", held.stderr);
    let changed = values(&service);
    service.kill();
    let mut random = Random(7);
    for _ in 0..4 {
        killed_within(importing(&config, "default", &home, &[&data[..], &["--rebuild"]].concat()), whole, &mut random);
        let service = Service::serve(&config, &home);
        let found = values(&service);
        assert!(found == changed || found == expected, "{found}");
        service.kill();
    }
    for _ in 0..2 {
        rebuild(&config, "default", &home, &data);
        let service = Service::serve(&config, &home);
        assert_eq!(values(&service), expected);
        service.kill();
    }
}

/// Another state has taken its place, and the old one stays for processes that still read it.
#[test]
fn nothing_of_a_visitor_stays_in_a_state_that_was_rebuilt_a_moment_ago() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (first, second) = halves(&mut Random(1));
    let (service, home) = (redis.own_service("rebuilt-forget"), folder.path().join("home"));
    let config = config(&redis);
    import(&config, &service, &[first, second].concat(), &home);
    rebuild(&config, &service, &home, &["--data", "events.jsonl"]);
    let live = redis.generation(&service);
    let former = |redis: &Redis| redis.names(&service).iter().any(|name| name.contains(&format!(":{}:", live - 1)));
    assert!(former(&redis) && !redis.with(&service, "u1").is_empty());
    let forgotten = ["forget", "--config", "config.yml", "--user", "u1"];
    let told = Ended::of(command(&forgotten).current_dir(&home).env("RANKWRIGHT_SERVICE", &service)).ok().stdout;
    assert!(told.contains("keys of the state before the last rebuild"), "{told}");
    assert!(!former(&redis), "{:?}", redis.names(&service));
}

#[test]
fn a_state_in_memory_is_not_rebuilt() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = format!("state: {{type: memory}}\n{FEATURES}");
    let refused = Ended::of(&mut importing(&config, "default", folder.path(), &["--rebuild", "--data", "x"])).refused();
    assert!(refused.stderr.contains("--rebuild: the state is in memory"), "{}", refused.stderr);
    let folders = config.replace("type: memory", "type: file, path: ./state");
    let named = ["--rebuild", "--data", "x", "--once", "name"];
    let refused = Ended::of(&mut importing(&folders, "default", folder.path(), &named)).refused();
    assert!(refused.stderr.contains("--once: only a state in Redis remembers"), "{}", refused.stderr);
}

/// All that lies in a folder, itself included.
fn all_of(folder: &Path) -> Vec<PathBuf> {
    let within = std::fs::read_dir(folder).expect("is there").map(|entry| entry.expect("can be listed").path());
    let below = within.flat_map(|path| match path.is_symlink() || path.is_file() {
        true => vec![path],
        false => all_of(&path),
    });
    below.chain([folder.to_owned()]).collect()
}

/// Root may run these commands in a folder of another user, who has put a link to a foreign file there. Only root can try
/// that; other users see that no link is followed.
#[test]
fn what_root_does_to_a_state_in_a_folder_it_does_as_its_owner() {
    done_as_its_owner(4711, 4712);
}

/// As of a container that runs as a user without a name.
#[test]
fn what_root_does_to_a_state_of_its_group_it_does_as_its_owner_without_it() {
    done_as_its_owner(4711, 0);
}

fn done_as_its_owner(user: u32, group: u32) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (home, of_root) = (folder.path().join("home"), folder.path().join("of-root"));
    let config = format!("state: {{type: file, path: ./shop}}\n{FEATURES}");
    let (events, _) = halves(&mut Random::seeded());
    import(&config, "default", &events, &home);
    let (state, marker) = (home.join("shop"), home.join("shop/state/unfinished"));
    std::fs::write(&of_root, "kept").expect("can be written");
    std::fs::set_permissions(&of_root, std::fs::Permissions::from_mode(0o666)).expect("it is ours");
    symlink(&of_root, &marker).expect("can be linked");
    let of = |path: &Path| std::fs::symlink_metadata(path).map(|own| (own.uid(), own.gid())).expect("is there");
    let owner = if of(&home).0 == 0 { (user, group) } else { of(&home) };
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    all_of(&home).iter().for_each(|path| lchown(path, Some(owner.0), Some(owner.1)).expect("who is root may"));

    let forget = || {
        let mut command = command(&["forget", "--config", "config.yml", "--user", "u1"]);
        Ended::of(command.current_dir(&home))
    };
    let again = || Ended::of(&mut importing(&config, "default", &home, &["--rebuild", "--data", "events.jsonl"]));
    for refused in [forget().refused(), again().refused()] {
        assert!(refused.stderr.contains("unfinished is a symbolic link"), "{}", refused.stderr);
    }
    assert_eq!(std::fs::read_to_string(&of_root).expect("is there"), "kept");
    std::fs::remove_file(&marker).expect("can be removed");
    for ended in [again(), forget()] {
        let ended = ended.ok();
        assert_eq!(ended.stderr.contains("root continues as the user"), owner.0 == user, "{}", ended.stderr);
        let all = [all_of(&state), all_of(&home.join("parts"))].concat();
        let is_theirs = |path: &PathBuf| of(path) == owner || group == 0 && of(path).0 == owner.0;
        let others: Vec<_> = all.into_iter().filter(|path| !is_theirs(path)).collect();
        assert!(others.is_empty(), "these are not the owner's: {others:?}");
    }
}
