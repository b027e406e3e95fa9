//! One process on a topic of Kafka, with a state of its own: `import` reads what is there, `serve` goes on with what comes.

use rankwright_e2e::kafka::{broker, first_message, make_topic, produce, spread};
use rankwright_e2e::many::{click_throughs, features, halves};
use rankwright_e2e::program::command;
use rankwright_e2e::random::Random;
use rankwright_e2e::{Ended, Launch, Service, events, wait};
use std::path::Path;

const PARTITIONS: usize = 3;
fn config(source: &str) -> String {
    format!("state: {{type: file, path: ./state}}\n{}\n{source}\n", features())
}

fn kafka(broker: &str, topic: &str, dead_letter: &str) -> String {
    let options = "options: {session.timeout.ms: '2000', heartbeat.interval.ms: '500'}";
    format!(
        "source: {{type: kafka, brokers: ['{broker}'], topic: {topic}, groupId: {topic}, {options}, deadLetter: {dead_letter}}}"
    )
}

fn import(folder: &Path, config: &str, more: &[&str]) -> Ended {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    std::fs::write(folder.join("import.yml"), config).expect("can be written");
    Ended::of(command(&[&["import", "--config", "import.yml"], more].concat()).current_dir(folder))
}

/// How many events an import took in.
fn taken(import: &Ended) -> usize {
    let count = import.stderr.split("events=").nth(1).and_then(|rest| rest.split(' ').next());
    count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no count in\n{}", import.stderr))
}

#[test]
fn a_topic_is_imported_and_followed_without_loss_or_double() {
    let Some(broker) = broker() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut random = Random::seeded();
    let (first, second) = halves(&mut random);
    let all = events::lines(&[first.clone(), second.clone()].concat());
    let (alone, home) = (folder.path().join("alone"), folder.path().join("home"));
    std::fs::create_dir_all(&alone).expect("the folder can be made");
    std::fs::write(alone.join("events.jsonl"), all).expect("can be written");
    import(&alone, &config(""), &["--data", "events.jsonl"]).ok();
    let expected = click_throughs(std::slice::from_ref(&alone));
    assert!(expected.len() > 300, "{}", expected.len());

    let topic = format!("follow-{:x}", random.bits());
    make_topic(&broker, &topic, PARTITIONS);
    let (middle, last) = second.split_at(second.len() / 2);
    let mut parts = [first.as_slice(), middle, last].map(|events| spread(events, PARTITIONS, &mut random));
    parts[0][0].insert(5, "no event".to_owned());
    produce(&broker, &topic, &parts[0]);
    let config_of_topic = config(&kafka(&broker, &topic, "{path: dead.jsonl}"));
    assert_eq!(taken(&import(&home, &config_of_topic, &[]).ok()), first.len());
    assert_eq!(taken(&import(&home, &config_of_topic, &[]).ok()), 0, "all was read before");
    let dead = std::fs::read_to_string(home.join("dead.jsonl")).expect("was written");
    assert!(dead.lines().count() == 1 && dead.contains("\"message\":\"no event\""), "{dead}");

    let service = Service::serve(&config_of_topic, &home);
    produce(&broker, &topic, &parts[1]);
    service.until("something read", || positions(&service, &topic).into_iter().sum::<usize>() > first.len() + 1);
    service.kill();
    let service = Service::serve(&config_of_topic, &home);
    produce(&broker, &topic, &parts[2]);
    let ends: Vec<usize> = (0..PARTITIONS).map(|number| parts.iter().map(|part| part[number].len()).sum()).collect();
    service.until("all read", || positions(&service, &topic) == ends);
    let metrics = service.metrics();
    for name in ["partition_lag_events{partition=", "partition_events_total{", "event_to_visible_seconds_bucket"] {
        assert!(metrics.contains(&format!("service_ingest_{name}")), "{name} in\n{metrics}");
    }
    service.terminate();
    assert_eq!(service.wait(), Some(0));
    import(&home, &config_of_topic, &[]).ok();
    let records = click_throughs(std::slice::from_ref(&home));
    let differs = expected.iter().find(|(id, record)| records.get(*id) != Some(record));
    assert_eq!(differs, None, "{} of {}", records.len(), expected.len());
    assert_eq!(records.len(), expected.len());

    // without a stream the state has one writer again
    let late = events::lines(&[events::click("later", 5000, "r1", "u1", "i1")]);
    std::fs::write(home.join("late.jsonl"), late).expect("can be written");
    std::fs::write(home.join("plain.yml"), config("")).expect("can be written");
    let more = Ended::of(command(&["import", "--config", "plain.yml", "--data", "late.jsonl"]).current_dir(&home)).ok();
    assert_eq!(taken(&more), 1);
}

/// How far each partition is committed; 0 where nothing was read by this process.
fn positions(service: &Service, topic: &str) -> Vec<usize> {
    let partitions = &service.status()["stream"]["partitions"];
    let position = |number| partitions[format!("kafka:{topic}/{number}")]["position"].as_u64().unwrap_or(0) as usize;
    (0..PARTITIONS).map(position).collect()
}

#[test]
fn partitions_are_measured_each_by_itself() {
    let Some(broker) = broker() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let topic = format!("measured-{:x}", Random::seed());
    make_topic(&broker, &topic, 2);
    let text = |seconds: &[i64]| -> Vec<String> {
        seconds.iter().map(|second| events::item(&format!("i{second}"), *second, &[]).to_string()).collect()
    };
    // sessions end after ten seconds: 30 is late, 41 is not
    let (mut one, other) = (text(&[10, 50, 30, 41, 60]), text(&[20, 55]));
    one.insert(2, "no event".to_owned());
    produce(&broker, &topic, &[one.clone(), other.clone()]);
    let service = Service::serve(&config(&kafka(&broker, &topic, "{path: dead.jsonl}")), folder.path());
    let value = |name: &str, partition: usize| {
        let start = format!("service_ingest_partition_{name}{{partition=\"kafka:{topic}/{partition}\"}} ");
        let line = service.metrics().lines().find_map(|line| line.strip_prefix(&start).map(str::to_owned));
        line.and_then(|value| value.parse::<u64>().ok())
    };
    let of = |partition| {
        ["events_total", "late_events_total", "unreadable_total", "waiting_events", "lag_events", "lag_seconds"]
            .map(|name| value(name, partition))
    };
    let expected = [[5, 1, 1, 0, 0, 0], [2, 0, 0, 0, 0, 0]].map(|figures| figures.map(Some));
    let found = || [of(0), of(1)];
    wait::until("these figures", || format!("{:?}\n{}", found(), service.log()), || found() == expected);
    let metrics = service.metrics();
    assert!(metrics.contains("service_ingest_event_to_visible_seconds_count 7"), "{metrics}");
}

#[test]
fn what_a_topic_holds_and_is_no_event_goes_to_another_topic() {
    let Some(broker) = broker() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let topic = format!("letters-{:x}", Random::seed());
    let dead = format!("{topic}-dead");
    make_topic(&broker, &topic, 1);
    make_topic(&broker, &dead, 1);
    produce(&broker, &topic, &[vec![events::item("i1", 0, &[]).to_string(), "{\"event\":".to_owned()]]);
    let ended = import(folder.path(), &config(&kafka(&broker, &topic, &format!("{{topic: {dead}}}"))), &[]).ok();
    assert!(ended.stderr.contains("skipped=1"), "{}", ended.stderr);
    let (text, headers) = first_message(&broker, &dead);
    assert_eq!(text, "{\"event\":");
    assert!(headers[0] == format!("source=kafka:{topic}/0") && headers[1] == "position=1", "{headers:?}");
    assert!(headers[2].starts_with("reason="), "{headers:?}");
}

#[test]
fn letters_that_no_place_takes_are_counted_and_the_stream_goes_on() {
    const MANY: usize = 24; // each would wait for ten seconds
    let Some(broker) = broker() else { return };
    for place in ["{path: /dev/full}", "{topic: nobody-made-this-one}"] {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let topic = format!("undelivered-{:x}", Random::seed());
        make_topic(&broker, &topic, MANY);
        let messages =
            |number: usize| vec!["no event".to_owned(), events::item(&format!("i{number}"), 0, &[]).to_string()];
        produce(&broker, &topic, &(0..MANY).map(messages).collect::<Vec<_>>());
        let ended = import(folder.path(), &config(&kafka(&broker, &topic, place)), &[]).ok();
        assert_eq!(taken(&ended), MANY, "{place}");
        assert!(ended.stderr.contains(&format!("skipped={MANY}")), "{place}: {}", ended.stderr);
        let said = ended.stderr.lines().filter(|line| line.contains("unreadable messages are not kept in")).count();
        assert!((1..=MANY).contains(&said), "{place}: {}", ended.stderr);
        let briefly = ended.stderr.contains("it took none before, and does not take these at once");
        assert_eq!(briefly, place.contains("topic"), "{place}: {}", ended.stderr);
    }
}

#[test]
fn a_topic_that_does_not_exist_is_named() {
    let Some(broker) = broker() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let ended = import(folder.path(), &config(&kafka(&broker, "nobody-made-it", "{path: dead.jsonl}")), &[]).refused();
    assert!(ended.stderr.contains("nobody-made-it"), "{}", ended.stderr);
}

#[test]
fn a_server_whose_stream_is_lost_for_good_ends_and_says_why() {
    let Some(broker) = broker() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = config(&kafka(&broker, "nobody-made-it-either", "{path: dead.jsonl}"));
    let launch = Launch { subcommand: "serve", config: &config, data: None, folder: folder.path(), environment: &[] };
    let service = launch.start_unasked();
    let said = |log: &str| {
        log.lines().last().is_some_and(|last| last.starts_with("error: ") && last.contains("nobody-made-it-either"))
    };
    // the port is closed a moment before
    wait::until("said why", || service.log(), || said(&service.log()));
    assert_eq!(service.wait(), Some(1));
}
